"""The runner and this repository's server, both as processes: what neither of the two may lose when the other one dies."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bencher.demo.client import Client
from bencher.demo.image import PROGRAMS, host_files, image, layer
from bencher.demo.processes import Process, Server, runner_process
from bencher.demo.story import EMAIL, prepare, run_body
from tests.acceptance.runners.agent.kit import marked

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(240)]
SLUG = "bench"


class Site:
    """A server with a project, an image and a runner."""

    def __init__(self, folder: Path, held: ExitStack) -> None:
        self.server = Server(folder / "server")
        held.callback(self.server.stop)
        self.server.start()
        self.client = Client(self.server.url, self.server.admin_key(EMAIL), EMAIL)
        held.callback(self.client.close)
        self.spec, runner, key = prepare(self.client, SLUG)
        files = {name: path.read_bytes() for name, path in host_files((*PROGRAMS, "sleep")).items()}
        self.client.push(SLUG, "v1", image(layer(files), command=["/bin/sh"], working_dir="/tmp"))
        self.runner: Process = runner_process(folder / "runner", url=self.server.url, runner=runner, key=key)
        held.callback(self.runner.stop)

    def submit(self, script: str, **job: Any) -> str:
        body = run_body(self.spec, SLUG, **{"iter": 1, "entrypoint": ["/bin/sh"], "cmd": ["-c", script]} | job)
        return str(self.client.call("POST", "/v0/run", body)["job"])

    def job(self, uuid: str) -> dict[str, Any]:
        found: dict[str, Any] = self.client.call("GET", f"/v0/projects/{SLUG}/jobs/{uuid}")
        return found

    def wait(self, uuid: str, *statuses: str, seconds: float = 60) -> dict[str, Any]:
        until = time.monotonic() + seconds
        while (found := self.job(uuid))["status"] not in statuses and time.monotonic() < until:
            assert self.runner.alive(), self.runner.log.read_text()
            time.sleep(0.1)
        assert found["status"] in statuses, f"{found}\n{self.runner.log.read_text()}"
        return found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with ExitStack() as held:
        yield Site(tmp_path_factory.mktemp("site"), held)


METRIC = """echo '{"sort": {"latency": {"value": 1}}}'"""


def test_the_server_is_killed_while_the_job_runs(site: Site) -> None:
    job = site.submit(f"sleep 6; {METRIC}")
    site.wait(job, "running")
    site.server.kill()
    time.sleep(1)
    site.server.start()
    found = site.wait(job, "processed")
    assert found["output"]["results"][0]["exit_code"] == 0
    assert "result delivered" in site.runner.log.read_text()


def test_a_users_cancel_stops_the_benchmark(site: Site) -> None:
    mark = "our-server-cancel"
    job = site.submit(f": {mark}; sleep 50; {METRIC}")
    site.wait(job, "running")
    until = time.monotonic() + 20
    while not marked(mark) and time.monotonic() < until:
        time.sleep(0.05)
    site.client.call("PATCH", f"/v0/projects/{SLUG}/jobs/{job}", {"status": "canceled"})
    until = time.monotonic() + 15
    while marked(mark) and time.monotonic() < until:
        time.sleep(0.05)
    assert not marked(mark)
    site.wait(job, "canceled")
    site.wait(site.submit(METRIC), "processed")


def test_an_oversize_result_is_stored_shortened(site: Site) -> None:
    found = site.wait(site.submit(f"n=0; while [ $n -lt 60000 ]; do echo {'x' * 99}; n=$((n + 1)); done >&2; {METRIC}"), "processed")
    (item,) = found["output"]["results"]
    assert item["stderr"].startswith("…[truncated ")
    assert len(item["stderr"]) > 3_000_000
    assert "sort" in item["stdout"]


def test_a_failing_benchmark_says_why(site: Site) -> None:
    found = site.wait(site.submit("echo half; echo broken >&2; exit 3"), "failed")
    assert found["output"]["error"] == "Benchmark exited with non-zero exit code: 3"
    assert found["output"]["results"] == [{"exit_code": 3, "stdout": "half\n", "stderr": "broken\n"}]
