"""A stop that hangs is cut short."""

from __future__ import annotations

import os

import pytest

from bencher.serving import watchdog


def test_a_stop_that_hangs_is_cut_short(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """With exit code 0 and a line that names what still ran."""
    codes: list[int] = []
    monkeypatch.setattr(watchdog, "STOP_WITHIN", 0)
    monkeypatch.setattr(os, "_exit", codes.append)
    monkeypatch.setattr(watchdog.logging, "shutdown", lambda: None)
    watchdog.cut_short()
    assert codes == [0]
    assert "MainThread" in caplog.text
