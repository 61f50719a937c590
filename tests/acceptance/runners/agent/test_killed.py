"""A runner killed with SIGKILL at random moments: no job without an end, no result lost or changed, nothing left on the machine."""

import hashlib
import os
import random
import signal
import time
from pathlib import Path

import pytest

from runners.agent.cgroups import FOLDER
from tests.acceptance.runners.agent.kit import FakeServer, Runner, marked

pytestmark = pytest.mark.acceptance

JOBS = int(os.environ.get("BENCHER_TEST_KILLS", "6"))
"""Fifty in the long version."""

SECONDS = 0.9


def own_groups(state: Path) -> list[Path]:
    """Control groups of the runner of that state folder: others may be at work on this machine."""
    owner = hashlib.sha256(os.fsencode((state / "bench-1").resolve())).hexdigest()[:12]
    return [path for path in Path("/sys/fs/cgroup").rglob(f"{FOLDER}/{owner}-*") if path.is_dir()]


@pytest.mark.timeout(60 + 20 * JOBS)
def test_killed_at_random_moments(server: FakeServer, digest: str, state: Path) -> None:
    rng = random.Random(JOBS)
    mounts = Path("/proc/self/mountinfo").read_text()
    mark = f"mark-{os.getpid()}-{rng.random()}"
    script = f": {mark}; sleep {SECONDS} & sleep {SECONDS}; echo out-$JOB"
    runner = Runner(server, state)
    jobs: dict[str, str] = {}
    try:
        for number in range(JOBS):
            job = server.submit(digest, "/bin/sh", "-c", script, env={"JOB": str(number)})
            jobs[job] = f"out-{number}\n"
            server.wait(lambda: not server.jobs)
            time.sleep(rng.uniform(0, SECONDS + 0.6))
            runner.stop(signal.SIGKILL)
            runner.close()
            server.wait(lambda: not marked(mark), 10)
            runner = Runner(server, state)
        # a job whose `running` never left is one that the runner did not know of
        jobs = {job: text for job, text in jobs.items() if job in server.begun}
        assert len(jobs) > JOBS / 2
        for job in jobs:
            server.result(job)
        assert runner.stop() == 0
    finally:
        runner.stop(signal.SIGKILL)
        runner.close()
    outcomes = [server.results[job] for job in jobs]
    for expected, told in zip(jobs.values(), outcomes, strict=True):
        assert all(message == told[0] for message in told), "one job, two different ends"
        if told[0]["event"] == "completed":
            assert told[0]["results"] == [{"exit_code": 0, "stdout": expected}]
        else:
            assert told[0]["event"] == "failed"
            assert told[0]["error"].startswith("RunnerCrash: ")
    assert not marked(mark)
    assert not own_groups(state)
    assert Path("/proc/self/mountinfo").read_text() == mounts
    assert not list((state / "bench-1/runs").iterdir())
    for folder in ("active", "pending", "dead-letter"):
        assert not list((state / "bench-1/spool" / folder).iterdir())


def test_finished_iterations_survive_the_runner(server: FakeServer, digest: str, state: Path) -> None:
    with Runner(server, state) as runner:
        job = server.submit(digest, "/bin/sh", "-c", 'echo one; test -z "$AGAIN" || sleep 30; sleep 0.5', iter=50)
        server.wait(lambda: server.events().count("heartbeat") >= 2)
        runner.stop(signal.SIGKILL)
    with Runner(server, state):
        result = server.result(job)
        assert result["event"] == "failed"
        assert len(result["results"]) >= 1
        assert set(map(str, result["results"])) == {"{'exit_code': 0, 'stdout': 'one\\n'}"}


def test_a_result_on_disk_is_delivered_before_anything_else(server: FakeServer, digest: str, state: Path) -> None:
    """G4, G9: killed between the end of the job and the ack."""
    server.on_terminal = lambda _: "silent"
    with Runner(server, state) as runner:
        job = server.submit(digest, "/bin/sh", "-c", "echo kept")
        server.wait(lambda: "completed" in server.events())
        runner.stop(signal.SIGKILL)
    server.on_terminal = lambda _: "ack"
    with Runner(server, state):
        assert server.result(job)["results"] == [{"exit_code": 0, "stdout": "kept\n"}]
        server.wait(lambda: server.events(2)[-1] == "ready")
        assert server.events(2) == ["completed", "ready"]


def test_on_the_host_too_nothing_survives(server: FakeServer, digest: str, state: Path) -> None:
    """Without a sandbox: a daemon that left its session is found by the next start."""
    mark = f"host-{os.getpid()}-{random.random()}"
    with Runner(server, state, "--danger-allow-no-sandbox") as runner:
        server.submit(digest, "/bin/sh", "-c", f"(setsid /bin/sh -c ': {mark}; sleep 60' &) ; : {mark}; sleep 60; true")
        server.wait(lambda: len(marked(mark)) >= 2)
        runner.stop(signal.SIGKILL)
    with Runner(server, state, "--danger-allow-no-sandbox"):
        server.wait(lambda: not marked(mark), 10)
