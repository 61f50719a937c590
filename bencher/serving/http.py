"""HTTP/1.1: daphne's and Twisted's protocol classes with limits, streaming and flow control (measured for this project; Twisted is pinned).

Private names of Twisted that are used here: ``_HTTPChannel__first_line``, ``_respondToBadRequestAndDisconnect``, ``_parsePOSTFormSubmission``,
``_networkProducer``, ``_waitingForTransport``, ``_abortingCall``, ``_receivedHeaderSize``, ``_receivedHeaderCount``, ``_send100Continue``, ``_finished``.
"""

from __future__ import annotations

import asyncio
import io
import re
from typing import TYPE_CHECKING, Any

import daphne.server  # noqa: F401  (installs the reactor: before any other import of Twisted)
from daphne.http_protocol import HTTPFactory, WebRequest
from twisted.internet import reactor
from twisted.protocols.basic import LineReceiver
from twisted.web import http

from bencher.serving.outflow import Outflow, backlog
from bencher.serving.refusals import Refusal, body_too_large, refusal

if TYPE_CHECKING:
    from bencher.server import Server

TLS_HANDSHAKE = b"\x16"
ABSOLUTE = re.compile(rb"https?://(?P<host>[^/?#]*)(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
"""A request's target in absolute form."""


class Channel(http.HTTPChannel):
    """One connection: bounds the head of each request, and can refuse and close without losing the answer."""

    factory: Factory

    def __init__(self) -> None:
        super().__init__()
        self.refused = False
        self.body_paused = False
        """The application is behind: the body is not read for now."""
        self.expecting: Request | None = None
        """A streamed request whose sender waits for ``100 Continue``."""

    def connectionMade(self) -> None:
        limits = self.factory.server.limits
        self.MAX_LENGTH = self.totalHeadersSize = limits.head
        self.outflow = Outflow(limits.stall)
        super().connectionMade()

    def dataReceived(self, data: bytes) -> None:
        """Every byte restarts the idle timer, except inside a head: that has to be complete in time."""
        inside_head = self.line_mode and (self._buffer or not self._HTTPChannel__first_line)
        if not inside_head:
            self.resetTimeout()
        if self.line_mode and not self._buffer and self._HTTPChannel__first_line and data[:1] == TLS_HANDSHAKE:
            self.refuse(refusal(b"", 400, "this is plain HTTP, not TLS"))  # clients that try TLS first would wait for an answer
            return
        LineReceiver.dataReceived(self, data)

    # -- refusing ----------------------------------------------------------------------------------------------
    def refuse(self, answer: Refusal) -> None:
        """Answer without an application, then close."""
        if not self.refused:
            self.refused = True
            self.transport.write(answer.encode())
            self.linger()

    def linger(self) -> None:
        """Close in an orderly way though input may be unread: closing at once would send RST, which can destroy the answer."""
        for receiver in ("rawDataReceived", "lineReceived", "dataReceived"):
            setattr(self, receiver, _ignore)
        self.persistent = False
        self.setTimeout(None)
        self._networkProducer.unregisterProducer()
        self.transport.resumeProducing()
        if self.isSecure():
            self.transport.loseConnection()
        else:
            self.transport.loseWriteConnection()
        self._end_linger(None)

    def _end_linger(self, before: int | None) -> None:
        """Abort after a while; later only as long as the answer still moves."""
        self._abortingCall = None
        now = backlog(self.transport)
        if before is not None and not 0 < now < before:
            self.transport.abortConnection()
        else:
            self._abortingCall = reactor.callLater(self.factory.server.limits.linger, self._end_linger, now)

    def _target(self) -> bytes:
        return getattr(self, "_path", b"")

    def lineLengthExceeded(self, line: bytes) -> None:
        if self._HTTPChannel__first_line:
            self.refuse(refusal(b"", 400, "request line: too long"))
        else:
            self.refuse(refusal(self._target(), 431, f"header fields: larger than {self.totalHeadersSize} bytes"))

    def _respondToBadRequestAndDisconnect(self) -> None:
        if self._receivedHeaderSize > self.totalHeadersSize:
            self.refuse(refusal(self._target(), 431, f"header fields: larger than {self.totalHeadersSize} bytes"))
        elif self._receivedHeaderCount > self.maxHeaders:
            self.refuse(refusal(self._target(), 431, f"header fields: more than {self.maxHeaders}"))
        else:
            self.refuse(refusal(self._target(), 400, "malformed request"))

    # -- reading -----------------------------------------------------------------------------------------------
    def lineReceived(self, line: bytes) -> None:
        if self._HTTPChannel__first_line and len(line) > self.factory.server.limits.uri + 32:
            self.lineLengthExceeded(line)
        else:
            super().lineReceived(line)

    def allHeadersReceived(self) -> None:
        request = self.requests[-1]
        if absolute := ABSOLUTE.match(self._target()):  # its authority counts, whatever Host says (RFC 9112 section 3.2.2)
            self._path = absolute["rest"] if absolute["rest"].startswith(b"/") else b"/" + absolute["rest"]
            request.requestHeaders.setRawHeaders(b"host", [absolute["host"]])
        request.method, request.uri, request.clientproto = self._command, self._path, self._version  # Twisted sets them only after the body
        super().allHeadersReceived()

    def _send100Continue(self) -> None:
        """A streamed request's is sent when the application first reads, so that it can refuse before."""
        if self.requests[-1].streaming:
            self.expecting = self.requests[-1]
        elif not self.refused:
            super()._send100Continue()

    def send_expected_continue(self, request: Request) -> None:
        if self.expecting is request:
            self.expecting = None
            super()._send100Continue()

    def pause_body(self) -> None:
        self.body_paused = True
        self.setTimeout(None)  # it is us who wait
        self._networkProducer.pauseProducing()

    def resume_body(self, *, complete: bool) -> None:
        if self.body_paused:
            self.body_paused = False
            if not complete:
                self.setTimeout(self.timeOut)
            if not self._waitingForTransport:
                self._networkProducer.resumeProducing()

    # -- writing -----------------------------------------------------------------------------------------------
    def pauseProducing(self) -> None:
        super().pauseProducing()
        self.outflow.pause(self.transport)

    def resumeProducing(self) -> None:
        super().resumeProducing()
        self.outflow.resume()
        if self.body_paused:
            self._networkProducer.pauseProducing()

    def timeoutConnection(self) -> None:
        if self._waitingForTransport:  # the response is still leaving; Outflow watches that
            self.setTimeout(self.timeOut)
        else:
            super().timeoutConnection()

    def connectionLost(self, reason: Any) -> None:
        super().connectionLost(reason)
        self.outflow.resume()


def _ignore(data: bytes) -> None:
    """What arrives after a refusal."""


class Request(WebRequest):
    """One request. A large or chunked body is handed to the application while it arrives; no body touches a file here."""

    channel: Channel
    server: Server

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._parsePOSTFormSubmission = False  # Twisted would parse forms in memory, on the event loop, for nobody
        self.inbox: asyncio.Queue[dict[str, Any]] | None = None
        self.limit = 0
        self.received = 0
        self.buffer = bytearray()  # not a list of chunks: those may be two bytes long
        self.streaming = self.complete = self.read_all = self.asked = self.gone = False
        self._waiter: asyncio.Future[None] | None = None

    # -- the body arrives --------------------------------------------------------------------------------------
    def gotLength(self, length: int | None) -> None:
        limits = self.server.limits
        self.limit = limits.of_body(self.uri)
        self.content = io.BytesIO()
        if length is not None and length > self.limit:
            self.channel.refuse(body_too_large(self.uri, self.limit))
        elif (length is None or length > limits.buffered) and not self.requestHeaders.hasHeader(b"Upgrade"):
            self.streaming = True
            super().requestReceived(self.method, self.uri, self.clientproto)  # starts the application

    def handleContentChunk(self, data: bytes) -> None:
        channel = self.channel
        if channel is None or channel.refused or self.finished:
            return
        self.received += len(data)
        if self.received > self.limit:
            self._overrun()
        elif not self.streaming:
            self.content.write(data)
        else:
            self.buffer += data
            self._wake()
            if len(self.buffer) > self.server.limits.buffered and not channel.body_paused:
                channel.pause_body()

    def _overrun(self) -> None:
        if self._response_started:
            self.channel.transport.abortConnection()
        else:
            self.channel.refuse(body_too_large(self.uri, self.limit))
        if self.inbox is not None:
            self.send_disconnect()

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:
        if self.channel is None or self.channel.refused:
            return
        self.complete = True
        if self.streaming:
            self._wake()
        else:
            super().requestReceived(command, path, version)

    def process(self) -> None:
        super().process()
        if self.inbox is not None:
            self.application_queue = self.inbox

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # -- the application's two callables -------------------------------------------------------------------------
    async def receive(self) -> dict[str, Any]:
        """ASGI ``receive``: pieces of the body, then ``http.disconnect``."""
        if self.asked:
            await asyncio.sleep(0)  # an application that reads in a loop must not starve the others
        self.asked = True
        if self.channel is not None:
            self.channel.send_expected_continue(self)
        while not (self.buffer or self.complete or self.gone):
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        if self.inbox is not None and (self.gone or self.read_all):
            return await self.inbox.get()
        body = bytes(self.buffer) if self.streaming else self.content.getvalue()
        self.buffer.clear()
        self.read_all = self.complete
        if self.channel is not None:
            self.channel.resume_body(complete=self.complete)
        return {"type": "http.request", "body": body, "more_body": not self.complete}

    def handle_reply(self, message: dict[str, Any]) -> None:
        """A message of the application."""
        if self.finished or self.channel is None or self.channel.refused:
            return
        if message["type"] == "http.response.start":
            self.setHeader(b"date", http.datetimeToString())
            if not self.complete or self.server.stopping:
                self._end_connection()
        elif self.startedWriting and (self.method == b"HEAD" or self.code in http.NO_BODY_CODES):
            message = {**message, "body": b""}
        super().handle_reply(message)

    def _end_connection(self) -> None:
        """This response is the last one. Before the end of the body it has to be: the rest would be taken for a request."""
        self.channel.persistent = False
        self.setHeader(b"connection", b"close")

    # -- ends ----------------------------------------------------------------------------------------------------
    def send_disconnect(self) -> None:
        self.gone = True
        super().send_disconnect()
        self._wake()

    def finish(self) -> None:
        if self.streaming and not self.complete:
            self.channel.loseConnection = self.channel.linger
        super().finish()

    def handle_exception(self, exception: BaseException | None) -> None:
        """The application failed: 500, or a broken connection when the response has begun."""
        if self.channel is None or self.finished:
            return
        if self._response_started:
            self.channel.transport.abortConnection()
        else:
            self.answer(refusal(self.uri, 500, "internal server error"))

    def basic_error(self, status: int, status_text: bytes, body: str) -> None:
        self.answer(refusal(self.uri, status, body.lower()))

    def answer(self, answer: Refusal) -> None:
        """A whole response of the server's own."""
        self.handle_reply({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        self.handle_reply({"type": "http.response.body", "body": answer.body})


class Factory(HTTPFactory):
    """Makes the channels. HTTP/1.1 only: none of the limits would hold for Twisted's HTTP/2."""

    protocol = Channel
    server: Server

    def buildProtocol(self, addr: Any) -> Channel:
        channel: Channel = super().buildProtocol(addr)
        channel.requestFactory = Request
        channel.timeOut = self.server.limits.idle
        return channel

    def log(self, request: Any) -> None:
        """Twisted would make a line in Apache's format, for nobody: the access log is AccessLog's."""
