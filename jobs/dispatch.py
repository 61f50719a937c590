"""From what a channel's session wants to one service call, and back to the outcome (design.md section 5). A door: no rule lives here."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings

from bencher.core import clock
from jobs import node, notify
from jobs.lifecycle import IN_FLIGHT, Failure, Status
from jobs.liveness import RUNNER_EVERY
from jobs.services import claim as claiming
from jobs.services import execute, reap, terminal
from runners import updates
from runners.protocol import signals
from runners.protocol.errors import CloseReason
from runners.protocol.signals import Verdict
from runners.threads import heavily, in_database

logger = logging.getLogger(__name__)

BIG_OUTPUT = 64 * 1024
"""Characters; above this an output is stored beside the short work."""

_REASONS = {Failure.JOB_TIMEOUT_EXCEEDED: CloseReason.JOB_TIMEOUT_EXCEEDED, Failure.HEARTBEAT_TIMEOUT: CloseReason.HEARTBEAT_TIMEOUT}


class ChannelDispatch:
    """The services of one channel. ``push`` takes inputs that come by themselves: a wake-up, being superseded."""

    def __init__(self, *, runner_id: UUID, channel: str, push: Callable[[signals.Input], None]) -> None:
        self.id, self.runner_id, self.push = channel, runner_id, push
        self.order = (clock.now().timestamp(), channel)
        self.node = node.current()
        self._active = False
        self._greeted: datetime | None = None
        self._specs: frozenset[UUID] = frozenset()
        self._woken: deque[tuple[UUID, bool]] = deque()
        self.node.open(self)

    def close(self) -> None:
        """The channel is no more."""
        self.node.waiting.remove(self)
        self.node.close(self)
        while self._woken:
            self._pass_on()

    async def run(self, effect: signals.Effect) -> signals.Input | None:
        """Carry ``effect`` out. The outcome, if it asks for one; a fault of ours has one, too."""
        try:
            return await _RUN[type(effect)](self, effect)
        except Exception as fault:
            logger.error(
                "%s of runner %s failed: %s: %s",
                type(effect).__name__,
                self.runner_id,
                type(fault).__name__,
                fault,
                exc_info=not _ours(fault),
            )
            return _FAULTS[type(effect)](effect) if type(effect) in _FAULTS else None

    # -- waiting and claiming --------------------------------------------------------------------------------------
    def wake(self, spec: UUID, *, chain: bool) -> None:
        self._woken.append((spec, chain))
        self.push(signals.Wake())

    def _pass_on(self) -> None:
        if self._woken:
            spec, chain = self._woken.popleft()
            self.node.waiting.wake(spec, chain=chain)

    async def pass_on(self, _: signals.PassOn) -> None:
        self._pass_on()

    async def unwait(self, _: signals.Unwait) -> None:
        self.node.waiting.remove(self)

    def _greet(self) -> None:
        now = clock.now()
        if self._greeted is None or now - self._greeted >= RUNNER_EVERY:
            self._greeted = now
            self.node.ledger.greet(self.runner_id, now=now)
            self.node.keep_alive()

    async def claim(self, _: signals.Claim) -> signals.Input:
        self._greet()
        if not self._woken and self.node.lull.holds(self._specs, at=time.monotonic()):
            self._wait()
            return signals.NothingToClaim()
        spec, chain = self._woken.popleft() if self._woken else (None, False)
        result = await self._claim()
        if result.message is None and result.specs != self._specs:  # it would not have been woken for these: look once more
            self._specs = result.specs
            result = await self._claim()
        if result.message is not None:
            self.node.waiting.remove(self)
            self._hold(result.message.uuid, None)
            if chain and spec is not None:
                self.node.waiting.wake(spec, chain=True)
            return signals.Claimed(result.message)
        if spec is not None and spec not in result.specs:
            self.node.waiting.wake(spec, chain=chain)
        return signals.NothingToClaim()

    def _wait(self) -> None:
        self.node.waiting.add(self, self._specs)
        self.node.look_out()

    async def _claim(self) -> claiming.Claim:
        self._wait()  # before looking: what comes meanwhile wakes us
        began = time.monotonic()
        result = await in_database(claiming.claim, runner_id=self.runner_id, channel=self.id, now=clock.now())
        if result.nothing_pending:
            self.node.lull.nothing(result.specs, since=began)
        return result

    async def undo(self, effect: signals.Undo) -> None:
        self.node.ledger.drop(effect.job, channel=self.id)
        await in_database(claiming.undo, job_id=effect.job, runner_id=self.runner_id, channel=self.id, now=clock.now())

    # -- executing -------------------------------------------------------------------------------------------------
    def _hold(self, job: UUID, due: Any) -> None:
        self.node.ledger.hold(job, runner=self.runner_id, channel=self.id, due=due, now=clock.now())
        self.node.keep_alive()

    async def start(self, effect: signals.Start) -> signals.Input:
        now = clock.now()
        verdict = self.node.ledger.beat(effect.job, channel=self.id, now=now)
        if verdict is Verdict.OVER:
            return signals.Judged(verdict)
        standing = await in_database(execute.start, job_id=effect.job, runner_id=self.runner_id, channel=self.id, now=now)
        if standing is None:
            return signals.Judged(Verdict.ENDED)
        self.node.ledger.started(effect.job, channel=self.id, due=standing.due)
        if standing.status is Status.CANCELED:
            return signals.Judged(Verdict.CANCELED)
        if standing.status not in IN_FLIGHT:
            return signals.Judged(Verdict.ENDED)
        return signals.Judged(Verdict.ALIVE if standing.held else Verdict.TAKEN)

    async def beat(self, effect: signals.Beat) -> signals.Input:
        return signals.Judged(self.node.ledger.beat(effect.job, channel=self.id, now=clock.now()))

    async def overrun(self, effect: signals.Overrun) -> signals.Input:
        status = await in_database(reap.overrun, job_id=effect.job, now=clock.now())
        return signals.Judged(Verdict.CANCELED if status is Status.CANCELED else Verdict.ENDED)

    async def expire(self, effect: signals.Expire) -> signals.Input:
        failure = await in_database(reap.expire, job_id=effect.job, runner_id=self.runner_id, channel=self.id, now=clock.now())
        return signals.Expired(_REASONS[failure])

    async def drop(self, effect: signals.Drop) -> None:
        self.node.ledger.drop(effect.job, channel=self.id)

    async def abandon(self, effect: signals.Abandon) -> None:
        self.node.ledger.release(effect.job, channel=self.id)
        self.node.keep_alive()
        notify.watch(effect.job, timedelta(seconds=settings.BENCHER_HEARTBEAT_TIMEOUT + 2))

    async def deliver(self, effect: signals.Deliver) -> signals.Input:
        run = heavily if _is_big(effect.message) else in_database
        await run(terminal.deliver, message=effect.message, runner_id=self.runner_id, now=clock.now())
        return signals.Delivered(effect.message.job)

    # -- taking up again -------------------------------------------------------------------------------------------
    async def resume(self, effect: signals.Resume) -> signals.Input:
        try:
            resumption = await in_database(
                execute.resume, runner_id=self.runner_id, channel=self.id, named=effect.named, running=effect.running, now=clock.now()
            )
        except execute.WasCanceled:
            return signals.ResumedCanceled()
        if resumption is None:
            return signals.NothingToResume()
        self._hold(resumption.job, resumption.due)
        if resumption.before:
            self.node.take_over(resumption.before, resumption.job)
        return signals.Resumed(resumption.job)

    async def active(self, _: signals.Active) -> None:
        self.node.activate(self, first=not self._active)
        self._active = True

    async def check_update(self, effect: signals.CheckUpdate) -> signals.Input:
        update = await updates.offer(effect.runner)
        return signals.UpToDate() if update is None else signals.Outdated(update)


def _is_big(message: Any) -> bool:
    results = getattr(message, "results", ())
    return (
        sum(len(part or "") for result in results for part in (result.stdout, result.stderr, *(result.output or {}).values())) > BIG_OUTPUT
    )


def _ours(fault: Exception) -> bool:
    """A fault that is expected now and then: the database or the storage. Anything else is a mistake, and logged with its trace."""
    from django.db import Error

    from outputs.registry.storage.base import StorageError

    return isinstance(fault, Error | StorageError)


_RUN: dict[type[Any], Callable[[ChannelDispatch, Any], Awaitable[signals.Input | None]]] = {
    signals.Abandon: ChannelDispatch.abandon,
    signals.Active: ChannelDispatch.active,
    signals.Beat: ChannelDispatch.beat,
    signals.CheckUpdate: ChannelDispatch.check_update,
    signals.Claim: ChannelDispatch.claim,
    signals.Deliver: ChannelDispatch.deliver,
    signals.Drop: ChannelDispatch.drop,
    signals.Expire: ChannelDispatch.expire,
    signals.Overrun: ChannelDispatch.overrun,
    signals.PassOn: ChannelDispatch.pass_on,
    signals.Resume: ChannelDispatch.resume,
    signals.Start: ChannelDispatch.start,
    signals.Undo: ChannelDispatch.undo,
    signals.Unwait: ChannelDispatch.unwait,
}

_FAULTS: dict[type[Any], Callable[[Any], signals.Input]] = {
    signals.CheckUpdate: lambda effect: signals.UpToDate(),
    signals.Claim: lambda effect: signals.NothingToClaim(),
    signals.Deliver: lambda effect: signals.NotStored(effect.message.job),
    signals.Start: lambda effect: signals.Judged(Verdict.UNKNOWN),
    signals.Beat: lambda effect: signals.Judged(Verdict.ALIVE),
    signals.Overrun: lambda effect: signals.Judged(Verdict.ALIVE),
    signals.Expire: lambda effect: signals.Expired(CloseReason.HEARTBEAT_TIMEOUT),
    signals.Resume: lambda effect: signals.NothingToResume(),
}
"""What a channel goes on with when we are at fault: nothing is acknowledged that is not stored, and no job is decided."""
