"""The runner as an ordinary user: no root, no control groups, the same results."""

import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.runners.agent.kit import FakeServer, Runner, marked

pytestmark = pytest.mark.acceptance
NOBODY = 65534


def reachable(path: Path) -> bool:
    """For everybody: root may have cloned the repository into a folder of its own."""
    return all(part.stat().st_mode & 0o001 for part in path.resolve().parents)


@pytest.fixture
def python() -> str:
    """An interpreter that an ordinary user may run, with this repository's packages."""
    if not reachable(Path(__file__)):
        pytest.skip("the repository lies in a folder that an ordinary user cannot reach")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        if os.path.exists(candidate) and reachable(Path(candidate)):
            return candidate
    pytest.skip("no Python interpreter that an ordinary user can reach")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of the ordinary user's own. Not below pytest's, which it keeps from everybody else."""
    with tempfile.TemporaryDirectory(prefix="bencher-runner-test-") as path:
        os.chown(path, NOBODY, NOBODY)
        yield Path(path)


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


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests are this one")
@pytest.mark.parametrize("sandbox", ["bubblewrap", "runc"])
def test_killed_as_an_ordinary_user(server: FakeServer, digest: str, folder: Path, python: str, sandbox: str) -> None:
    """No control group tells what belongs to the dead runner: the process namespace has died with it."""
    mark = f"ordinary-{os.getpid()}-{sandbox}"
    for pause in (0.0, 0.05, 0.1, 0.2, 1.0):
        with Runner(server, folder / "state", "--sandbox", sandbox, user=NOBODY, python=python) as runner:
            server.submit(digest, "/bin/sh", "-c", f": {mark}; (setsid /bin/sh -c ': {mark}; sleep 60' &); sleep 60")
            server.wait(lambda: not server.jobs)
            time.sleep(pause)
            runner.stop(signal.SIGKILL)
            server.wait(lambda: not marked(mark), 10)
