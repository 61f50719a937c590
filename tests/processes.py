"""Watching processes from the outside."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def gone(process: int) -> bool:
    """Whether a process ended; one that nobody waited for is a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def eventually(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not come about"
        time.sleep(0.01)
