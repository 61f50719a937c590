"""What an operator can get wrong ends with one sentence and exit code 1, never with a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
FOREIGN = ("DATABASE_URL", "REDIS_URL", "STORAGE_URL", "SECRET_KEY", "BENCHER_DATA_DIR", "DJANGO_SETTINGS_MODULE")
JOB = "0192f3a4-0000-7000-8000-000000000000"
pytestmark = [pytest.mark.acceptance]


def nothing(folder: Path) -> None: ...


def a_file(folder: Path) -> None:
    (folder / "data").write_text("")


def no_database(folder: Path) -> None:
    (folder / "data").mkdir()
    (folder / "data" / "bencher.db").write_text("not a database, but longer than its header is\n" * 10)


def run(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    program = [sys.executable, str(ROOT / "manage.py"), *arguments]
    return subprocess.run(
        program, cwd=folder, env={**env, "BENCHER_DATA_DIR": str(folder / "data"), **settings}, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    ("prepare", "arguments", "settings", "said"),
    [
        (nothing, ["create_admin", "--email", "a@example.com"], {}, "manage.py migrate"),
        (nothing, ["cancel_job", JOB], {}, "manage.py migrate"),
        (nothing, ["backup", "b.tar.zst"], {}, "manage.py migrate"),
        (nothing, ["recover"], {}, "manage.py migrate"),
        (nothing, ["collect_garbage"], {}, "manage.py migrate"),
        (a_file, ["up"], {}, "data: File exists"),
        (no_database, ["up"], {}, "file is not a database"),
        (nothing, ["up"], {"BENCHER_HEARTBEAT_TIMEOUT": "soon"}, "BENCHER_HEARTBEAT_TIMEOUT: expected a whole number"),
        (nothing, ["up"], {"REDIS_URL": "localhost:6379"}, "REDIS_URL: expected an address that begins with redis://"),
        (nothing, ["up"], {"STORAGE_URL": "s3://"}, "STORAGE_URL: expected file:///folder, s3://bucket/prefix or memory://"),
        (nothing, ["up"], {"STORAGE_URL": "s3://bucket?zone=1"}, "STORAGE_URL: unknown option 'zone'"),
        (nothing, ["up"], {"STORAGE_URL": "/srv/storage"}, "STORAGE_URL: expected an address that begins with file://"),
        (nothing, ["up"], {"BENCHER_PUBLIC_URL": "bench.example.com"}, "BENCHER_PUBLIC_URL: expected an address that begins with http://"),
        (nothing, ["up"], {"BENCHER_TRUSTED_PROXIES": "10.0.0.0/8,proxy"}, "BENCHER_TRUSTED_PROXIES: 'proxy' is no address or network"),
        (nothing, ["up"], {"BENCHER_TIER_LIMITS": "nonsense"}, "BENCHER_TIER_LIMITS: expected 1 or 0"),
        (nothing, ["up"], {"BENCHER_RATE_LIMITS": "nonsense"}, "BENCHER_RATE_LIMITS: 'nonsense': expected one of"),
        (nothing, ["up"], {"LOG_LEVEL": "loud"}, "LOG_LEVEL: expected one of"),
    ],
)
def test_one_sentence(tmp_path: Path, prepare: Callable[[Path], None], arguments: list[str], settings: dict[str, str], said: str) -> None:
    prepare(tmp_path)
    ended = run(tmp_path, *arguments, **settings)
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.startswith("CommandError: ")
    assert ended.stderr.count("\n") == 1
    assert said in ended.stderr


def test_the_traceback_is_there_on_demand(tmp_path: Path) -> None:
    ended = run(tmp_path, "recover", "--traceback")
    assert ended.returncode == 1
    assert "Traceback" in ended.stderr


@pytest.mark.parametrize("part", ["worker", "beat"])
def test_parts_of_their_own_need_redis(tmp_path: Path, part: str) -> None:
    env = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    program = [sys.executable, "-m", "celery", "-A", "bencher", part]
    ended = subprocess.run(
        program,
        cwd=tmp_path,
        env={**env, "BENCHER_DATA_DIR": str(tmp_path / "data"), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 1
    assert "set REDIS_URL" in ended.stderr
    assert "Traceback" not in ended.stderr
