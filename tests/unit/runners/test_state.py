"""What a runner is doing, row by row."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from runners.state import RunnerState, state_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SILENCE = timedelta(seconds=90)


@pytest.mark.parametrize(
    ("archived", "busy", "silent", "state"),
    [
        (True, True, 0, "archived"),
        (False, True, None, "busy"),
        (False, True, 900, "busy"),
        (False, False, 0, "idle"),
        (False, False, 90, "idle"),
        (False, False, 91, "offline"),
        (False, False, None, "offline"),
    ],
)
def test_state(archived: bool, busy: bool, silent: int | None, state: RunnerState) -> None:
    heard = None if silent is None else NOW - timedelta(seconds=silent)
    assert state_of(archived=archived, busy=busy, last_heartbeat=heard, now=NOW, silence=SILENCE) == state
