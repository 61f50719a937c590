"""Services that fail: faults that must be survived with nothing lost (recovery.md section 5), on two web processes, PostgreSQL and Redis."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.acceptance.channel.site import BMF, HT, Beating, Production, World, completed, deliver_all, executing, until

pytestmark = [pytest.mark.acceptance, pytest.mark.postgres, pytest.mark.enable_socket, pytest.mark.timeout(300)]


def test_redis_gone(production: Production, world: World, beating: Beating) -> None:
    """For 30 s with 50 runners on both processes: none is disconnected, no job fails or waits, results are taken meanwhile and read afterwards."""
    lines, jobs = executing(world, 49, beating)
    polling = world.connect(world.runner(), node=1)
    polling.send({"event": "ready", "poll_timeout": 60})
    production.redis.shut()
    try:
        began = time.monotonic()
        time.sleep(1)
        late = world.submit(node=0)
        assert polling.hear(10)["uuid"] == late  # the wake-up is lost, the poll finds it
        beating.lines.append(polling)
        time.sleep(20)
        beating.leave(lines[0])
        assert lines[0].ask(completed(jobs[0], BMF)) == {"event": "ack", "job": jobs[0]}
        time.sleep(max(0.0, began + 30 - time.monotonic()))
    finally:
        production.redis.open()
    time.sleep(2)
    assert {world.status(job) for job in jobs[1:]} == {"running"}
    beating.leave(polling)
    assert polling.ask({"event": "failed", "job": late, "results": [], "error": "x"}) == {"event": "ack", "job": late}
    deliver_all(world, lines[1:], jobs[1:], beating)
    assert beating.stop() == []
    for job in jobs:
        assert world.actions(job) == ["submit", "claim", "start", "complete", "process"]


def test_database_restarted_under_load(production: Production, world: World, beating: Beating) -> None:
    """Connections are cut and refused for some seconds: heartbeats are answered all the while, a result is not acknowledged before it is stored."""
    lines, jobs = executing(world, 3, beating)
    first, job, _ = world.executing()
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
    deliver_all(world, lines, jobs, beating)
    assert beating.stop() == []
    until(lambda: world.status(job) == "processed", 60, "it is processed")


def test_database_gone_for_longer_than_the_timeout(production: Production, world: World, beating: Beating) -> None:
    """Nobody could write that the runners are alive: the first sweep afterwards fails none of them. One that is silent fails."""
    lines, jobs = executing(world, 4, beating)
    mute, lost, _ = world.executing()
    production.database.shut()
    try:
        mute.drop()
        time.sleep(HT + 8)
    finally:
        production.database.open()
    back = time.monotonic()
    until(lambda: world.reads(lost) is not None, 8, "it is reached again")
    assert time.monotonic() - back < 8
    until(lambda: world.reads(lost) == "failed", 60, "the silent job fails")
    assert [world.status(job) for job in jobs] == ["running"] * 4
    deliver_all(world, lines, jobs, beating)
    assert beating.stop() == []
    for job in jobs:
        assert world.actions(job) == ["submit", "claim", "start", "complete", "process"]


def test_one_web_process_cut_off_from_the_database(production: Production, world: World, beating: Beating) -> None:
    """The others see none of its heartbeats and give its jobs up; when it is back they go on, since their runners were heard all the while."""
    production.kill("web1", "worker")
    production.run("web1", DATABASE_URL=production.direct_url)
    production.run("worker", DATABASE_URL=production.direct_url)
    production.mend()
    lines = []
    for _ in range(3):
        line, job, _ = world.executing(node=0)
        lines.append((line, job))
        beating.lines.append(line)
    production.database.shut()
    try:
        until(lambda: {world.reads(job, node=1) for _, job in lines} == {"failed"}, 3 * HT + 30, "the others give the jobs up")
    finally:
        production.database.open()
    until(lambda: {world.status(job, node=1) for _, job in lines} == {"running"}, 20, "they go on")
    deliver_all(world, [line for line, _ in lines], [job for _, job in lines], beating)
    assert beating.stop() == []
    for _, job in lines:
        assert world.actions(job) == ["submit", "claim", "start", "lose", "resume", "complete", "process"]
    production.kill("web1", "worker")  # the next test gets them as they were


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


def test_runner_frozen_past_the_timeout(world: World) -> None:
    """Like a SIGSTOP: the channel ends with its reason, the job fails; thawed, the runner delivers, and the result counts."""
    line, job, runner = world.executing(node=1)
    assert line.end(3 * HT + 10) == (1000, '"heartbeat_timeout"')
    until(lambda: world.status(job) == "failed", 20, "the job fails")
    back = world.connect(runner, node=0)
    assert back.ask(completed(job, BMF)) == {"event": "ack", "job": job}
    until(lambda: world.status(job) == "processed", 60, "the late result counts")


SET_BACK = """
import datetime, time_machine
time_machine.travel(datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=2), tick=True).start()
"""


def test_clock_set_back_two_days(production: Production, world: World, beating: Beating, tmp_path: Path) -> None:
    """On a node with a web process and the beat: no live job is reaped, silent ones are, on either node; what is stored has the right time."""
    (tmp_path / "sitecustomize.py").write_text(SET_BACK)
    node = ("web1", "beat")
    production.kill(*node)
    for name in node:
        production.run(name, PYTHONPATH=os.pathsep.join([str(tmp_path), production.env["PYTHONPATH"]]))
    production.mend()
    lines, jobs = executing(world, 4, beating)
    assert production.processes["web1"].log.read_text().splitlines()[-1] < str(datetime.now(UTC) - timedelta(days=1))
    silent = [world.executing(node=0), world.executing(node=1)]
    for line, _, _ in silent:
        line.drop()
    for _, job, _ in silent:
        until(lambda job=job: world.status(job) == "failed", HT + 20, "the silent job fails")
    assert [world.status(job, node=1) for job in jobs] == ["running"] * 4
    new = world.submit(node=1)
    deliver_all(world, lines, jobs, beating)
    assert beating.stop() == []
    for job, stamp in ((new, "created"), (jobs[0], "started"), (jobs[1], "started"), (jobs[1], "completed")):
        at = world.call("GET", f"/v0/projects/{world.project}/jobs/{job}", node=1)[stamp]
        assert abs(datetime.now(UTC) - datetime.fromisoformat(at)) < timedelta(minutes=2)
    assert world.http.get(world.urls[1] + "/readyz").json() == world.http.get(world.urls[0] + "/readyz").json()
    production.kill(*node)
