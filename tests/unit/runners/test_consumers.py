"""The consumer around the session: refusal, order, back-pressure, timers, dead sockets. No database; the dispatch is a script."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from bencher.core.errors import NotAuthenticated, TooMany
from bencher.routing import refuse
from runners import consumers
from runners.consumers import READ_AHEAD, RunnerConsumer, Timer
from runners.protocol import messages, signals
from tests.unit.runners.protocol.test_server import JOB, OWN

READY, HEARTBEAT = '{"event":"ready","poll_timeout":900}', '{"event":"heartbeat"}'


class ScriptedDispatch:
    """Answers effects from ``answers`` (a kind of effect -> outcome, or an awaitable that gives one); remembers them."""

    def __init__(self) -> None:
        self.answers: dict[type[Any], Callable[[Any], Any]] = {}
        self.seen: list[Any] = []
        self.closed = False
        self.push: Callable[[signals.Input], None] = lambda given: None

    def open(self, *, runner_id: UUID, channel: str, push: Callable[[signals.Input], None]) -> ScriptedDispatch:
        self.push = push
        return self

    async def run(self, effect: Any) -> Any:
        self.seen.append(effect)
        answer = self.answers.get(type(effect))
        outcome = answer(effect) if answer else None
        return await outcome if asyncio.iscoroutine(outcome) or isinstance(outcome, asyncio.Future) else outcome

    def close(self) -> None:
        self.closed = True


class Wire:
    """The server software's end of one socket."""

    def __init__(
        self, dispatch: ScriptedDispatch, *, headers: list[tuple[bytes, bytes]] | None = None, extensions: dict[str, Any] | None = None
    ) -> None:
        self.events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.dead = False
        scope = {
            "type": "websocket",
            "headers": [(b"authorization", b"Bearer key")] if headers is None else headers,
            "url_route": {"kwargs": {"runner": "r"}},
            "extensions": extensions or {},
            "path": "/v0/runners/r/channel",
        }
        application = RunnerConsumer.as_asgi(open_dispatch=dispatch.open, refuse=refuse)
        self.task = asyncio.ensure_future(application(scope, self.events.get, self._send))

    async def _send(self, event: dict[str, Any]) -> None:
        if self.dead:
            raise ConnectionError("gone")
        await self.sent.put(event)

    async def connect(self) -> Wire:
        await self.events.put({"type": "websocket.connect"})
        assert (await self.next())["type"] == "websocket.accept"
        return self

    def frame(self, data: str | bytes) -> Wire:
        key = "text" if isinstance(data, str) else "bytes"
        self.events.put_nowait({"type": "websocket.receive", key: data})
        return self

    async def next(self) -> dict[str, Any]:
        return await asyncio.wait_for(self.sent.get(), 5)

    async def frames(self, number: int) -> list[dict[str, Any]]:
        return [json.loads((await self.next())["text"]) for _ in range(number)]

    async def leave(self) -> None:
        self.events.put_nowait({"type": "websocket.disconnect", "code": 1006})
        await asyncio.wait_for(self.task, 5)


@pytest.fixture
def dispatch() -> ScriptedDispatch:
    return ScriptedDispatch()


