"""bencher/core/audit.py: a line that nobody's name forges."""

from __future__ import annotations

import logging

import pytest

from bencher.core import audit


def test_a_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "bencher.audit"):
        audit.record(None, "login", actor='a" b="c\nd\u202e', nothing=None, long="x" * 1000)
    (record,) = caplog.records
    line = record.getMessage()
    assert line.startswith('action="login" actor="a\\" b=\\"c\\nd\\u202e" long="xxx')
    assert "nothing" not in line
    assert "\n" not in line
    assert len(line) < 300
