"""The runner as an ordinary user: no root, no control groups, the same results."""

import os
import sys
from pathlib import Path

import pytest

from tests.acceptance.runners.agent.kit import FakeServer, Runner

pytestmark = pytest.mark.acceptance
NOBODY = 65534


@pytest.fixture
def python() -> str:
    """An interpreter that an ordinary user may run, with this repository's packages."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        if os.path.exists(candidate) and all(part.stat().st_mode & 0o001 for part in Path(candidate).resolve().parents):
            return candidate
    pytest.skip("no Python interpreter that an ordinary user can reach")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of the ordinary user's own, which may pass through those above."""
    for parent in (tmp_path, *tmp_path.parents):
        if not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)
    own = tmp_path / "own"
    own.mkdir()
    os.chown(own, NOBODY, NOBODY)
    return own


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests are this one")
@pytest.mark.parametrize("flags", [(), ("--danger-allow-no-sandbox",), ("--sandbox", "runc")], ids=["bubblewrap", "host", "runc"])
def test_an_ordinary_user(server: FakeServer, digest: str, folder: Path, python: str, flags: tuple[str, ...]) -> None:
    script = "test ! -e made; touch made; mkdir -p d; echo text > d/f; chmod 0 d/f d; (sleep 60 &); echo done"
    with Runner(server, folder / "state", *flags, user=NOBODY, python=python) as runner:
        job = server.submit(digest, "/bin/sh", "-c", script, file_paths=["made"], iter=2)
        result = server.result(job)
        assert result["event"] == "completed", result
        assert result["results"] == [{"exit_code": 0, "stdout": "done\n", "output": {"made": ""}}] * 2
        assert not list((folder / "state/bench-1/runs").iterdir())
        assert runner.stop() == 0
