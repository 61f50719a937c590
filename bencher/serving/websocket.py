"""WebSockets: daphne's and autobahn's protocol classes with close codes and reasons on the wire, back-pressure both ways, refusals before the upgrade."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import daphne.server  # noqa: F401  (installs the reactor: before any other import of Twisted)
from autobahn.websocket.types import ConnectionDeny
from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol
from twisted.internet import reactor

from bencher.serving.outflow import Outflow
from bencher.serving.refusals import Refusal, refusal
from bencher.serving.websocket_codes import FAILED, GOING_AWAY

if TYPE_CHECKING:
    from bencher.server import Server

REASON_MAX_BYTES = 123  # RFC 6455, 5.5: a control frame carries 125 bytes, two of them the code
LINGER_ROUNDS = 5


class ClientDisconnected(OSError):
    """The message cannot be handed to the transport any more (ASGI: ``send`` after a disconnect raises an ``OSError``)."""


class Channel(WebSocketProtocol):
    """One WebSocket."""

    server: Server
    factory: Factory
    path = b""
    client_addr: list[Any] | None = None

    def connectionMade(self) -> None:
        self.intake_paused = False
        self.outflow_paused = False
        self.heard_while_closing = False
        self.linger_rounds = 0
        self.fine_until = 0.0
        self.refused: Refusal | None = None
        self.refused_start: dict[str, Any] = {}
        self.outflow = Outflow(self.factory.server_class.limits.stall)
        self.transport.unregisterProducer()  # of the HTTP channel that came before
        super().connectionMade()
        self.transport.registerProducer(self, True)

    # -- flow control: producer of the transport -----------------------------------------------------------------
    def pauseProducing(self) -> None:
        """The peer does not take what we send: stop reading what it sends, or pongs and acks would pile up."""
        self.outflow_paused = True
        self.outflow.pause(self.transport)
        self.transport.pauseProducing()

    def resumeProducing(self) -> None:
        self.outflow_paused = False
        self.outflow.resume()
        self._read_on()

    def stopProducing(self) -> None:
        self.outflow.resume()

    def _read_on(self) -> None:
        if not self.intake_paused and not self.outflow_paused:
            self.transport.resumeProducing()

    # -- messages in ---------------------------------------------------------------------------------------------
    def onMessage(self, payload: bytes, isBinary: bool) -> None:
        if self.state != self.STATE_OPEN:  # behind our close frame nothing counts
            return
        super().onMessage(payload, isBinary)
        if not self.intake_paused and self.application_queue.qsize() >= self.server.limits.queued:
            self.intake_paused = True
            self.transport.pauseProducing()

    def onPing(self, payload: bytes) -> None:
        self.last_ping = time.time()  # heard from
        super().onPing(payload)

    async def receive(self) -> dict[str, Any]:
        """ASGI ``receive``."""
        message: dict[str, Any] = await self.application_queue.get()
        if self.intake_paused and self.application_queue.qsize() <= self.server.limits.queued // 4:
            self.intake_paused = False
            self._read_on()
        return message

    def _dataReceived(self, data: bytes) -> None:
        self.heard_while_closing = True
        super()._dataReceived(data)

    # -- messages out ----------------------------------------------------------------------------------------------
    def handle_reply(self, message: dict[str, Any]) -> None:
        """A message of the application."""
        kind = message["type"]
        if kind == "websocket.close" and self.state != self.STATE_CONNECTING:
            self.close(message.get("code") or 1000, message.get("reason") or "")
        elif kind == "websocket.http.response.start":
            self.refused_start = {**message, "pieces": []}
        elif kind == "websocket.http.response.body":
            self._refuse_piece(message)
        elif kind == "websocket.send":
            self._send_message(message)
        else:
            super().handle_reply(message)

    def _send_message(self, message: dict[str, Any]) -> None:
        """Also an empty message, which stock daphne drops."""
        if self.state != self.STATE_OPEN:
            raise ClientDisconnected("the channel is not open")
        text = message.get("text")
        self.sendMessage(message["bytes"] if text is None else text.encode(), text is None)

    def close(self, code: int, reason: str) -> None:
        """Close with any code. ``sendClose`` of autobahn would refuse 1001..2999, and daphne drops the reason."""
        if self.state == self.STATE_OPEN:
            self.sendCloseFrame(code=code, reasonUtf8=cut(reason), isReply=False)

    def sendCloseFrame(self, code: int | None = None, reasonUtf8: bytes | None = None, isReply: bool = False) -> None:
        """Every close frame of ours ends our side of the connection at once: the peer may never answer."""
        closing = self.state == self.STATE_OPEN and not isReply
        super().sendCloseFrame(code, reasonUtf8, isReply)
        if closing:
            self._await_peer()
            if not self.intake_paused and not self.outflow_paused:
                self.transport.unregisterProducer()
            self._stop_flow_control()
            if hasattr(self.transport, "loseWriteConnection"):
                self.transport.loseWriteConnection()

    def _stop_flow_control(self) -> None:
        """From now on input is only looked through for the peer's close frame."""
        self.intake_paused = self.outflow_paused = False
        self.transport.resumeProducing()

    def _await_peer(self) -> None:
        """A timer of our own: autobahn's are cut down to whole seconds."""
        self.heard_while_closing = False
        self.closeHandshakeTimeoutCall = reactor.callLater(self.server.limits.close, self.onCloseHandshakeTimeout)

    def onCloseHandshakeTimeout(self) -> None:
        """A peer in the middle of a long message gets a few more rounds to read our close frame; then the connection is cut."""
        self.linger_rounds += 1
        if self.heard_while_closing and self.linger_rounds < LINGER_ROUNDS:
            self.heard_while_closing = False
            self.closeHandshakeTimeoutCall = self.factory._batched_timer.call_later(
                self.closeHandshakeTimeout, self.onCloseHandshakeTimeout
            )
        else:
            super().onCloseHandshakeTimeout()

    def _closeConnection(self, abort: bool = False) -> None:
        """Without a reset once our close frame is on its way: a reset could overtake it."""
        super()._closeConnection(abort and not self.wasClean and not getattr(self.transport, "_writeDisconnected", False))

    # -- the end ---------------------------------------------------------------------------------------------------
    def onClose(self, wasClean: bool, code: int | None, reason: str | None) -> None:
        self.outflow.resume()
        if self.closeHandshakeTimeoutCall is not None and self.closeHandshakeTimeoutCall.active():
            self.closeHandshakeTimeoutCall.cancel()
        if hasattr(self, "server"):  # otherwise the handshake was refused before there was an application
            if self.closedByMe and self.localCloseCode:
                code = self.localCloseCode
            super().onClose(wasClean, 1005 if code is None else code, reason)

    def leave(self) -> None:
        """The server stops: 1001 to the peer, and to the application at once, whatever the peer does."""
        if self.state == self.STATE_CONNECTING:
            self.reject(503, "server shutting down")
        elif self.state == self.STATE_OPEN:
            self.close(*GOING_AWAY)
            self.application_queue.put_nowait({"type": "websocket.disconnect", "code": GOING_AWAY[0], "reason": GOING_AWAY[1]})
            self.muted = True

    def handle_exception(self, exception: BaseException | None) -> None:
        """The application failed, or returned and left the channel open."""
        if self.state == self.STATE_CONNECTING:
            self.reject(500, "internal server error")
        else:
            self.close(*FAILED)

    # -- refusing before the upgrade -------------------------------------------------------------------------------
    def _refuse_piece(self, message: dict[str, Any]) -> None:
        """ASGI extension ``websocket.http.response``."""
        start = self.refused_start
        start["pieces"].append(message.get("body", b""))
        if not message.get("more_body"):
            body = b"".join(start["pieces"])
            headers = [(name, value) for name, value in start.get("headers", []) if name != b"content-length"]
            self._deny(Refusal(start["status"], [*headers, (b"content-length", b"%d" % len(body))], body))

    def reject(self, status: int, message: str) -> None:
        self._deny(refusal(self.path, status, message))

    def serverReject(self) -> None:
        self.reject(403, "access denied")

    def _deny(self, answer: Refusal) -> None:
        if hasattr(self, "handshake_deferred"):
            self.refused = answer
            deferred = self.handshake_deferred
            del self.handshake_deferred
            deferred.errback(ConnectionDeny(code=answer.status, reason=answer.reason.decode()))
            self.server.protocol_disconnected(self)

    def sendHttpErrorResponse(self, code: int, reason: str, responseHeaders: Any = None) -> None:
        """Autobahn's answer to a bad handshake, with a body."""
        answer = self.refused or refusal(self.path, code, str(reason))
        extra = [(str(name).lower().encode(), str(value).encode()) for name, value in responseHeaders or []]
        self.sendData(Refusal(answer.status, [*answer.headers, *extra], answer.body).encode())

    def check_timeouts(self) -> None:
        """Called every two seconds from ``fine_until`` on: pings a silent peer, unless it is us who do not read."""
        if self.state == self.STATE_CONNECTING:
            if self.duration() > self.server.limits.accept:
                self.reject(503, "the server is busy")
        elif self.state == self.STATE_OPEN and not self.intake_paused and not self.outflow_paused:
            silent = time.time() - self.last_ping
            if not 0 <= silent <= self.server.limits.ping:  # the clock may be set back
                self._sendAutoPing()
                self.last_ping, silent = time.time(), 0.0
            self.fine_until = time.monotonic() + self.server.limits.ping - silent


def cut(reason: str) -> bytes | None:
    """The reason as UTF-8 within a control frame's size, cut between characters."""
    return reason.encode()[:REASON_MAX_BYTES].decode(errors="ignore").encode() or None


class Factory(WebSocketFactory):
    """Makes the channels; permessage-deflate is never negotiated, so no message can grow."""

    protocol = Channel
    server_class: Server

    def __init__(self, server: Server) -> None:
        super().__init__(server, server="")
        limits = server.limits
        self.setProtocolOptions(
            failByDrop=False,  # a close frame with 1002, 1007 or 1009 instead of a reset
            maxMessagePayloadSize=limits.body,
            maxFramePayloadSize=limits.body,
            openHandshakeTimeout=0,  # the head has been read; the application's time is check_timeouts'
            closeHandshakeTimeout=0,  # Channel._await_peer
            autoPingTimeout=limits.pong,
            allowNullOrigin=True,
        )
