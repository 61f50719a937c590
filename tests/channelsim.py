"""Channels without sockets: real sessions, dispatch, services and rows; no threads, and time that tests move."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID, uuid4

import pytest

from jobs import node
from jobs.dispatch import ChannelDispatch
from runners.models import Runner
from runners.protocol import messages, signals
from runners.protocol.server import ServerSession
from tests.jobs_world import NOW

T = TypeVar("T")
_asked: deque[tuple[Callable[[], Any], asyncio.Future[Any]]] = deque()


class Clock:
    """Stands for the doors' clock."""

    def __init__(self) -> None:
        self.moment = NOW

    def now(self) -> datetime:
        return self.moment

    def forward(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


class Line:
    """One channel: what a runner would say goes in, what it would hear comes out."""

    def __init__(self, runner: Runner) -> None:
        self.runner, self.session = runner, ServerSession()
        self.heard: list[messages.ServerMessage] = []
        self.closed: signals.Close | None = None
        self.gone = False
        self.effects: list[signals.Effect] = []
        self._inbox: deque[signals.Input] = deque()
        self.dispatch = ChannelDispatch(runner_id=runner.pk, channel=uuid4().hex, push=self._inbox.append)

    @property
    def executing(self) -> UUID | None:
        return self.session.state.job if isinstance(self.session.state, signals.Executing) else None

    async def feed(self, given: signals.Input) -> None:
        self._inbox.append(given)
        await self.settle()

    async def settle(self) -> None:
        """Handle what has been pushed, one input after the other, as the consumer does."""
        while self._inbox:
            pending = deque(self.session.step(self._inbox.popleft()))
            while pending:
                effect = pending.popleft()
                self.effects.append(effect)
                outcome = await self._carry_out(effect)
                if outcome is not None:
                    pending.extendleft(reversed(self.session.step(outcome)))

    async def _carry_out(self, effect: signals.Effect) -> signals.Input | None:
        match effect:
            case signals.Send(message):
                if self.gone:
                    return signals.Undeliverable() if isinstance(message, messages.Job) else None
                self.heard.append(message)
            case signals.Close():
                self.closed = effect
            case signals.ReadTimer() | signals.PollTimer():
                pass
            case _:
                return await self.dispatch.run(effect)
        return None

    async def leave(self) -> None:
        self.gone = True
        await self.feed(signals.Left())
        self.dispatch.close()


class Site:
    """One web process with its lines."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.loop = asyncio.new_event_loop()
        self.lines: list[Line] = []

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Turn the loop until ``work`` is done. Database work is done between two turns: no loop runs then, so that it is the test's own connection."""
        task = self.loop.create_task(work)
        while not task.done():
            self.loop.call_soon(self.loop.stop)
            self.loop.run_forever()
            while _asked:
                database_work, answer = _asked.popleft()
                try:
                    answer.set_result(database_work())
                except Exception as fault:
                    answer.set_exception(fault)
        return task.result()

    @property
    def node(self) -> node.Node:
        async def current() -> node.Node:
            return node.current()

        return self.run(current())

    def connect(self, runner: Runner) -> Line:
        async def opened() -> Line:
            return Line(runner)

        self.lines.append(self.run(opened()))
        return self.lines[-1]

    def say(self, line: Line, given: signals.Input) -> list[messages.ServerMessage]:
        """What ``line`` hears at once; pushes to other lines are handled, too."""
        before = len(line.heard)
        self.run(line.feed(given))
        self.settle()
        return line.heard[before:]

    def settle(self) -> None:
        async def all_of_them() -> None:
            for _ in range(3):
                await asyncio.sleep(0)  # messages between nodes come through the loop
                for line in self.lines:
                    await line.settle()

        self.run(all_of_them())

    def flush(self) -> None:
        """The second in which heartbeats are written."""
        self.run(self.node.flush())
        self.settle()

    def leave(self, line: Line) -> None:
        self.run(line.leave())
        self.lines.remove(line)
        self.settle()

    def close(self) -> None:
        for line in list(self.lines):
            self.leave(line)
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.loop.run_until_complete(asyncio.wait(tasks))
        self.loop.close()


def without_threads(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    """Database work happens where it is asked for, hints to Celery nowhere, and the clock is the test's."""

    def ask(_: Any, work: Any) -> asyncio.Future[Any]:
        answer = asyncio.get_running_loop().create_future()
        _asked.append((work, answer))
        return answer

    monkeypatch.setattr("runners.threads._run", ask)
    monkeypatch.setattr("runners.threads._leaving_no_connection", lambda work: work())
    monkeypatch.setattr("bencher.core.clock.now", clock.now)
    monkeypatch.setattr("jobs.notify._broker_outbox.put", lambda work: None)
    monkeypatch.setattr("django.db.transaction.on_commit", lambda function, using=None, robust=False: function())
