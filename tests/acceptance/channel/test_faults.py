"""Faults that must be survived with nothing lost (recovery.md section 5), on two web processes, PostgreSQL and Redis."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.channel.site import HT, Line, Production, World, completed, stop_process, until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.postgres,
    pytest.mark.enable_socket,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        not (os.environ.get("DATABASE_URL", "").startswith("postgres") and os.environ.get("REDIS_URL")),
        reason="DATABASE_URL and REDIS_URL name no PostgreSQL and Redis",
    ),
]
BMF = '{"b":{"latency":{"value":1}}}'


@pytest.fixture(scope="module")
def production(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Production]:
    site = Production(tmp_path_factory.mktemp("production"))
    try:
        yield site.start()
    finally:
        site.close()


@pytest.fixture(scope="module")
def world(production: Production) -> World:
    return World(production)


class Beating:
    """Beats on many lines until told to stop; ``heard``: what came back that was no bare ack."""

    def __init__(self) -> None:
        self.lines, self.odd, self._on = list[Line](), list[object](), True
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        while self._on:
            began = time.monotonic()
            for line in list(self.lines):
                try:
                    if (heard := line.beat()) != {"event": "ack"}:
                        self.odd.append(heard)
                except Exception as fault:
                    self.odd.append(fault)
            time.sleep(max(0.0, began + 1 - time.monotonic()))

    def stop(self) -> list[object]:
        self._on = False
        self._thread.join(60)
        return self.odd


def executing(world: World, number: int, beating: Beating) -> tuple[list[Line], list[str]]:
    """So many runners that execute and beat, on both processes."""
    lines, jobs = [], []
    for node in range(number):
        line, job, _ = world.executing(node=node % 2)
        beating.lines.append(line)
        lines.append(line)
        jobs.append(job)
    return lines, jobs


def deliver_all(world: World, lines: list[Line], jobs: list[str]) -> None:
    for line, job in zip(lines, jobs, strict=True):
        assert line.ask(completed(job, BMF)) == {"event": "ack", "job": job}
    for job in jobs:
        until(lambda job=job: world.status(job) == "processed", 60, f"job {job} is processed")


def test_redis_gone(production: Production, world: World) -> None:
    """For longer than the heartbeat timeout, with executing runners on both processes: no disconnect, no failed job; results are taken meanwhile."""
    beating = Beating()
    lines, jobs = executing(world, 8, beating)
    polling = world.connect(world.runner(), node=1)
    polling.send({"event": "ready", "poll_timeout": 60})
    production.redis.shut()
    try:
        time.sleep(1)
        late = world.submit(node=0)
        assert polling.hear(20)["uuid"] == late  # the wake-up is lost, the poll finds it
        beating.lines.append(polling)
        time.sleep(2 * HT)
    finally:
        production.redis.open()
    assert beating.stop() == []
    assert {world.status(job) for job in jobs} == {"running"}
    assert polling.ask({"event": "failed", "job": late, "results": [], "error": "x"}) == {"event": "ack", "job": late}
    deliver_all(world, lines, jobs)
    for line in [*lines, polling]:
        line.close()


def test_database_restarted_under_load(production: Production, world: World) -> None:
    """Connections are cut and refused for some seconds: heartbeats are answered all the while, a result is not acknowledged before it is stored."""
    beating = Beating()
    first, job, _ = world.executing()
    lines, jobs = executing(world, 3, beating)
    production.database.shut()
    try:
        time.sleep(0.5)
        first.send(completed(job, BMF))
        assert first.silent(2)
    finally:
        production.database.open()
    until(lambda: world.http.get(world.urls[0] + "/readyz").status_code == 200, 60, "the database is back")
    assert first.ask(completed(job, BMF)) == {"event": "ack", "job": job}
    time.sleep(2)
    assert beating.stop() == []
    deliver_all(world, [first, *lines], [job, *jobs])
    for line in [first, *lines]:
        line.close()


def test_storage_gone(production: Production, world: World) -> None:
    """The folder cannot be written: no ack, the job stays; repaired, the same message is acknowledged."""
    line, job, _ = world.executing()
    folder = Path(production.folder) / "storage"
    folder.mkdir(exist_ok=True)
    folder.rename(folder.with_name("away"))
    folder.touch()  # a file where the folder was: fails for root, too
    try:
        line.send(completed(job, BMF))
        assert line.silent(2)
        assert world.status(job) == "running"
        assert line.beat() == {"event": "ack"}
    finally:
        folder.unlink()
        folder.with_name("away").rename(folder)
    assert line.ask(completed(job, BMF)) == {"event": "ack", "job": job}
    until(lambda: world.status(job) == "processed", 60, "it is processed")
    line.close()


def test_worker_killed_after_the_ack(production: Production, world: World) -> None:
    """Stored and acknowledged, and nobody there to parse it: the next worker does."""
    line, job, _ = world.executing()
    stop_process(production.processes["worker"])
    production.processes["worker"].popen.wait()
    assert line.ask(completed(job, BMF)) == {"event": "ack", "job": job}
    assert world.status(job) == "completed"
    production.processes["worker"] = production._run("worker", "-m", "celery", "-A", "bencher", "worker", "--concurrency", "1")
    until(lambda: world.status(job) == "processed", 120, "it is processed")
    line.close()


def test_beat_killed_and_doubled(production: Production, world: World) -> None:
    """Two beats, one of which is killed: a silent job fails once."""
    second = production._run("beat2", "-m", "celery", "-A", "bencher", "beat", "--schedule", str(production.folder / "beat2.db"))
    stop_process(production.processes["beat"])
    production.processes["beat"].popen.wait()
    line, job, _ = world.executing()
    line.drop()
    until(lambda: world.status(job) == "failed", 60, "the silent job fails")
    events = world.call("GET", f"/v0/projects/{world.project}/jobs/{job}/events?per_page=255")
    assert [event["action"] for event in events] == ["submit", "claim", "start", "lose"]
    production.processes["beat"] = second


def test_runner_frozen_past_the_timeout(world: World) -> None:
    """Like a SIGSTOP: the channel ends with its reason, the job fails; thawed, the runner delivers, and the result counts."""
    line, job, runner = world.executing(node=1)
    assert line.end(3 * HT + 10) == (1000, '"heartbeat_timeout"')
    until(lambda: world.status(job) == "failed", 20, "the job fails")
    back = world.connect(runner, node=0)
    assert back.ask(completed(job, BMF)) == {"event": "ack", "job": job}
    until(lambda: world.status(job) == "processed", 60, "the late result counts")
    back.close()


def test_web_process_killed(production: Production, world: World) -> None:
    """The runner comes back on the other process, resumes and delivers; a canceled one is told so there."""
    line, job, runner = world.executing(node=1)
    other, canceled, second = world.executing(node=1)
    stop_process(production.processes["web1"], signal.SIGKILL)
    world.call("PATCH", f"/v0/projects/{world.project}/jobs/{canceled}", {"status": "canceled"})
    back = world.connect(runner, node=0)
    assert back.ask({"event": "heartbeat"}) == {"event": "ack", "job": job}
    assert back.beat() == {"event": "ack"}
    assert back.ask(completed(job, BMF)) == {"event": "ack", "job": job}
    told = world.connect(second, node=0)
    assert told.ask({"event": "heartbeat"}) == {"event": "cancel"}
    until(lambda: world.status(job) == "processed", 60, "it is processed")
    for one in (line, other, back, told):
        one.close()
