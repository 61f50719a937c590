"""``bencher/serving/pace.py``: set by whoever loads the application, and by the servers of our own when they listen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
PACE = "gc.get_threshold()[0] >= 10_000, gc.get_freeze_count() > 100_000, sys.getswitchinterval() <= 0.002, flush=True"
LOADED = f"import bencher.asgi, gc, sys; print({PACE})"
STARTED = f"""
import gc, os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "bencher.settings"
import django
django.setup()
from django.core.management import call_command
from bencher import server
from bencher.serving import uvicorn_server
def run(self):
    self._ready("here")
    print({PACE})
server.Server.run = uvicorn_server.Server.run = run
call_command(*sys.argv[1:])
"""


@pytest.mark.parametrize(
    "program",
    [
        [LOADED],
        [STARTED, "up", "--bind", ":0"],
        [STARTED, "serve", "--bind", ":0"],
        [STARTED, "serve", "--server", "uvicorn", "--bind", ":0"],
    ],
    ids=lambda program: " ".join(program[1:]) or "asgi",
)
def test_a_server_sets_the_pace(program: list[str], tmp_path: Path) -> None:
    environment = {**os.environ, "BENCHER_DATA_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", *program], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split()[-3:] == ["True"] * 3, done.stderr
