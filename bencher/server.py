"""The web server: daphne with limits while bytes arrive, flow control, close codes and an orderly end.

What stock daphne lacks is in ``bencher/serving``: ``http.py`` and ``websocket.py`` replace its two protocol classes, this file its server.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

import daphne.server
from twisted.internet import defer, reactor
from twisted.logger import globalLogBeginner

from bencher.serving import http, websocket
from bencher.serving.limits import Limits
from bencher.serving.websocket import ClientDisconnected

logger = logging.getLogger(__name__)

Application = Callable[
    [dict[str, Any], Callable[[], Awaitable[dict[str, Any]]], Callable[[dict[str, Any]], Awaitable[None]]], Awaitable[None]
]
BACKLOG = 4096
ASGI = {"version": "3.0", "spec_version": "2.4"}


class Server(daphne.server.Server):
    """One ASGI application on one TCP address.

    ``ready`` is called with the URL once connections are accepted; ``stopping`` once, first of all, when the server was told to stop;
    ``pulse`` when it begins and every two seconds from then on: it must be short.
    ``run`` returns after SIGTERM or SIGINT. Raises ``OSError`` when the address cannot be had.
    """

    def __init__(
        self,
        application: Application,
        *,
        host: str = "127.0.0.1",
        port: int = 6610,
        limits: Limits | None = None,
        ready: Callable[[str], None] | None = None,
        stopping: Callable[[], None] | None = None,
        pulse: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(application, endpoints=[f"tcp:{port}"], server_name="", verbosity=0)
        self.host, self.port = host, port
        self.limits = limits or Limits()
        self.connections: dict[Any, dict[str, Any]] = {}
        self.stopping = False
        self._ready, self._on_stop, self._pulse = ready, stopping, pulse

    def run(self) -> None:
        self.http_factory = http.Factory(self)
        self.ws_factory = websocket.Factory(self)
        globalLogBeginner.beginLoggingTo([_log_twisted], redirectStandardIO=False, discardBuffer=True)
        asyncio.set_event_loop(reactor._asyncioEventloop)
        listener = self._listen()
        reactor.callWhenRunning(self.timeout_checker)
        reactor.addSystemEventTrigger("before", "shutdown", self._drain, listener)
        if self._ready:
            bound = listener.getHost()
            reactor.callWhenRunning(self._ready, url_of(self.host, bound.port))
        reactor.run(installSignalHandlers=self.signal_handlers)

    def _listen(self) -> Any:
        from twisted.internet.error import CannotListenError

        try:
            address = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)[0][4][0]
            return reactor.listenTCP(self.port, self.http_factory, backlog=BACKLOG, interface=address)
        except CannotListenError as error:
            raise OSError(f"cannot listen on {self.host}:{self.port}: {error.socketError}") from error
        except socket.gaierror as error:
            raise OSError(f"cannot listen on {self.host}:{self.port}: {error.strerror}") from error

    # -- applications --------------------------------------------------------------------------------------------
    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        """Start the application for a request or a channel. The queue is the channel's; a request has a queue of its own, and daphne gets none."""
        scope["asgi"] = ASGI
        if protocol not in self.connections:
            return None
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        if isinstance(protocol, http.Request):
            protocol.inbox, answer = queue, None
        else:
            scope.update(scheme="ws", extensions={"websocket.http.response": {}})
            protocol.application_queue = answer = queue

        async def send(message: dict[str, Any]) -> None:
            await self.handle_reply(protocol, message)

        task = asyncio.ensure_future(self.application(scope, protocol.receive, send))
        self.connections[protocol]["application_instance"] = task
        task.add_done_callback(lambda _: self._application_done(protocol, task))
        return answer

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        """ASGI ``send``: returns when the transport can take more. After the peer has gone it raises for a channel and does nothing for a request."""
        is_request = isinstance(protocol, http.Request)
        details = self.connections.get(protocol)
        if details is None or "disconnected" in details:
            if not is_request and message["type"] in ("websocket.send", "websocket.accept"):
                raise ClientDisconnected("the channel is closed")
            return await asyncio.sleep(0)  # an application that streams without end must not spin
        connection = protocol.channel if is_request else protocol
        self.check_headers_type(message)
        protocol.handle_reply(message)
        if connection is not None and (message.get("more_body") or not is_request):
            await connection.outflow.wait()

    def _application_done(self, protocol: Any, task: asyncio.Task[None]) -> None:
        details = self.connections.get(protocol)
        if details is None:
            return
        details.pop("application_instance", None)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, ClientDisconnected):
            logger.error("application failed: %s", type(error).__name__, exc_info=error)
        if "disconnected" in details:
            self._forget(protocol)
        else:
            try:
                protocol.handle_exception(error)
            except Exception:
                logger.exception("could not report a failed application to its client")

    def protocol_disconnected(self, protocol: Any) -> None:
        details = self.connections.get(protocol)
        if details is None or "disconnected" in details:
            return
        details["disconnected"] = time.time()
        task = details.get("application_instance")
        if task is None or task.done():
            self._forget(protocol)
        else:
            details["abandoned"] = reactor.callLater(self.limits.abandon, self._abandon, protocol, task)

    def _abandon(self, protocol: Any, task: asyncio.Task[None]) -> None:
        logger.warning("application for %r went on for %s s after its client had gone: cancelled", protocol, self.limits.abandon)
        task.cancel()

    def _forget(self, protocol: Any) -> None:
        details = self.connections.pop(protocol, {})
        timer = details.get("abandoned")
        if timer is not None and timer.active():
            timer.cancel()

    def timeout_checker(self) -> None:
        """Every two seconds: whoever has waited too long. A thousand idle channels are passed over, not asked."""
        now = time.monotonic()
        for protocol in [protocol for protocol in self.connections if getattr(protocol, "fine_until", 0.0) <= now]:
            protocol.check_timeouts()
        reactor.callLater(2, self.timeout_checker)
        if self._pulse:  # last: whatever it does, there is a next time
            self._pulse()

    # -- the end -------------------------------------------------------------------------------------------------
    def _drain(self, listener: Any) -> defer.Deferred[None]:
        """Before the reactor stops: no new connections, 1001 to every channel, time for requests in progress."""
        self.stopping = True
        done: defer.Deferred[None] = defer.Deferred()
        try:
            if self._on_stop:
                self._on_stop()
            listener.stopListening()
            for protocol in list(self.connections):
                if isinstance(protocol, websocket.Channel):
                    protocol.leave()
        except Exception:  # a trigger that raises would leave the applications pending
            logger.exception("the orderly end failed")
        self._await_applications(done, time.monotonic() + self.limits.drain)
        return done

    def _await_applications(self, done: defer.Deferred[None], deadline: float) -> None:
        tasks = [details["application_instance"] for details in self.connections.values() if "application_instance" in details]
        if tasks and time.monotonic() < deadline:
            reactor.callLater(0.02, self._await_applications, done, deadline)
            return
        for task in tasks:
            task.cancel()
        self._await_peers(done, time.monotonic() + self.limits.close / 2)

    def _await_peers(self, done: defer.Deferred[None], deadline: float) -> None:
        """A moment for the last bytes to leave. Nobody is waited for beyond it: a runner may never answer a close frame."""
        if self.connections and time.monotonic() < deadline:
            reactor.callLater(0.02, self._await_peers, done, deadline)
        else:
            reactor.callLater(0, done.callback, None)


def url_of(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _log_twisted(event: dict[str, Any]) -> None:
    """Failures inside Twisted are faults of ours; all else it says is noise."""
    failure = event.get("log_failure")
    if failure is not None:
        logger.error(
            "failure in the event loop: %s", failure.getErrorMessage(), exc_info=(failure.type, failure.value, failure.getTracebackObject())
        )
