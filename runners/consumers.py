"""The runner channel's consumer: frames in, frames out, timers (protocol.md section 3). Every rule is in ``protocol/server.py``."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from channels.consumer import AsyncConsumer, get_handler_name
from channels.exceptions import StopConsumer
from django.conf import settings

from bencher.core import clock
from bencher.core.errors import Busy, ServiceError
from runners.authentication import admit_channel
from runners.protocol import messages, signals
from runners.protocol.errors import Undecodable
from runners.protocol.limits import BIG_MESSAGE_BYTES
from runners.protocol.server import ServerSession
from runners.threads import heavily, in_database

logger = logging.getLogger(__name__)

READ_AHEAD = 8
"""Frames that wait behind the one in work; the transport waits with the rest."""

STOOD_STILL_S, CATCH_UP_S = 1.0, 2.0
"""A timer that is later than the one is given the other, once."""


class Dispatch(Protocol):
    """Carries out what the session wants; given by whoever composes the site, since runners know no jobs."""

    async def run(self, effect: signals.Effect) -> signals.Input | None: ...

    def close(self) -> None: ...


class OpenDispatch(Protocol):
    def __call__(self, *, runner_id: uuid.UUID, channel: str, push: Callable[[signals.Input], None]) -> Dispatch: ...


class Refuse(Protocol):
    """Answers a request for a channel with the site's own form of an error."""

    async def __call__(self, scope: Any, send: Any, status: int, message: str, headers: Mapping[str, str]) -> None: ...


class NoDbHop:
    """Channels goes through a thread before every message, for the sake of database connections; here those threads look after themselves."""

    async def dispatch(self, message: dict[str, Any]) -> None:
        handler = getattr(self, get_handler_name(message), None)
        if handler is None:
            raise ValueError(f"no handler for {message['type']}")
        await handler(message)


