"""uvicorn instead of daphne: half the CPU for each heartbeat. Its channels get the same farewell and the same restraint with pings."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from bencher.serving.limits import Limits
from bencher.serving.watchdog import watch_stop
from bencher.serving.websocket_codes import GOING_AWAY


class Channel(WebSocketsSansIOProtocol):
    """Says 1001 at the end (uvicorn's own code is 1012), and pings only a silent peer."""

    close_sent: bool
    heard_at = 0.0

    def data_received(self, data: bytes) -> None:
        self.heard_at = self.loop.time()
        super().data_received(data)

    def send_keepalive_ping(self) -> None:
        silent = self.loop.time() - self.heard_at
        if self.ping_interval is not None and silent < self.ping_interval:
            self.ping_timer = self.loop.call_later(self.ping_interval - silent, self.send_keepalive_ping)
        else:
            super().send_keepalive_ping()

    def shutdown(self) -> None:
        if not self.handshake_complete or self.close_sent:
            super().shutdown()
            return
        self.stop_keepalive()
        code, reason = GOING_AWAY
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        self.conn.send_close(code, reason)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.transport.close()


class Server(uvicorn.Server):
    """Calls ``ready`` with the URL once connections are accepted; ``run`` returns after SIGTERM or SIGINT."""

    def __init__(self, application: Any, *, host: str, port: int, limits: Limits, ready: Callable[[str], None]) -> None:
        config = uvicorn.Config(
            application,
            host=host,
            port=port,
            ws=Channel,
            ws_max_size=limits.body,
            ws_per_message_deflate=False,
            ws_ping_interval=limits.ping,
            ws_ping_timeout=limits.pong,
            timeout_keep_alive=int(limits.idle),
            timeout_graceful_shutdown=int(limits.drain),
            h11_max_incomplete_event_size=limits.head,
            backlog=4096,
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
        )
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        self._ready(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")

    def handle_exit(self, sig: int, frame: Any) -> None:
        if not self.should_exit:
            watch_stop()
        super().handle_exit(sig, frame)

    def run(self, sockets: Any = None) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)  # uvicorn raises the signal once more when it has stopped
        super().run(sockets)
