"""How the interpreter shares its time in a process that answers channels. Measured, see docs/operations.md."""

from __future__ import annotations

import gc
import sys

YOUNG = 20_000
"""New objects until the collector looks at them; Python's 700 make a thousand rounds of one big report."""

SWITCH = 0.001
"""Seconds after which a thread that computes gives way; Python's 5 ms are what each heartbeat waits for, several times over, beside a busy worker."""


def settle() -> None:
    """After everything is imported: what is there now stays, and the collector leaves it alone (a full round over it stops everybody for 0.1 s)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 20, 50)
    sys.setswitchinterval(SWITCH)