class Timer:
    """Calls back once at its deadline. Moving the deadline costs nothing: the clock is asked again when the first one is reached.

    A process that stood still (stopped, paused with its machine) finds the deadline long past and what arrived meanwhile unread: that is read first.
    """

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback
        self._deadline: float | None = None
        self._handle: asyncio.TimerHandle | None = None
        self._put_off = False

    def start(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._deadline, self._put_off = loop.time() + seconds, False
        if self._handle is not None and self._handle.when() > self._deadline:
            self._handle.cancel()
            self._handle = None
        if self._handle is None:
            self._handle = loop.call_at(self._deadline, self._reached, loop)

    def stop(self) -> None:
        self._deadline = None
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    @property
    def expired(self) -> bool:
        return self._deadline is not None and asyncio.get_running_loop().time() >= self._deadline

    def _reached(self, loop: asyncio.AbstractEventLoop) -> None:
        self._handle = None
        if self._deadline is None:
            return
        if loop.time() > self._deadline + STOOD_STILL_S and not self._put_off:
            self._deadline, self._put_off = loop.time() + CATCH_UP_S, True
        if loop.time() < self._deadline:
            self._handle = loop.call_at(self._deadline, self._reached, loop)
        else:
            self._callback()


class RunnerConsumer(NoDbHop, AsyncConsumer):  # type: ignore[misc]
    """``RunnerConsumer.as_asgi(open_dispatch=…, refuse=…)``; the runner's UUID or slug is the route's ``runner``."""

    channel_layer_alias = ""  # no layer: its process listens for all of its channels

    def __init__(self, open_dispatch: OpenDispatch, refuse: Refuse) -> None:
        self._open_dispatch, self._answer = open_dispatch, refuse
        self.session = ServerSession(settings.BENCHER_REQUEST_BODY_MAX_BYTES)
        self._dispatch: Dispatch | None = None
        self._inbox: deque[str | bytes | signals.Input] = deque()
        self._frames = 0
        self._room = asyncio.Event()
        self._gone = False
        self._worker: asyncio.Task[None] | None = None
        self._read_timer = Timer(lambda: self._put(signals.Silence()))
        self._poll_timer = Timer(lambda: self._put(signals.Deadline()))

    # -- the transport's events ------------------------------------------------------------------------------------
    async def websocket_connect(self, _: dict[str, Any]) -> None:
        try:
            runner = await in_database(
                admit_channel,
                runner=self.scope["url_route"]["kwargs"]["runner"],
                authorization=_authorization(self.scope),
                now=clock.now(),
            )
        except ServiceError as fault:
            await self._refuse(fault)
            raise StopConsumer from None
        except Exception as fault:  # ours, most likely the database's; a bad key must not be read into it
            logger.error("a channel cannot be opened: %s: %s", type(fault).__name__, fault)
            await self._refuse(Busy("The server cannot look up runners at the moment"))
            raise StopConsumer from None
        self._dispatch = self._open_dispatch(runner_id=runner.pk, channel=uuid.uuid4().hex, push=self._put)
        await self.send({"type": "websocket.accept"})
        for effect in self.session.start():
            await self._carry_out(effect)

    async def websocket_receive(self, event: dict[str, Any]) -> None:
        text = event.get("text")
        self._frames += 1
        self._put(text if text is not None else event.get("bytes") or b"")
        if self._frames > READ_AHEAD:
            self._room.clear()
            await self._room.wait()

    async def websocket_disconnect(self, _: dict[str, Any]) -> None:
        self._gone = True
        if self._dispatch is not None:
            self._put(signals.Left())
            if self._worker is not None:
                await self._worker
            self._read_timer.stop()
            self._poll_timer.stop()
            self._dispatch.close()
        raise StopConsumer

    async def _refuse(self, fault: ServiceError) -> None:
        """Before the upgrade: an operator sees a bad key, not a flapping network."""
        if "websocket.http.response" in self.scope.get("extensions", {}):
            headers = fault.headers | ({"WWW-Authenticate": "Bearer"} if fault.status == 401 else {})
            await self._answer(self.scope, self.send, fault.status, fault.message, headers)
        else:
            await self.send({"type": "websocket.close", "code": 1008})

    # -- one input after the other -----------------------------------------------------------------------------------
    def _put(self, given: str | bytes | signals.Input) -> None:
        self._inbox.append(given)
        if self._worker is None:
            self._worker = asyncio.ensure_future(self._work())

    async def _work(self) -> None:
        """Until nothing waits: an idle channel has no task of its own."""
        try:
            while self._inbox:
                given = self._inbox.popleft()
                if isinstance(given, str | bytes):
                    self._frames -= 1
                    if self._frames <= READ_AHEAD:
                        self._room.set()
                try:
                    await self._take(await self._read(given))
                except Exception:
                    logger.exception("an input of a runner's channel was lost")
        finally:
            self._worker = None
            self._room.set()

    async def _read(self, given: str | bytes | signals.Input) -> signals.Input:
        if isinstance(given, bytes):
            return signals.Binary()
        if not isinstance(given, str):
            return given
        try:
            return await heavily(messages.decode_runner, given) if len(given) > BIG_MESSAGE_BYTES else messages.decode_runner(given)
        except Undecodable as fault:
            return signals.Garbage(fault.code, fault.reason)

    async def _take(self, given: signals.Input) -> None:
        """Step the session, carry out what it wants, and step it with the outcomes, until nothing is left to do."""
        if isinstance(given, signals.Silence) and not self._read_timer.expired:
            return  # a frame was faster
        if isinstance(given, signals.Deadline) and not self._poll_timer.expired:
            return
        pending = deque(self.session.step(given))
        while pending:
            outcome = await self._carry_out(pending.popleft())
            if outcome is not None:
                pending.extendleft(reversed(self.session.step(outcome)))

    async def _carry_out(self, effect: signals.Effect) -> signals.Input | None:
        match effect:
            case signals.Send(message):
                return await self._send_frame(message)
            case signals.Close(code, reason):
                await self._send_event({"type": "websocket.close", "code": int(code), "reason": reason})
            case signals.ReadTimer(on):
                self._read_timer.start(settings.BENCHER_HEARTBEAT_TIMEOUT) if on else self._read_timer.stop()
            case signals.PollTimer(seconds):
                self._poll_timer.stop() if seconds is None else self._poll_timer.start(seconds)
            case _ if self._dispatch is not None:
                return await self._dispatch.run(effect)
        return None

    async def _send_frame(self, message: messages.ServerMessage) -> signals.Input | None:
        sent = not self._gone and await self._send_event({"type": "websocket.send", "text": messages.encode(message)})
        return signals.Undeliverable() if not sent and isinstance(message, messages.Job) else None

    async def _send_event(self, event: dict[str, Any]) -> bool:
        if self._gone:
            return False
        try:
            await self.send(event)
        except Exception as fault:  # whatever the server software raises for a dead socket; its disconnect follows
            logger.debug("a frame was not sent: %s", type(fault).__name__)
            return False
        return True


def _authorization(scope: dict[str, Any]) -> str | None:
    found = [value for name, value in scope["headers"] if name == b"authorization"]
    return found[0].decode("latin-1") if len(found) == 1 else None
