"""Which channels of this process wait for a job, and whom to wake: one, never all. No database; used from the event loop only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol
from uuid import UUID


class Lull:
    """Specs of which no job was pending a moment ago: a runner that polls again then waits without looking. Moments are of a monotonic clock, in seconds.

    What is announced while somebody looks counts as later than the look, since the look may have missed it.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._looked: dict[UUID, float] = {}
        self._announced: dict[UUID, float] = {}
        self._changed = float("-inf")

    def nothing(self, specs: Iterable[UUID], *, since: float) -> None:
        """A look that began at ``since`` found none."""
        for spec in specs:
            self._looked[spec] = since

    def announced(self, spec: UUID, *, at: float) -> None:
        """There is a job."""
        self._announced[spec] = at

    def changed(self, *, at: float) -> None:
        """Who may take what, or what is pending, has changed in some way."""
        self._changed = at

    def holds(self, specs: Iterable[UUID], *, at: float) -> bool:
        """Is there nothing for all of these, as far as anybody knows?"""
        specs = list(specs)
        return bool(specs) and all(self._holds(spec, at) for spec in specs)

    def _holds(self, spec: UUID, at: float) -> bool:
        looked = self._looked.get(spec, float("-inf"))
        return at - looked < self.seconds and looked > self._changed and looked > self._announced.get(spec, float("-inf"))


class Waiter(Protocol):
    """A channel that polls."""

    runner_id: UUID

    def wake(self, spec: UUID, *, chain: bool) -> None:
        """There may be a job of ``spec``. ``chain``: perhaps more than one; whoever gets one wakes the next."""


class Waiting:
    """Waiters in the order in which they came, by the specs that they may take. A woken one is out until it waits again."""

    def __init__(self) -> None:
        self._specs: dict[Waiter, frozenset[UUID]] = {}
        self._queues: dict[UUID, dict[Waiter, None]] = {}

    def __len__(self) -> int:
        return len(self._specs)

    def __contains__(self, waiter: object) -> bool:
        return waiter in self._specs

    def add(self, waiter: Waiter, specs: Iterable[UUID]) -> None:
        """Waits for these specs from now on; behind those who wait already, unless nothing has changed."""
        wanted = frozenset(specs)
        if self._specs.get(waiter) == wanted:
            return
        self.remove(waiter)
        self._specs[waiter] = wanted
        for spec in wanted:
            self._queues.setdefault(spec, {})[waiter] = None

    def remove(self, waiter: Waiter) -> None:
        for spec in self._specs.pop(waiter, frozenset()):
            queue = self._queues[spec]
            del queue[waiter]
            if not queue:
                del self._queues[spec]

    def wake(self, spec: UUID, *, chain: bool = False) -> bool:
        """Wake who has waited longest for this spec, if there is one."""
        for waiter in self._queues.get(spec, {}):
            self.remove(waiter)
            waiter.wake(spec, chain=chain)
            return True
        return False

    def wake_runner(self, runner_id: UUID, spec: UUID) -> bool:
        """Wake a channel of this runner, whatever specs it was known to have."""
        for waiter in self._specs:
            if waiter.runner_id == runner_id:
                self.remove(waiter)
                waiter.wake(spec, chain=True)
                return True
        return False

    def runners(self) -> list[UUID]:
        return list({waiter.runner_id for waiter in self._specs})
