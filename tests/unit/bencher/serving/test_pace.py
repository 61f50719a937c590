"""``bencher/serving/pace.py``: set once, by whoever loads the application."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
PROBE = "import bencher.asgi, gc, sys; print(gc.get_threshold()[0] >= 10_000, gc.get_freeze_count() > 100_000, sys.getswitchinterval() <= 0.002)"


def test_loading_the_application_sets_the_pace(tmp_path: Path) -> None:
    environment = {**os.environ, "BENCHER_DATA_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", PROBE], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"] * 3
