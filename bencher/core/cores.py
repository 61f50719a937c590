"""One processor core for the threads of this process, see docs/decisions/one-core.md.

Python lets one thread compute at a time. On several cores its threads hand each other the interpreter from core to core, at every statement of a
database: measured, a third of the CPU time of a busy server. So they share a core, while others leave it to them; children and threads that compute
without the interpreter go where they like. Linux only; elsewhere nothing happens.
"""

from __future__ import annotations

import contextlib
import functools
import os
import random
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

CPUS = Path("/sys/devices/system/cpu")
STAT = Path("/proc/stat")
TASKS = Path("/proc/self/task")
STRENGTHS = ("cpu_capacity", "cpufreq/cpuinfo_max_freq")
"""Files that say how fast a core is, where cores differ; the first that is there counts."""
ALIKE = 0.9
"""Cores as fast as this share of the fastest are as good."""
ROOMIER = 0.3
"""So much more of its time another core must have free for a move."""
Times = tuple[float, float]
"""Seconds in which a core worked, and all of them."""

_everywhere: set[int] = set()
"""Threads that go where they like."""


@functools.cache
def allowed() -> frozenset[int]:
    """The cores that this process was given when it started; empty where that cannot be asked."""
    try:
        return frozenset(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return frozenset()


def roam() -> None:
    """This thread computes without the interpreter (hashes, files): let it go where it likes."""
    _everywhere.add(threading.get_native_id())
    with contextlib.suppress(OSError):
        if allowed():
            os.sched_setaffinity(0, allowed())


def strongest(cores: Iterable[int], folder: Path = CPUS) -> list[int]:
    """Those that are about as fast as the fastest; all, where nothing says how fast they are."""
    strengths = {core: _strength(folder / f"cpu{core}") for core in cores}
    return sorted(core for core, strength in strengths.items() if strength >= ALIKE * max(strengths.values()))


def _strength(folder: Path) -> int:
    for name in STRENGTHS:
        with contextlib.suppress(OSError, ValueError):
            return int((folder / name).read_text())
    return 0


def times(text: str) -> dict[int, Times]:
    """By core, from the text of /proc/stat."""
    tick = os.sysconf("SC_CLK_TCK")
    found = {}
    for line in text.splitlines():
        name, *fields = line.split()
        if name.startswith("cpu") and name != "cpu":
            spent = [int(field) / tick for field in fields[:8]]  # what comes after is part of what comes before
            found[int(name[3:])] = (sum(spent) - spent[3] - spent[4], sum(spent))
    return found


def better(current: int, loads: Mapping[int, float], own: float, dice: Callable[[], float]) -> int:
    """Where to go from ``current``: mostly nowhere. ``loads``: share of its time that each core worked; ``own``: what of it was this process.

    The kernel takes others away from a core that is busy; one that still has to be shared while another is free is left. Of two servers that meet, not
    both should go: hence the dice.
    """
    others = max(0.0, loads.get(current, 0.0) - own)
    best = min(loads, key=lambda core: (loads[core], core), default=current)
    return best if best != current and others - loads[best] > ROOMIER and dice() < 0.5 else current


class OneCore:
    """Keeps the threads of this process on one core. Call ``look`` every few seconds, the first time when the threads are there."""

    def __init__(self, dice: Callable[[], float] = random.random) -> None:
        self.core: int | None = None
        self._dice = dice
        self._choices = strongest(allowed())
        self._before = self._now() if self.useful else None

    @property
    def useful(self) -> bool:
        return len(self._choices) > 1

    def look(self) -> None:
        """Choose a core, or see whether the one chosen is still a good one."""
        before = self._before
        if before is None:
            return
        try:
            self._before = self._now()
            self._look(before, self._before)
        except OSError:  # no right to do this: everything stays as it is, for good
            self._before = None

    def _look(self, before: tuple[dict[int, Times], float], now: tuple[dict[int, Times], float]) -> None:
        (times_before, own_before), (times_now, own_now) = before, now
        seconds = {core: times_now[core][1] - times_before[core][1] for core in self._choices if core in times_now and core in times_before}
        loads = {core: (times_now[core][0] - times_before[core][0]) / spent for core, spent in seconds.items() if spent > 0}
        if self.core is None:
            wanted = min(loads or self._choices, key=lambda core: (round(loads.get(core, 0.0), 1), self._dice()))
        else:
            own = (own_now - own_before) / max(seconds.get(self.core, 0.0), 0.1)
            wanted = better(self.core, loads, own, self._dice)
        if wanted != self.core:
            self._settle(wanted)

    def _settle(self, core: int) -> None:
        for task in os.listdir(TASKS):
            if int(task) not in _everywhere:
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setaffinity(int(task), {core})
        self.core = core

    @staticmethod
    def _now() -> tuple[dict[int, Times], float]:
        try:
            return times(STAT.read_text()), sum(os.times()[:2])
        except (OSError, ValueError, IndexError):  # no /proc, or one of another form: nothing is known of any core
            return {}, 0.0
