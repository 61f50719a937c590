"""Numbers of the wire that both ends must know (protocol.md, sections 1 and 2)."""

from __future__ import annotations

DEFAULT_POLL_TIMEOUT = 30
"""Seconds a server polls when ``ready`` names no time."""

MIN_POLL_TIMEOUT = 1
MAX_POLL_TIMEOUT = 900

DEFAULT_MAX_MESSAGE_BYTES = 4 * 1024 * 1024
"""Largest message and frame, in bytes, unless the server is told otherwise."""

MAX_CLOSE_REASON_BYTES = 123
"""A close frame is a control frame: 125 bytes, two of them for the code (RFC 6455, section 5.5)."""

MAX_ENTRYPOINT_ITEMS = 64
MAX_CMD_ITEMS = 64
MAX_FILE_PATHS = 255
MAX_ENV_ENTRIES = 255
MAX_JOB_TIMEOUT = 2**31 - 1
"""Seconds."""

BIG_MESSAGE_BYTES = 64 * 1024
"""Messages above this are decoded and encoded off the event loop."""
