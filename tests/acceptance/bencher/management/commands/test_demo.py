"""``manage.py demo``: the report as a table, exit code 0, and nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[5]
pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(240)]
FOREIGN = ("DATABASE_URL", "REDIS_URL", "STORAGE_URL", "SECRET_KEY", "BENCHER_DATA_DIR", "DJANGO_SETTINGS_MODULE")


def start(folder: Path) -> subprocess.Popen[str]:
    """The demo in a folder and with a temporary folder of its own."""
    (folder / "tmp").mkdir()
    env = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    return subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), "demo"],
        cwd=folder,
        env={**env, "TMPDIR": str(folder / "tmp"), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def left_behind(folder: Path) -> list[str]:
    """Files below the folder, and processes that work there."""
    files = [str(path) for path in folder.rglob("*") if path != folder / "tmp"]
    deadline = time.monotonic() + 10
    while (found := processes_in(folder)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return files + found


def processes_in(folder: Path) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = process.joinpath("cmdline").read_bytes() + process.joinpath("environ").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in words and process.name != str(os.getpid()):
            found.append(f"{process.name}: {words[:200]!r}")
    return found


def test_the_demo_shows_a_report_and_leaves_nothing(tmp_path: Path) -> None:
    process = start(tmp_path)
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    assert errors == ""
    for shown in ("processed", "Latency", "nanoseconds"):
        assert shown in out
    assert re.search(r"report: http://127\.0\.0\.1:\d+/v0/projects/demo/reports/[0-9a-f-]{36}$", out, re.MULTILINE)
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_demo_can_be_interrupted(tmp_path: Path, number: int) -> None:
    process = start(tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("server: ")
    process.send_signal(number)
    process.communicate()
    assert process.returncode != 0
    assert left_behind(tmp_path) == []
