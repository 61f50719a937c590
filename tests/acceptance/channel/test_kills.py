"""kill -9 and SIGSTOP of the site's own processes, at every point at which it matters (recovery.md sections 3, 4 and 5)."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from websockets.exceptions import ConnectionClosed

from tests.acceptance.channel.door import Trap
from tests.acceptance.channel.site import BMF, HT, Line, Production, World, completed, signal_all, until

pytestmark = [pytest.mark.acceptance, pytest.mark.postgres, pytest.mark.enable_socket, pytest.mark.timeout(300)]
DONE = ["submit", "claim", "start", "complete", "process"]


def metrics(production: Production, job: str) -> int:
    """Rows in the job's report: one when its results were stored once."""
    query = "SELECT count(*) FROM outputs_metric JOIN jobs_job USING (report_id) WHERE jobs_job.id = %s"
    return int(production.ask(query, job)[0][0])


def returned(world: World, runner: tuple[str, str], job: str, node: int) -> None:
    """The runner is back on another process and delivers again."""
    assert world.connect(runner, node).ask(completed(job, BMF)) == {"event": "ack", "job": job}
    until(lambda: world.status(job, node) == "processed", 60, "it is processed")


@contextmanager
def held(production: Production, statement: str, *values: Any) -> Iterator[None]:
    """Whoever needs what ``statement`` locks has to wait."""
    with psycopg.connect(production.direct_url) as connection:
        connection.execute(statement, values)  # type: ignore[arg-type]
        yield
        connection.rollback()


# -- the web process -----------------------------------------------------------------------------------------------
def test_web_killed_while_the_runner_executes(production: Production, world: World) -> None:
    """The runner comes back on the other process, resumes and delivers; a canceled one is told so there; a claimed one starts there."""
    _, job, runner = world.executing(node=1)
    _, canceled, second = world.executing(node=1)
    claimed, third = world.submit(), world.runner()
    assert world.connect(third, node=1).ask({"event": "ready", "poll_timeout": 20})["uuid"] == claimed
    production.kill("web1")
    world.call("PATCH", f"/v0/projects/{world.project}/jobs/{canceled}", {"status": "canceled"})
    back = world.connect(runner, node=0)
    assert back.ask({"event": "heartbeat"}) == {"event": "ack", "job": job}
    assert back.beat() == {"event": "ack"}
    assert world.connect(second, node=0).ask({"event": "heartbeat"}) == {"event": "cancel"}
    assert world.connect(third, node=0).ask({"event": "running"}) == {"event": "ack", "job": claimed}
    assert world.status(claimed) == "running"
    assert back.ask(completed(job, BMF)) == {"event": "ack", "job": job}
    until(lambda: world.status(job) == "processed", 60, "it is processed")
    assert world.actions(job) == DONE


def test_web_killed_after_the_output_is_stored(production: Production, world: World) -> None:
    line, job, runner = world.executing(node=1)
    with held(production, "SELECT 1 FROM jobs_job WHERE id = %s FOR UPDATE", job):
        line.send(completed(job, BMF))
        until(lambda: list((production.folder / "storage").rglob(f"*{job}*/*")), 10, "the output is stored")
        production.kill("web1")
    assert world.status(job) == "running"
    returned(world, runner, job, node=0)
    assert world.actions(job) == DONE
    assert metrics(production, job) == 1


@pytest.mark.parametrize("processed", [False, True])
def test_web_killed_after_the_commit(production: Production, world: World, processed: bool) -> None:
    """Its commit arrives, the news of it never does: no ack. Resent at once, or after the sweep had the result processed."""
    line, job, runner = world.executing(node=1)
    trap = production.database.trap = Trap(b'UPDATE "jobs_job" SET', b"COMMIT")
    line.send(completed(job, BMF))
    assert trap.caught.wait(10)
    until(lambda: world.status(job) in ("completed", "processed"), 10, "it is committed")
    if processed:
        until(lambda: world.status(job) == "processed", 60, "the sweep finds it")
    assert line.silent(0.2)
    production.kill("web1")
    returned(world, runner, job, node=0)
    assert world.actions(job) == DONE
    assert metrics(production, job) == 1


def test_web_frozen(production: Production, world: World) -> None:
    """SIGSTOP: new work goes to the other process; its runners come back there, or time out; thawed, it does no harm."""
    _, moved, runner = world.executing(node=1)
    stuck, silent, _ = world.executing(node=1)
    polling = world.connect(world.runner(), node=1)
    polling.send({"event": "ready", "poll_timeout": 100})
    frozen = production.processes["web1"]
    signal_all(frozen, signal.SIGSTOP)
    try:
        back = world.connect(runner, node=0)
        assert back.ask({"event": "running"}) == {"event": "ack", "job": moved}
        new, other = world.submit(), world.connect(world.runner(), node=0)
        assert other.ask({"event": "ready", "poll_timeout": 20})["uuid"] == new
        other.ask({"event": "running"})

        def failed() -> bool:
            assert [back.beat(), other.beat()] == [{"event": "ack"}] * 2
            return world.status(silent) == "failed"

        until(failed, 2 * HT + 10, "the job of the frozen process fails")
    finally:
        signal_all(frozen, signal.SIGCONT)
    thawed = world.submit(node=1)
    assert polling.hear(20)["uuid"] == thawed
    assert stuck_end(stuck) == (1000, '"heartbeat_timeout"')
    assert [back.beat(), other.beat()] == [{"event": "ack"}] * 2
    for line, job in ((back, moved), (other, new)):
        assert line.ask(completed(job, BMF)) == {"event": "ack", "job": job}
        until(lambda job=job: world.status(job) == "processed", 60, "it is processed")
        assert world.actions(job) == DONE


