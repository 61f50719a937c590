"""A best-effort disk quota. No file may exceed `disk` (`ulimit -f`); their sum is looked at once a second, at the price of one system call."""

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from runners.agent.errors import DiskLimit

RESERVE_BYTES = 256 << 20
_SLACK_BYTES = 1 << 20


def free_bytes(folder: Path) -> int:
    """What an ordinary user may still write to the file system of `folder`."""
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


@dataclass(slots=True)
class DiskWatch:
    """`folder` holds everything the benchmark writes. Other writers of the same file system only make it count more exactly."""

    folder: Path
    limit: int | None
    reserve: int = RESERVE_BYTES
    _free: int = field(init=False)

    def __post_init__(self) -> None:
        self._free = free_bytes(self.folder)

    def problem(self) -> DiskLimit | None:
        free = free_bytes(self.folder)
        if free < self.reserve and self._free >= self.reserve:
            return DiskLimit(f"the runner's disk is nearly full ({free >> 20} MiB left)")
        if self.limit is not None and self._free - free > self.limit + _SLACK_BYTES and (used := self._used()) > self.limit:
            return DiskLimit(f"the benchmark wrote {used} bytes; its disk has {self.limit}")
        return None

    def _used(self) -> int:
        """Bytes really taken below the folder."""
        answer = subprocess.run(
            ["du", "-s", "--block-size=1", "--", str(self.folder)], stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        digits = answer.stdout.split(b"\t")[0]
        return int(digits) if digits.isdigit() else 0