@pytest.fixture(autouse=True)
def _known_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    async def inline(function: Any, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    monkeypatch.setattr(consumers, "in_database", inline)
    monkeypatch.setattr(consumers, "admit_channel", _admit)


def _admit(*, runner: str, authorization: str | None, now: datetime) -> SimpleNamespace:
    if authorization == "Bearer busy":
        raise TooMany("too many requests: wait 7 seconds", retry_after=7)
    if authorization != "Bearer key":
        raise NotAuthenticated("A runner channel needs the key of that runner")
    return SimpleNamespace(pk=OWN)


@contextlib.asynccontextmanager
async def channel(dispatch: ScriptedDispatch) -> AsyncIterator[Wire]:
    wire = await Wire(dispatch).connect()
    yield wire
    if not wire.task.done():
        await wire.leave()
    assert dispatch.closed


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


# -- opening -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("headers", [[], [(b"authorization", b"Bearer other")], [(b"authorization", b"Bearer key")] * 2])
async def test_refused_before_the_upgrade(dispatch: ScriptedDispatch, headers: list[tuple[bytes, bytes]]) -> None:
    wire = Wire(dispatch, headers=headers, extensions={"websocket.http.response": {}})
    wire.events.put_nowait({"type": "websocket.connect"})
    start, body = await wire.next(), await wire.next()
    assert (start["type"], start["status"]) == ("websocket.http.response.start", 401)
    told = json.loads(body["body"])
    assert "key" in told["message"]
    sent = dict(start["headers"])
    assert sent[b"x-request-id"] == told["request_id"].encode()
    assert (sent[b"content-type"], sent[b"www-authenticate"]) == (b"application/json", b"Bearer")
    await asyncio.wait_for(wire.task, 5)


async def test_refused_for_a_while(dispatch: ScriptedDispatch) -> None:
    wire = Wire(dispatch, headers=[(b"authorization", b"Bearer busy")], extensions={"websocket.http.response": {}})
    wire.events.put_nowait({"type": "websocket.connect"})
    start, _ = await wire.next(), await wire.next()
    assert start["status"] == 429
    assert (b"retry-after", b"7") in start["headers"]
    await asyncio.wait_for(wire.task, 5)


async def test_a_database_that_fails_is_no_bad_key(dispatch: ScriptedDispatch, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: Any) -> None:
        raise OSError("the connection is gone")

    monkeypatch.setattr(consumers, "admit_channel", broken)
    wire = Wire(dispatch, extensions={"websocket.http.response": {}})
    wire.events.put_nowait({"type": "websocket.connect"})
    start = await wire.next()
    assert start["status"] == 503
    assert (b"retry-after", b"1") in start["headers"]
    await wire.next()
    await asyncio.wait_for(wire.task, 5)


async def test_refused_by_servers_that_know_no_status(dispatch: ScriptedDispatch) -> None:
    wire = Wire(dispatch, headers=[])
    wire.events.put_nowait({"type": "websocket.connect"})
    assert (await wire.next())["type"] == "websocket.close"
    await asyncio.wait_for(wire.task, 5)


async def test_silent_until_spoken_to(dispatch: ScriptedDispatch) -> None:
    async with channel(dispatch) as wire:
        await settled()
        assert wire.sent.empty()
        assert dispatch.seen == []


# -- order ---------------------------------------------------------------------------------------------------------
async def test_frames_are_handled_strictly_one_after_the_other(dispatch: ScriptedDispatch) -> None:
    """``ready`` right behind the terminal message waits until that is acknowledged, and finds the channel idle."""
    gate: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    dispatch.answers = {signals.Claim: lambda _: signals.Claimed(JOB), signals.Deliver: lambda _: gate}
    async with channel(dispatch) as wire:
        wire.frame(READY)
        assert [frame["event"] for frame in await wire.frames(1)] == ["job"]
        wire.frame(f'{{"event":"completed","job":"{OWN}","results":[]}}').frame(READY)
        await settled()
        assert wire.sent.empty()
        gate.set_result(signals.Delivered(OWN))
        assert [frame["event"] for frame in await wire.frames(2)] == ["ack", "job"]


async def test_an_error_in_a_step_ends_nothing(dispatch: ScriptedDispatch) -> None:
    def broken(_: Any) -> Any:
        raise RuntimeError("a mistake of ours")

    dispatch.answers = {signals.Resume: broken}
    async with channel(dispatch) as wire:
        wire.frame(HEARTBEAT)
        await settled()
        dispatch.answers = {signals.Claim: lambda _: signals.Claimed(JOB)}
        wire.frame(READY)
        assert (await wire.frames(1))[0]["event"] == "job"


async def test_reads_ahead_only_a_little(dispatch: ScriptedDispatch) -> None:
    """While a frame is in work the consumer takes few more: the transport has to hold the sender up."""
    gate: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    dispatch.answers = {signals.Resume: lambda _: gate}
    async with channel(dispatch) as wire:
        for _ in range(1000):
            wire.frame(HEARTBEAT)
        await settled()
        assert wire.events.qsize() >= 1000 - READ_AHEAD - 3
        gate.set_result(None)
        for _ in range(500):
            await settled()
        assert wire.events.empty()
        assert len([effect for effect in dispatch.seen if isinstance(effect, signals.Resume)]) == 1000


# -- what is no message --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("text", "code"), [("not json", 1007), ('{"event":"x"}', 1008), ("[" * 100_000, 1008)])
async def test_idle_ends_on_bad_text(dispatch: ScriptedDispatch, text: str, code: int) -> None:
    async with channel(dispatch) as wire:
        wire.frame(text)
        event = await wire.next()
        assert (event["type"], event["code"]) == ("websocket.close", code)
        assert 0 < len(event["reason"].encode()) <= 123


async def test_binary_is_ignored(dispatch: ScriptedDispatch) -> None:
    async with channel(dispatch) as wire:
        wire.frame(READY.encode()).frame(b"")
        await settled()
        assert wire.sent.empty()
        assert dispatch.seen == []


async def test_big_messages_are_read_off_the_loop(dispatch: ScriptedDispatch, monkeypatch: pytest.MonkeyPatch) -> None:
    heavy: list[int] = []

    async def heavily(function: Any, text: str) -> Any:
        heavy.append(len(text))
        return function(text)

    monkeypatch.setattr(consumers, "heavily", heavily)
    dispatch.answers = {signals.Deliver: lambda effect: signals.Delivered(effect.message.job)}
    async with channel(dispatch) as wire:
        big = messages.encode(messages.Failed(job=OWN, results=[], error="x" * 100_000))
        wire.frame(big).frame(f'{{"event":"canceled","job":"{OWN}"}}')
        assert [frame["event"] for frame in await wire.frames(2)] == ["ack", "ack"]
        assert heavy == [len(big)]


# -- dead sockets --------------------------------------------------------------------------------------------------
async def test_a_job_that_cannot_be_sent_is_taken_back(dispatch: ScriptedDispatch) -> None:
    dispatch.answers = {signals.Claim: lambda _: signals.Claimed(JOB)}
    async with channel(dispatch) as wire:
        wire.dead = True
        wire.frame(READY)
        await settled()
        assert signals.Undo(OWN) in dispatch.seen


async def test_a_runner_that_left_during_the_claim_gets_no_job(dispatch: ScriptedDispatch) -> None:
    """Its going is seen while the claim is still in work, although frames come one after the other."""
    gate: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    dispatch.answers = {signals.Claim: lambda _: gate}
    async with channel(dispatch) as wire:
        wire.frame(READY)
        await settled()
        wire.events.put_nowait({"type": "websocket.disconnect", "code": 1006})
        await settled()
        gate.set_result(signals.Claimed(JOB))
        await asyncio.wait_for(wire.task, 5)
        assert dispatch.seen[-1] == signals.Undo(OWN)
        assert wire.sent.empty()


async def test_leaving_in_the_middle_of_a_job(dispatch: ScriptedDispatch) -> None:
    dispatch.answers = {signals.Claim: lambda _: signals.Claimed(JOB)}
    async with channel(dispatch) as wire:
        wire.frame(READY)
        await wire.frames(1)
    assert dispatch.seen[-1] == signals.Abandon(OWN)


# -- pushes and timers -----------------------------------------------------------------------------------------------
async def test_a_wake_up_claims(dispatch: ScriptedDispatch) -> None:
    answers = iter([signals.NothingToClaim(), signals.Claimed(JOB)])
    dispatch.answers = {signals.Claim: lambda _: next(answers)}
    async with channel(dispatch) as wire:
        wire.frame(READY)
        await settled()
        dispatch.push(signals.Wake())
        assert (await wire.frames(1))[0]["event"] == "job"


async def test_silence_in_idle_closes(dispatch: ScriptedDispatch, settings: Any) -> None:
    settings.BENCHER_HEARTBEAT_TIMEOUT = 0.05
    async with channel(dispatch) as wire:
        assert await wire.next() == {"type": "websocket.close", "code": 1000, "reason": ""}


async def test_silence_while_executing_closes_with_its_reason(dispatch: ScriptedDispatch, settings: Any) -> None:
    settings.BENCHER_HEARTBEAT_TIMEOUT = 0.05
    dispatch.answers = {signals.Claim: lambda _: signals.Claimed(JOB), signals.Expire: lambda _: signals.Expired('"heartbeat_timeout"')}
    async with channel(dispatch) as wire:
        wire.frame(READY)
        await wire.frames(1)
        assert await wire.next() == {"type": "websocket.close", "code": 1000, "reason": '"heartbeat_timeout"'}
        assert signals.Drop(OWN) in dispatch.seen


async def test_a_poll_ends_at_its_deadline(dispatch: ScriptedDispatch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Timer, "start", lambda self, seconds, start=Timer.start: start(self, seconds / 100))
    async with channel(dispatch) as wire:
        wire.frame('{"event":"ready","poll_timeout":5}')
        assert await wire.frames(1) == [{"event": "no_job"}]


async def test_a_frame_that_was_faster_than_the_timer_counts(dispatch: ScriptedDispatch) -> None:
    async with channel(dispatch) as wire:
        wire.frame(READY)
        await settled()
        dispatch.push(signals.Deadline())
        dispatch.push(signals.Silence())
        await settled()
        assert wire.sent.empty()


async def test_timers_move_without_being_set_again() -> None:
    """A heartbeat every second must not cost a timer each."""
    rung: list[float] = []
    loop = asyncio.get_running_loop()
    timer = Timer(lambda: rung.append(loop.time()))
    timer.start(0.1)
    handle, began = timer._handle, loop.time()
    for _ in range(50):
        timer.start(0.1)
    await asyncio.sleep(0.03)
    timer.start(0.1)
    assert timer._handle is handle
    await asyncio.sleep(0.25)
    assert len(rung) == 1
    assert rung[0] - began >= 0.125
    timer.start(0.01)
    timer.stop()
    await asyncio.sleep(0.03)
    assert len(rung) == 1
    assert not timer.expired


@pytest.mark.parametrize("arrived", [True, False])
async def test_after_standing_still_what_arrived_is_read_first(monkeypatch: pytest.MonkeyPatch, arrived: bool) -> None:
    """The deadline passed while the process was stopped: that is no silence of the runner's. Put off once, not for ever."""
    monkeypatch.setattr(consumers, "STOOD_STILL_S", 0.1)
    monkeypatch.setattr(consumers, "CATCH_UP_S", 0.1)
    rung: list[int] = []
    timer = Timer(lambda: rung.append(1))
    timer.start(0.05)
    time.sleep(0.3)  # nothing runs meanwhile
    await asyncio.sleep(0.03)
    assert rung == []
    if arrived:
        timer.start(60)
    time.sleep(0.3)
    await asyncio.sleep(0.03)
    assert rung == ([] if arrived else [1])
    timer.stop()


async def test_an_earlier_deadline_is_kept() -> None:
    rung: list[int] = []
    timer = Timer(lambda: rung.append(1))
    timer.start(60)
    timer.start(0.01)
    await asyncio.sleep(0.05)
    assert rung == [1]
