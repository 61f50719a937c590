"""What a runner is doing, for people (our extension of rest.md 4.1). Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

RunnerState = Literal["archived", "busy", "idle", "offline"]


def state_of(*, archived: bool, busy: bool, last_heartbeat: datetime | None, now: datetime, silence: timedelta) -> RunnerState:
    """``busy``: it holds a job in flight. ``idle``: heard from within ``silence``. The first that fits, in the order of the type."""
    if archived:
        return "archived"
    if busy:
        return "busy"
    return "idle" if last_heartbeat is not None and now - last_heartbeat <= silence else "offline"
