"""Delivering: every message in every status, repeated, raced, and with a storage or database that fails (protocol.md section 4)."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError

from jobs.lifecycle import DELIVERIES, Keep, Status
from jobs.models import Job, JobEvent
from jobs.output import decode
from jobs.services import terminal
from jobs.services.cancel import cancel_job
from jobs.services.terminal import deliver
from outputs.registry.storage import StorageError, get_job_output, get_storage
from runners.protocol.messages import Canceled, Completed, Failed, IterationOutput
from tests.jobs_world import NOW, history, make_job, make_runner, make_spec

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(seconds=30)
RESULTS = [IterationOutput(exit_code=0, stdout="out", output={"/a": "text"})]


def message(event: str, job: Job, results: list[IterationOutput] | None = None) -> Any:
    results = RESULTS if results is None else results
    match event:
        case "completed":
            return Completed(job=job.pk, results=results)
        case "failed":
            return Failed(job=job.pk, results=results, error="it broke")
    return Canceled(job=job.pk)


def in_status(status: str, **values: Any) -> Job:
    spec = make_spec()
    return make_job(spec=spec, status=status, runner=make_runner(spec), **values)


def columns(job: Job) -> dict[str, Any]:
    return Job.objects.filter(pk=job.pk).values().get()


@pytest.mark.parametrize(("event", "status"), list(product(("completed", "failed", "canceled"), Status)))
def test_every_message_in_every_status(event: str, status: Status) -> None:
    job = in_status(status)
    delivery, before = DELIVERIES[event, status], columns(job)
    deliver(message=message(event, job), runner_id=job.runner_id or uuid4(), now=LATER)
    after = columns(job)
    changed = {name for name in after if after[name] != before[name]}
    if not delivery.actions and delivery.keep is Keep.NEVER:
        assert not changed
        return
    assert [action for (action,) in job.events.order_by("id").values_list("action")] == [action.value for action in delivery.actions]
    stored = delivery.keep is not Keep.NEVER
    assert bool(after["output"]) is stored
    if stored:
        document = decode(get_job_output(job.project_id, job.pk, after["output"]))
        assert (document.results, document.error) == (RESULTS, "it broke" if event == "failed" else None)
    assert after["completed"] == (LATER if delivery.actions else before["completed"])
    assert after["liveness"] == (LATER if status == Status.CLAIMED and event == "completed" else before["liveness"])


@pytest.mark.parametrize("event", ["completed", "failed", "canceled"])
def test_sent_again_nothing_changes(event: str) -> None:
    """Identical and different repetitions: cheap, no second output, no second event."""
    job = in_status("running")
    deliver(message=message(event, job), runner_id=job.runner_id, now=NOW)
    before, events = columns(job), history(job)
    for results in (RESULTS, [IterationOutput(exit_code=9, stdout="other")]):
        deliver(message=message(event, job, results), runner_id=job.runner_id, now=LATER)
    assert (columns(job), history(job)) == (before, events)
    assert len(list(get_storage().list(f"{job.project_id}/output/v0/jobs/{job.pk}"))) == (0 if event == "canceled" else 1)


def test_repetitions_cost_one_query(django_assert_num_queries: Any) -> None:
    job = in_status("running")
    deliver(message=message("completed", job), runner_id=job.runner_id, now=NOW)
    with django_assert_num_queries(1):
        deliver(message=message("completed", job), runner_id=job.runner_id, now=NOW)


@pytest.mark.parametrize("event", ["completed", "failed", "canceled"])
@pytest.mark.parametrize("status", [status for status in Status if status != Status.PENDING])
def test_another_runners_job_is_left_alone(event: str, status: Status) -> None:
    job = in_status(status)
    before = columns(job)
    deliver(message=message(event, job), runner_id=make_runner().pk, now=LATER)
    assert (columns(job), history(job)) == (before, [])


@pytest.mark.parametrize("event", ["completed", "failed", "canceled"])
def test_an_unknown_job_changes_nothing(event: str) -> None:
    job = in_status("running")
    unknown = Job(pk=uuid4())
    deliver(message=message(event, unknown), runner_id=job.runner_id, now=LATER)
    assert history(job) == []


def test_a_result_beats_a_failure() -> None:
    job = in_status("running")
    deliver(message=message("failed", job), runner_id=job.runner_id, now=NOW)
    deliver(message=message("completed", job), runner_id=job.runner_id, now=LATER)
    job.refresh_from_db()
    assert (job.status, job.completed, job.failure) == ("completed", LATER, "")
    assert decode(get_job_output(job.project_id, job.pk, job.output)).error is None


def test_a_failure_after_the_heartbeat_timeout_is_the_runners_own() -> None:
    job = in_status("failed", failure="heartbeat_timeout")
    deliver(message=message("failed", job), runner_id=job.runner_id, now=LATER)
    job.refresh_from_db()
    assert (job.status, job.failure, bool(job.output), job.completed) == ("failed", "", True, NOW)
    first = job.output
    deliver(message=message("failed", job, []), runner_id=job.runner_id, now=LATER)
    job.refresh_from_db()
    assert job.output == first


def test_an_error_with_a_nul_is_taken() -> None:
    """The key of typed results begins with one, so a runner's error may well contain it; PostgreSQL would refuse the whole delivery."""
    job = in_status("running")
    deliver(message=Failed(job=job.pk, results=[], error="cannot read '\0bencher'"), runner_id=job.runner_id, now=LATER)
    job.refresh_from_db()
    assert job.status == "failed"
    assert decode(get_job_output(job.project_id, job.pk, job.output)).error == "cannot read '\0bencher'"
    assert JobEvent.objects.filter(job=job).latest("pk").reason == "cannot read '\N{SYMBOL FOR NULL}bencher'"


