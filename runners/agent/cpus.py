"""Which cores the runner keeps for itself and which belong to the benchmark."""

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ONLINE = Path("sys/devices/system/cpu/online")


@dataclass(frozen=True, slots=True)
class Layout:
    """`isolated` when the two sets are disjoint, which takes two cores."""

    housekeeping: tuple[int, ...]
    benchmark: tuple[int, ...]

    @property
    def isolated(self) -> bool:
        return bool(self.housekeeping) and not set(self.housekeeping) & set(self.benchmark)


def parse_list(text: str) -> list[int]:
    """`0-3,8` -> [0, 1, 2, 3, 8]. ValueError for anything else."""
    cores: set[int] = set()
    for item in filter(None, text.strip().split(",")):
        first, dash, last = item.partition("-")
        cores.update(range(int(first), int(last if dash else first) + 1))
    return sorted(cores)


def format_list(cores: Iterable[int]) -> str:
    """[0, 1, 2, 3, 8] -> `0-3,8`."""
    ranges: list[list[int]] = []
    for core in sorted(set(cores)):
        if ranges and core == ranges[-1][1] + 1:
            ranges[-1][1] = core
        else:
            ranges.append([core, core])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def format_mask(cores: Iterable[int]) -> str:
    """The kernel's bit mask: hexadecimal words of 32 bits, most significant first, later words padded to eight digits."""
    bits = sum(1 << core for core in set(cores))
    words = [bits & 0xFFFFFFFF]
    while bits := bits >> 32:
        words.append(bits & 0xFFFFFFFF)
    return ",".join(f"{word:x}" if position == 0 else f"{word:08x}" for position, word in enumerate(reversed(words)))


def divide(online: Iterable[int]) -> Layout:
    """One core is shared; of two to seven the first keeps house, of eight and more the first two; the rest runs the benchmark."""
    cores = tuple(sorted(set(online)))
    if len(cores) < 2:
        return Layout(cores, cores)
    keep = 1 if len(cores) < 8 else 2
    return Layout(cores[:keep], cores[keep:])


def detect(root: Path = Path("/")) -> Layout:
    """The layout of this machine: cores that are online and that this process may use. `root` stands for `/`."""
    allowed = os.sched_getaffinity(0)
    with contextlib.suppress(OSError, ValueError):
        return divide(core for core in parse_list((root / ONLINE).read_text()) if core in allowed)
    return divide(allowed)