def stuck_end(line: Line) -> tuple[int | None, str]:
    with pytest.raises(ConnectionClosed) as closed:
        line.hear(20)
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code, closed.value.rcvd.reason


# -- the worker and the beat ---------------------------------------------------------------------------------------
def test_worker_killed_after_the_ack(production: Production, world: World) -> None:
    """Stored and acknowledged, and nobody there to parse it: the next worker does."""
    line, job, _ = world.executing()
    production.kill("worker")
    assert line.ask(completed(job, BMF)) == {"event": "ack", "job": job}
    assert world.status(job) == "completed"
    production.run("worker")
    until(lambda: world.status(job) == "processed", 60, "it is processed")
    assert metrics(production, job) == 1


def test_worker_killed_while_it_writes(production: Production, world: World) -> None:
    """Half of the results are written, nothing is committed: the next worker takes over when the lease has run out, and writes them once."""
    line, job, _ = world.executing()
    with held(production, "LOCK TABLE outputs_metric IN SHARE MODE"):
        assert line.ask(completed(job, BMF)) == {"event": "ack", "job": job}
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'INSERT INTO%%'"
        until(lambda: production.ask(waiting)[0][0] == 1, 20, "the worker writes")
        production.kill("worker")
    assert world.status(job) == "completed"
    assert metrics(production, job) == 0
    production.run("worker")
    until(lambda: world.status(job) == "processed", 60, "it is processed")
    assert metrics(production, job) == 1
    assert world.actions(job) == DONE


def test_worker_killed_after_it_has_committed(production: Production, world: World) -> None:
    """Its commit arrives, the news of it never does: the message goes unacknowledged and comes again. The results are there once."""
    line, job, _ = world.executing()
    trap = production.database.trap = Trap(b'INSERT INTO "outputs_metric"', b"COMMIT")
    assert line.ask(completed(job, BMF)) == {"event": "ack", "job": job}
    assert trap.caught.wait(20)
    until(lambda: world.status(job) == "processed", 20, "it is committed")
    stored = production.ask("SELECT outputs_metric.id FROM outputs_metric JOIN jobs_job USING (report_id) WHERE jobs_job.id = %s", job)
    production.kill("worker")
    production.run("worker")
    other, second, _ = world.executing()
    for message in (job, job, second):
        production.python("from jobs.tasks import process_job", f"process_job.delay({message!r})")
    assert other.ask(completed(second, BMF)) == {"event": "ack", "job": second}
    until(lambda: world.status(second) == "processed", 60, "the new worker has done what lay before it")
    assert world.actions(job) == DONE
    assert (
        production.ask("SELECT outputs_metric.id FROM outputs_metric JOIN jobs_job USING (report_id) WHERE jobs_job.id = %s", job) == stored
    )
    assert metrics(production, job) == 1


def test_beat_killed_and_doubled(production: Production, world: World) -> None:
    """Two beats, one of which is killed: a silent job fails once."""
    production.run("beat2")
    production.kill("beat")
    line, job, _ = world.executing()
    line.drop()
    until(lambda: world.status(job) == "failed", 60, "the silent job fails")
    assert world.actions(job) == ["submit", "claim", "start", "lose"]


# -- all of it -----------------------------------------------------------------------------------------------------
def test_power_cut(production: Production, world: World) -> None:
    """Everything is killed at once, with a job in every state: each goes on as if nothing had happened, none is done twice."""
    _, running, runner = world.executing(node=0)
    claimed, second = world.submit(), world.runner()
    assert world.connect(second, node=1).ask({"event": "ready", "poll_timeout": 20})["uuid"] == claimed
    production.kill("worker")
    line, delivered, _ = world.executing(node=1)
    assert line.ask(completed(delivered, BMF)) == {"event": "ack", "job": delivered}
    pending, canceled = world.submit(), world.submit()
    world.call("PATCH", f"/v0/projects/{world.project}/jobs/{canceled}", {"status": "canceled"})
    production.kill("web0", "web1", "beat")
    production.mend()
    back = world.connect(runner, node=1)
    assert back.ask({"event": "heartbeat"}) == {"event": "ack", "job": running}
    assert world.connect(second, node=0).ask({"event": "running"}) == {"event": "ack", "job": claimed}
    assert world.connect(world.runner(), node=0).ask({"event": "ready", "poll_timeout": 20})["uuid"] == pending
    until(lambda: world.status(delivered) == "processed", 60, "what was delivered is processed")
    assert [world.status(job) for job in (running, claimed, pending, canceled)] == ["running", "running", "claimed", "canceled"]
    assert back.ask(completed(running, BMF)) == {"event": "ack", "job": running}
    until(lambda: world.status(running) == "processed", 60, "it is processed")
    assert [world.actions(running), world.actions(delivered)] == [DONE, DONE]
    assert [metrics(production, running), metrics(production, delivered)] == [1, 1]
