"""What the server itself says when it closes a channel (protocol.md section 2, close frames)."""

GOING_AWAY = (1001, "server shutting down")
FAILED = (1011, "internal server error")