def test_lost_running_counts_from_now() -> None:
    job = in_status("claimed")
    deliver(message=message("completed", job), runner_id=job.runner_id, now=LATER)
    job.refresh_from_db()
    assert (job.status, job.started, job.completed) == ("completed", LATER, LATER)
    assert history(job) == [("claimed", "running"), ("running", "completed")]


def test_canceled_while_the_output_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row changes between our look and our lock: it is decided anew, and nothing is overwritten."""
    job, store = in_status("running"), terminal.put_job_output

    def cancel_meanwhile(*args: Any) -> str:
        from jobs.actors import SYSTEM

        cancel_job(job_id=job.pk, actor=SYSTEM, now=NOW)
        return store(*args)

    monkeypatch.setattr(terminal, "put_job_output", cancel_meanwhile)
    deliver(message=message("completed", job), runner_id=job.runner_id, now=LATER)
    job.refresh_from_db()
    assert (job.status, job.completed, bool(job.output)) == ("canceled", NOW, True)
    assert history(job) == [("running", "canceled")]


@pytest.mark.parametrize("other", [False, True], ids=["undone", "another's"])
def test_the_claim_is_undone_while_the_output_is_stored(other: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job is not this runner's any more: the delivery ends, and leaves it alone."""
    job = in_status(Status.CLAIMED)
    runner_id, store = job.runner_id, terminal._store
    assert runner_id is not None
    other_id = make_runner(make_spec()).pk

    def undo_and_store(*args: Any) -> str:
        values = {"runner_id": other_id} if other else {"runner_id": None, "status": Status.PENDING}
        Job.objects.filter(pk=job.pk).update(**values)
        return store(*args)

    monkeypatch.setattr(terminal, "_store", undo_and_store)
    deliver(message=message("completed", job), runner_id=runner_id, now=LATER)
    found = Job.objects.get(pk=job.pk)
    assert (found.status, found.output) == (Status.CLAIMED if other else Status.PENDING, "")


# -- our own faults --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("event", ["completed", "failed"])
def test_a_storage_that_fails_leaves_the_job_as_it_was(event: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> str:
        raise StorageError("read-only")

    job = in_status("running")
    before = columns(job)
    with monkeypatch.context() as fault:
        fault.setattr(terminal, "put_job_output", broken)
        with pytest.raises(StorageError):
            deliver(message=message(event, job), runner_id=job.runner_id, now=LATER)
    assert (columns(job), history(job)) == (before, [])
    deliver(message=message(event, job), runner_id=job.runner_id, now=LATER)
    job.refresh_from_db()
    assert job.status == event


def test_a_database_that_fails_leaves_the_job_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of two transitions fails: neither is there, and no event."""
    job, calls = in_status("claimed"), []

    def failing(*args: Any, **values: Any) -> bool:
        calls.append(args)
        if len(calls) == 2:
            raise OperationalError("the connection is gone")
        return terminal_transit(*args, **values)

    terminal_transit = terminal.transit
    before = columns(job)
    monkeypatch.setattr(terminal, "transit", failing)
    with pytest.raises(OperationalError):
        deliver(message=message("completed", job), runner_id=job.runner_id, now=LATER)
    assert (columns(job), history(job)) == (before, [])


def test_results_are_handed_out_after_the_commit(monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any) -> None:
    handed: list[Any] = []
    monkeypatch.setattr("jobs.notify.process", handed.append)
    job = in_status("running")
    with django_capture_on_commit_callbacks(execute=True):
        deliver(message=message("completed", job), runner_id=job.runner_id, now=LATER)
        assert handed == []
    assert handed == [job.pk]
