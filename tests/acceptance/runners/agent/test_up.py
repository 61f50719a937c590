"""The main line: a runner process beside a server that hands out jobs."""

from pathlib import Path

import pytest

from tests.acceptance.runners.agent.kit import KEY, TOKEN, FakeServer, Runner
from tests.unit.runners.agent.kit import Blobs, busybox, file

pytestmark = pytest.mark.acceptance


@pytest.fixture(scope="module")
def blobs() -> Blobs:
    return Blobs()


@pytest.fixture(scope="module")
def digest(blobs: Blobs) -> str:
    return str(blobs.image(busybox(file("hello.txt", "hello\n")))["digest"])


def test_a_job_is_run_and_its_output_delivered(blobs: Blobs, digest: str, tmp_path: Path) -> None:
    with FakeServer(blobs) as server, Runner(server, tmp_path / "state") as runner:
        job = server.submit(digest, "/bin/sh", "-c", "cat hello.txt; echo note >&2; echo '{}' > out.json", file_paths=["out.json"])
        result = server.result(job)
        assert result == {
            "event": "completed",
            "job": job,
            "results": [{"exit_code": 0, "stdout": "hello\n", "stderr": "note\n", "output": {"out.json": "{}\n"}}],
        }
        server.wait(lambda: server.events().count("ready") == 2)
        assert server.events() == ["ready", "running", "completed", "ready"]
        assert runner.stop() == 0
        pulls = [headers for path, headers in server.requests if path.startswith("/v2/")]
        assert all(headers["Authorization"] == f"Bearer {TOKEN}" for headers in pulls)
        assert KEY not in runner.text()
        assert TOKEN not in runner.text()
        assert not list((tmp_path / "state/bench-1/runs").iterdir())
        assert not list((tmp_path / "state/bench-1/spool/pending").iterdir())
