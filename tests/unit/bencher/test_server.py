"""``bencher/server.py``: what happens every two seconds goes on, whatever the pulse does."""

from __future__ import annotations

from typing import Any

import pytest

from bencher import server


class Reactor:
    def __init__(self) -> None:
        self.later: list[tuple[float, Any]] = []

    def callLater(self, seconds: float, call: Any) -> None:
        self.later.append((seconds, call))


def test_a_pulse_that_fails_does_not_end_the_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise LookupError("no such core")

    reactor = Reactor()
    monkeypatch.setattr(server, "reactor", reactor)
    one = server.Server(None, pulse=fail)  # type: ignore[arg-type]
    for count in (1, 2):
        with pytest.raises(LookupError):  # the event loop logs it
            one.timeout_checker()
        assert reactor.later == [(2, one.timeout_checker)] * count
