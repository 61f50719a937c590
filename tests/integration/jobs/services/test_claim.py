"""Claiming: order, specs, limits, quarantine, undoing (protocol.md sections 3 and 8)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import jwt
import pytest

from bencher.projects.models import Organization
from jobs.models import Job
from jobs.services.claim import claim, undo, waiting_work
from outputs.registry.storage import StorageError, get_job_output
from tests.jobs_world import NOW, history, make_job, make_project, make_runner, make_spec

pytestmark = pytest.mark.django_db
SECOND = timedelta(seconds=1)


def taken(runner: Any, now: Any = NOW) -> UUID | None:
    message = claim(runner_id=runner.pk, channel="c", now=now).message
    return message.uuid if message else None


# -- what a claim leaves ---------------------------------------------------------------------------------------------
def test_stamps_and_message() -> None:
    spec = make_spec(sandbox="firecracker", cpu=3)
    runner, job = make_runner(spec), make_job(spec=spec, created=NOW - SECOND)
    message = claim(runner_id=runner.pk, channel="c1", now=NOW).message
    assert message is not None
    job.refresh_from_db()
    assert (job.status, job.runner_id, job.channel, job.claimed, job.liveness, job.started) == ("claimed", runner.pk, "c1", NOW, NOW, None)
    assert history(job) == [("pending", "claimed")]
    assert (message.uuid, message.timeout, message.config.timeout, message.spec.cpu, message.spec.sandbox) == (
        job.pk,
        60,
        60,
        3,
        "firecracker",
    )
    assert message.created == NOW - SECOND


def test_the_token_is_this_runners_and_nowhere_else() -> None:
    spec = make_spec()
    runner, job = make_runner(spec), make_job(spec=spec)
    message = claim(runner_id=runner.pk, channel="c", now=NOW).message
    assert message is not None
    claims = jwt.decode(message.oci_token, options={"verify_signature": False})
    assert (claims["aud"], claims["sub"], claims["exp"] - claims["iat"]) == ("oci_runner", str(runner.pk), 600)
    assert claims["oci"] == {"repository": str(job.project_id), "actions": ["pull"]}
    assert not [row for row in Job.objects.values() if message.oci_token in str(row)]


# -- which one -----------------------------------------------------------------------------------------------------
def test_order_priority_then_age_then_id() -> None:
    spec = make_spec()
    runner, project = make_runner(spec), make_project(claimed=True)
    late = make_job(spec=spec, project=project, created=NOW + SECOND)
    twins = [make_job(spec=spec, project=project, created=NOW) for _ in range(2)]
    urgent = make_job(spec=spec, project=project, created=NOW + 5 * SECOND, priority=200)
    nobodys = make_job(spec=spec, project=project, created=NOW - SECOND, priority=0)
    order = [taken(runner) for _ in range(6)]
    assert order == [urgent.pk, *sorted(job.pk for job in twins), late.pk, nobodys.pk, None]


def test_only_specs_of_the_runner_read_anew() -> None:
    spec, other = make_spec(), make_spec()
    runner, job = make_runner(other), make_job(spec=spec)
    result = claim(runner_id=runner.pk, channel="c", now=NOW)
    assert (result.message, result.specs) == (None, {other.pk})
    runner.runner_specs.create(spec=spec, created=NOW)
    assert taken(runner) == job.pk


def test_archived_runner_and_deleted_project_get_nothing() -> None:
    spec = make_spec()
    runner = make_runner(spec)
    job = make_job(spec=spec)
    job.project.deleted = NOW
    job.project.save()
    assert taken(runner) is None
    make_job(spec=spec)
    runner.archived = NOW
    runner.save()
    result = claim(runner_id=runner.pk, channel="c", now=NOW)
    assert (result.message, result.specs) == (None, frozenset())


@pytest.mark.parametrize("status", ["claimed", "running", "completed", "processed", "failed", "canceled"])
def test_only_pending_jobs(status: str) -> None:
    spec = make_spec()
    runner = make_runner(spec)
    make_job(spec=spec, status=status, runner=runner)
    assert taken(runner) is None


# -- quarantine ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("config", ['{"registry":"https://registry.example"}', "not json", "null", "[]", ""])
def test_undecodable_config_fails_and_the_next_is_tried(config: str) -> None:
    spec = make_spec()
    runner = make_runner(spec)
    bad, good = make_job(spec=spec, config=config or "{}"), make_job(spec=spec, created=NOW + SECOND)
    assert taken(runner) == good.pk
    bad.refresh_from_db()
    assert (bad.status, bad.failure, bad.completed) == ("failed", "undecodable_config", NOW)
    assert history(bad) == [("pending", "claimed"), ("claimed", "failed")]
    assert b"cannot be decoded" in get_job_output(bad.project_id, bad.pk, bad.output)


def test_quarantine_needs_no_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> str:
        raise StorageError("full")

    monkeypatch.setattr("jobs.services.claim.put_job_output", broken)
    spec = make_spec()
    bad = make_job(spec=spec, config="{}")
    assert taken(make_runner(spec)) is None
    bad.refresh_from_db()
    assert (bad.status, bad.output) == ("failed", "")


# -- undoing -------------------------------------------------------------------------------------------------------
def test_undo() -> None:
    spec = make_spec()
    runner, job = make_runner(spec), make_job(spec=spec)
    assert taken(runner) == job.pk
    assert undo(job_id=job.pk, runner_id=runner.pk, channel="c", now=NOW)
    job.refresh_from_db()
    assert (job.status, job.runner_id, job.claimed, job.liveness, job.channel) == ("pending", None, None, None, "")
    assert taken(runner) == job.pk


@pytest.mark.parametrize("change", [{"channel": "other"}, {"status": "running"}, {"status": "canceled"}])
def test_undo_leaves_alone_what_has_moved_on(change: dict[str, str]) -> None:
    spec = make_spec()
    runner, job = make_runner(spec), make_job(spec=spec)
    taken(runner)
    Job.objects.filter(pk=job.pk).update(**change)
    before = Job.objects.filter(pk=job.pk).values().get()
    assert not undo(job_id=job.pk, runner_id=runner.pk, channel="c", now=NOW)
    assert Job.objects.filter(pk=job.pk).values().get() == before


# -- limits --------------------------------------------------------------------------------------------------------
@pytest.fixture
def limits(settings: Any) -> None:
    settings.BENCHER_TIER_LIMITS = True


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize("status", ["claimed", "running"])
@pytest.mark.parametrize(
    ("organization", "same_address", "blocked"),
    [
        ({"priority": 100}, False, True),
        ({"priority": 199}, False, True),
        ({"priority": 200}, True, False),
        ({"claimed": False}, True, True),
        ({"claimed": False}, False, False),
        ({"priority": 50}, True, True),
    ],
)
def test_one_at_a_time(status: str, organization: dict[str, Any], same_address: bool, blocked: bool) -> None:
    """Below plus: one job in flight per organization; nobody's: one per source address. Of the limit, not of the job's own priority."""
    spec = make_spec()
    runner, project = make_runner(spec), make_project(**{"claimed": True, **organization})
    make_job(spec=spec, project=project, status=status, runner=runner, source_ip="10.0.0.1")
    waiting = make_job(spec=spec, project=project, source_ip="10.0.0.1" if same_address else "10.0.0.2", priority=1000)
    assert taken(runner) == (None if blocked else waiting.pk)


@pytest.mark.usefixtures("limits")
def test_blocked_jobs_are_skipped() -> None:
    spec = make_spec()
    runner, project = make_runner(spec), make_project(claimed=True)
    make_job(spec=spec, project=project, status="running", runner=runner)
    make_job(spec=spec, project=project)
    later = make_job(spec=spec, created=NOW + SECOND)
    assert taken(runner) == later.pk


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize(
    "held", [{"status": "completed"}, {"status": "canceled"}, {"status": "running", "liveness": NOW - timedelta(hours=1)}]
)
def test_only_live_jobs_in_flight_count(held: dict[str, Any]) -> None:
    spec = make_spec()
    runner, project = make_runner(spec), make_project(claimed=True)
    make_job(spec=spec, project=project, runner=runner, **held)
    waiting = make_job(spec=spec, project=project)
    assert taken(runner) == waiting.pk


def test_no_limits_unless_told() -> None:
    spec = make_spec()
    runner, project = make_runner(spec), make_project(claimed=True)
    make_job(spec=spec, project=project, status="running", runner=runner)
    waiting = make_job(spec=spec, project=project)
    assert taken(runner) == waiting.pk


@pytest.mark.parametrize(("limit", "started"), [(0, 3), (1, 1), (2, 2)])
def test_project_concurrency(settings: Any, limit: int, started: int) -> None:
    settings.BENCHER_PROJECT_CONCURRENCY = limit
    spec = make_spec()
    runner, project = make_runner(spec), make_project(claimed=True)
    for _ in range(3):
        make_job(spec=spec, project=project)
    assert sum(taken(runner) is not None for _ in range(3)) == started
    other = make_job(spec=spec, project=make_project(organization=Organization.objects.get()))
    assert taken(runner) == other.pk


# -- the safety net --------------------------------------------------------------------------------------------------
def test_waiting_work_takes_two_queries(django_assert_num_queries: Any) -> None:
    spec, quiet = make_spec(), make_spec()
    first, second, idle, archived = make_runner(spec, quiet), make_runner(spec), make_runner(quiet), make_runner(spec)
    archived.archived = NOW
    archived.save()
    make_job(spec=spec)
    make_job(spec=quiet, status="processed", runner=idle)
    with django_assert_num_queries(2):
        assert waiting_work(runner_ids=[second.pk, idle.pk, archived.pk]) == {spec.pk: second.pk}
    assert waiting_work(runner_ids=[idle.pk, archived.pk]) == {}
    assert set(waiting_work(runner_ids=[first.pk, second.pk])) == {spec.pk}


def test_looking_for_no_work_is_one_query_that_names_no_runner(django_assert_num_queries: Any) -> None:
    """Every process with idle runners does this all the time, for all of them."""
    runner = make_runner()
    with django_assert_num_queries(1) as seen:
        assert waiting_work(runner_ids=[runner.pk]) == {}
    assert "runner" not in seen[0]["sql"].lower().partition("where")[2]
