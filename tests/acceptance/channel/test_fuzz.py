"""A few thousand of the million hostile frames that ``benchmarks/fuzz_channel.py`` sends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.acceptance


@pytest.mark.parametrize("seed", [1, 2])
def test_no_frame_kills_a_consumer(seed: int) -> None:
    command = [sys.executable, "benchmarks/fuzz_channel.py", "--frames", "5000", "--seed", str(seed)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 lost inputs, 0 unanswered channels" in done.stdout
