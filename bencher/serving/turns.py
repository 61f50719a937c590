"""Threads for short pieces of work that all need the interpreter: few at a time, and none behind a long one.

Threads that compute at once in Python only take the interpreter from each other, at every statement of SQLite. So few of them take calls; one that stays
at a call for too long takes no further ones, and another thread comes in its place. See docs/decisions/api-handler.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

R = TypeVar("R")
Call = tuple[Callable[..., Any], tuple[Any, ...], "asyncio.Future[Any]"]


class _Thread:
    """One of the threads. ``taking``: does it take calls?"""

    def __init__(self, turns: Turns, name: str) -> None:
        self.turns, self.taking = turns, True
        self.call: Call | None = None
        self.seen: Call | None = None
        """What it was at when somebody looked last."""
        self.gate = threading.Lock()
        self.gate.acquire()
        threading.Thread(target=self.serve, name=name, daemon=True).start()

    def serve(self) -> None:
        rests = False
        while True:
            if rests:
                self.gate.acquire()
            self.call = function, args, answer = self.turns.work.get()
            result: Any = None
            fault: BaseException | None = None
            try:
                result = None if answer.cancelled() else function(*args)
            except BaseException as raised:
                fault = raised
            self.call = None
            rests = not self.taking
            with contextlib.suppress(RuntimeError):  # the loop has ended, and the caller with it
                answer.get_loop().call_soon_threadsafe(self.turns.end, self if rests else None, answer, result, fault)
            del function, args, answer, result, fault  # keep nothing while waiting


class Turns:
    """``threads`` at most, of which ``short`` take calls. One that is at the same call after ``patience`` seconds, while others wait, is replaced."""

    def __init__(self, threads: int, name: str, *, short: int, patience: float) -> None:
        self.threads, self.name, self.short, self.patience = threads, name, min(short, threads), patience
        self.work: queue.SimpleQueue[Call] = queue.SimpleQueue()
        self._all: list[_Thread] = []
        self._taking: set[_Thread] = set()
        self._resting: list[_Thread] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open = 0
        """Calls that have not ended."""
        self._timer: asyncio.TimerHandle | None = None

    async def run(self, function: Callable[..., R], *args: Any) -> R:
        """What ``function`` returns, or raises, in one of the threads. A caller who is cancelled while it waits is passed over."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._open, self._timer = loop, 0, None
        answer: asyncio.Future[R] = loop.create_future()
        self._open += 1
        self.work.put((function, args, answer))
        if len(self._taking) < min(self._open, self.short):
            self._promote()
        if self._timer is None and self._somebody_waits() and len(self._taking) < self.threads:
            self._timer = loop.call_later(self.patience, self._look, loop)
        return await answer

    def end(self, resting: _Thread | None, answer: asyncio.Future[Any], result: Any, fault: BaseException | None) -> None:
        """On the event loop: a call has ended, and perhaps its thread rests now."""
        self._open -= 1
        if resting is not None:
            self._resting.append(resting)
            if self._open and len(self._taking) < self.short:
                self._promote()
        if answer.done():  # cancelled
            return
        if fault is None:
            answer.set_result(result)
        else:
            answer.set_exception(fault)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Who has been at the same call since the last look?"""
        self._timer = None
        if not self._somebody_waits():
            return
        for thread in list(self._taking):
            if thread.call is not None and thread.call is thread.seen:
                thread.taking = False
                self._taking.discard(thread)
                self._promote()
            thread.seen = thread.call
        self._timer = loop.call_later(self.patience, self._look, loop)

    def _somebody_waits(self) -> bool:
        """Are there more calls than threads, those aside that were replaced and are still at theirs?"""
        replaced = len(self._all) - len(self._taking) - len(self._resting)
        return self._open - replaced > len(self._taking)

    def _promote(self) -> None:
        """One more takes calls, if there is one."""
        if self._resting:
            thread = self._resting.pop()
            thread.taking = True
            thread.gate.release()
        elif len(self._all) < self.threads:
            thread = _Thread(self, f"{self.name}-{len(self._all)}")
            self._all.append(thread)
        else:
            return
        self._taking.add(thread)
