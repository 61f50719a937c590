"""jobs/processing.py: from the stored output to the report, once, whatever goes wrong (rest.md 3.5, recovery.md)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection
from django.test.utils import CaptureQueriesContext

from bencher.core.errors import Clash, Missing
from jobs import processing
from jobs.actors import SYSTEM
from jobs.leases import LENGTH, PAUSE
from jobs.models import Job, JobEvent
from jobs.processing import Outcome, process_job, reprocess_job
from outputs.models import Benchmark, Metric, Report
from outputs.parsing import ParserUnavailable, parsers
from outputs.registry.storage import StorageError, get_storage
from tests.jobs_world import DIGEST, NOW, bmf, iteration, make_job, make_project, ran

pytestmark = pytest.mark.django_db(transaction=True)
AT = NOW + timedelta(minutes=5)
NUL_KEY = "\u0000bencher"


def completed(*results: Any, **job: Any) -> Job:
    return ran(make_job(**job), *results)


def values(job: Job) -> list[tuple[int, str, float]]:
    rows = Metric.objects.filter(report_id=job.report_id).order_by("iteration", "benchmark__name", "id")
    return list(rows.values_list("iteration", "benchmark__name", "value"))


def report_of(job: Job) -> Report:
    return Report.objects.get(pk=job.report_id)


def last_event(job: Job) -> JobEvent:
    event = JobEvent.objects.filter(job=job).order_by("id").last()
    assert event is not None
    return event


# -- what counts ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("results", "expected"),
    [
        pytest.param([iteration(bmf(a=2))], [(0, "a", 2.0)], id="stdout"),
        pytest.param([iteration(bmf(a=9), output={"/z": bmf(a=3), "/b": bmf(a=2)})], [(0, "a", 2.0), (1, "a", 3.0)], id="files"),
        pytest.param([iteration("built", output={NUL_KEY: bmf(app=4096)})], [(0, "app", 4096.0)], id="nul-key"),
        pytest.param([iteration(bmf(a=1), exit_code=3)], [(0, "a", 1.0)], id="exit-code"),
        pytest.param([iteration(bmf(a=1)), iteration(stderr="x"), iteration(bmf(a=3))], [(0, "a", 1.0), (1, "a", 3.0)], id="silent-one"),
        pytest.param([], [], id="nothing"),
        pytest.param([iteration("no benchmark", output={})], [], id="empty-map"),
    ],
)
def test_a_readable_output_becomes_the_report(results: list[Any], expected: list[Any]) -> None:
    job = completed(*results)
    assert process_job(job.pk, now=AT) is Outcome.PROCESSED
    after = Job.objects.get(pk=job.pk)
    assert (after.status, after.processing_until, after.failure) == ("processed", None, "")
    assert after.completed == job.completed
    assert values(job) == expected
    assert (last_event(job).action, last_event(job).actor_kind) == ("process", "system")


def test_fold_and_average_come_from_the_configuration() -> None:
    job = completed(iteration(bmf(a=1)), iteration(bmf(a=5)), config={"fold": "max"})
    process_job(job.pk, now=AT)
    assert values(job) == [(0, "a", 5.0)]
    text = '{"results":[{"command":"c","mean":2.0,"stddev":0.5,"median":1.5,"user":0,"system":0,"min":1.0,"max":3.0,"exit_codes":[0]}]}'
    job = completed(iteration(text), adapter="shell_hyperfine", config={"average": "median"})
    process_job(job.pk, now=AT)
    assert values(job) == [(0, "c", 1.5e9)]


@pytest.mark.parametrize("results", [[iteration("no benchmark")], [iteration(bmf(a=1)), iteration("no benchmark")]], ids=["one", "second"])
def test_an_unreadable_output_fails_the_job_and_writes_nothing(results: list[Any]) -> None:
    job = completed(*results)
    assert process_job(job.pk, now=AT) is Outcome.FAILED
    after = Job.objects.get(pk=job.pk)
    assert (after.status, after.failure, after.completed, after.output) == ("failed", "unparsable", job.completed, job.output)
    assert not Metric.objects.exists()
    assert not Benchmark.objects.exists()
    assert last_event(job).reason.startswith("nothing_parsed: ")


@pytest.mark.parametrize("document", [None, b"no json", b'{"results":[{}]}'], ids=["missing", "text", "wrong"])
def test_a_lost_output_fails_the_job(document: bytes | None) -> None:
    job = completed(iteration(bmf(a=1)))
    key = f"{job.project_id}/output/v0/jobs/{job.pk}/{job.output}"
    get_storage().delete(key)
    if document is not None:
        get_storage().put(key, document)
    assert process_job(job.pk, now=AT) is Outcome.FAILED
    assert Job.objects.get(pk=job.pk).failure == "output_lost"


def test_no_output_at_all_fails_the_job() -> None:
    job = completed()
    Job.objects.filter(pk=job.pk).update(output="")
    assert process_job(job.pk, now=AT) is Outcome.FAILED


def test_a_configuration_that_cannot_be_read_fails_the_job() -> None:
    job = completed(iteration(bmf(a=1)))
    Job.objects.filter(pk=job.pk).update(config="{")
    assert process_job(job.pk, now=AT) is Outcome.FAILED
    assert Job.objects.get(pk=job.pk).failure == "undecodable_config"


def test_hostile_reasons_can_be_stored() -> None:
    job = completed(iteration("\u0000\u0000 nothing \ufffd" * 50))
    assert process_job(job.pk, now=AT) is Outcome.FAILED
    assert "\x00" not in last_event(job).reason


# -- times ---------------------------------------------------------------------------------------------------------
def test_the_report_lasts_from_start_to_delivery_whenever_it_is_processed() -> None:
    job = completed(iteration(bmf(a=1)))
    process_job(job.pk, now=AT + timedelta(days=3))
    report = report_of(job)
    assert (report.start_time, report.end_time) == (NOW + timedelta(seconds=10), NOW + timedelta(seconds=100))


def test_backdate_moves_the_report_and_keeps_its_length() -> None:
    job = completed(iteration(bmf(a=1)), config={"backdate": "2020-02-02T02:02:02Z"})
    process_job(job.pk, now=AT)
    report, start = report_of(job), datetime(2020, 2, 2, 2, 2, 2, tzinfo=UTC)
    assert (report.start_time, report.end_time) == (start, start + timedelta(seconds=90))


# -- once ----------------------------------------------------------------------------------------------------------
def test_backdate_near_the_end_of_time() -> None:
    job = completed(iteration(bmf(a=1)), config={"backdate": "9999-12-31T23:59:59Z"})
    assert job.completed > job.started
    assert process_job(job.pk, now=AT) is Outcome.PROCESSED
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert (report_of(job).start_time, report_of(job).end_time) == (last, last)


@pytest.mark.parametrize("status", ["pending", "claimed", "running", "processed", "failed", "canceled"])
def test_other_statuses_are_left_alone(status: str) -> None:
    job = ran(make_job(), iteration(bmf(a=1)), status=status)
    assert process_job(job.pk, now=AT) is Outcome.NOTHING
    assert Job.objects.get(pk=job.pk).status == status


def test_an_unknown_job_is_nothing() -> None:
    assert process_job(make_project().pk, now=AT) is Outcome.NOTHING


def test_whoever_holds_the_lease_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second worker that comes while the first parses finds nothing to do."""
    job = completed(iteration(bmf(a=1)))
    parse, seconds = parsers.parse, []

    def and_meanwhile(*args: Any, **values: Any) -> Any:
        seconds.append(process_job(job.pk, now=AT + timedelta(seconds=1)))
        return parse(*args, **values)

    monkeypatch.setattr(parsers, "parse", and_meanwhile)
    assert process_job(job.pk, now=AT) is Outcome.PROCESSED
    assert seconds == [Outcome.NOTHING]
    assert values(job) == [(0, "a", 1.0)]


def test_a_worker_whose_lease_ran_out_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was stopped for so long that another did the work."""
    job = completed(iteration(bmf(a=1)))
    parse = parsers.parse

    def late(*args: Any, **values: Any) -> Any:
        monkeypatch.setattr(parsers, "parse", parse)
        assert process_job(job.pk, now=AT + LENGTH) is Outcome.PROCESSED
        return parse(*args, **values)

    monkeypatch.setattr(parsers, "parse", late)
    assert process_job(job.pk, now=AT) is Outcome.NOTHING
    assert values(job) == [(0, "a", 1.0)]
    assert JobEvent.objects.filter(job=job, action="process").count() == 1


def test_a_second_attempt_costs_one_statement() -> None:
    job = completed(iteration(bmf(a=1)))
    process_job(job.pk, now=AT)
    with CaptureQueriesContext(connection) as queries:
        assert process_job(job.pk, now=AT) is Outcome.NOTHING
    assert len(queries) == 1


# -- faults of ours ------------------------------------------------------------------------------------------------
def _raise(fault: Exception) -> Callable[..., Any]:
    def function(*args: Any, **values: Any) -> Any:
        raise fault

    return function


@pytest.mark.parametrize(
    ("place", "name", "fault"),
    [
        (parsers, "parse", ParserUnavailable("busy")),
        (processing, "get_job_output", StorageError("down")),
        (processing.reports, "prepare", OperationalError("gone")),
        (processing.reports, "deliver", OperationalError("gone")),
        (processing.reports, "deliver", IntegrityError("a benchmark was deleted")),
    ],
    ids=["parser", "storage", "prepare", "deliver", "race"],
)
def test_faults_of_ours_are_tried_again(monkeypatch: pytest.MonkeyPatch, place: Any, name: str, fault: Exception) -> None:
    monkeypatch.setattr("bencher.core.retry.time.sleep", lambda seconds: None)
    job = completed(iteration(bmf(a=1)))
    with monkeypatch.context() as patch:
        patch.setattr(place, name, _raise(fault))
        assert process_job(job.pk, now=AT) is Outcome.LATER
    after = Job.objects.get(pk=job.pk)
    assert (after.status, after.processing_until) == ("completed", AT + PAUSE)
    assert not Metric.objects.exists()
    assert process_job(job.pk, now=AT + PAUSE) is Outcome.PROCESSED


@pytest.mark.parametrize("name", ["prepare", "deliver"])
def test_an_error_of_our_own_code_does_not_come_back_for_ever(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    job = completed(iteration(bmf(a=1)))
    with monkeypatch.context() as patch:
        patch.setattr(processing.reports, name, _raise(KeyError("bug")))
        assert process_job(job.pk, now=AT) is Outcome.FAILED
    assert "KeyError" in caplog.text
    assert Job.objects.get(pk=job.pk).failure == "unparsable"
    assert reprocess_job(job_id=job.pk, actor=SYSTEM, now=AT) is Outcome.PROCESSED


# -- by hand -------------------------------------------------------------------------------------------------------
def test_reprocessing_takes_over_a_lease() -> None:
    job = completed(iteration(bmf(a=1)))
    Job.objects.filter(pk=job.pk).update(processing_until=AT + LENGTH)
    assert process_job(job.pk, now=AT) is Outcome.NOTHING
    assert reprocess_job(job_id=job.pk, actor=SYSTEM, now=AT) is Outcome.PROCESSED


def test_reprocessing_repairs_what_could_not_be_read_and_keeps_the_times() -> None:
    job = completed(iteration("no benchmark"))
    process_job(job.pk, now=AT)
    assert reprocess_job(job_id=job.pk, actor=SYSTEM, now=AT) is Outcome.FAILED
    get_storage().put(f"{job.project_id}/output/v0/jobs/{job.pk}/{job.output}", b'{"results":[{"exit_code":0,"stdout":"{}"}]}')
    assert reprocess_job(job_id=job.pk, actor=SYSTEM, now=AT + timedelta(hours=1)) is Outcome.PROCESSED
    assert Job.objects.get(pk=job.pk).completed == job.completed
    assert report_of(job).end_time == job.completed


@pytest.mark.parametrize(
    ("status", "values"),
    [
        ("processed", {}),
        ("canceled", {}),
        ("pending", {}),
        ("running", {}),
        ("failed", {}),
        ("failed", {"failure": "heartbeat_timeout"}),
        ("failed", {"failure": "unparsable", "output": ""}),
    ],
)
def test_there_may_be_nothing_to_reprocess(status: str, values: dict[str, Any]) -> None:
    job = ran(make_job(), iteration(bmf(a=1)), status=status, **values)
    with pytest.raises(Clash, match=status):
        reprocess_job(job_id=job.pk, actor=SYSTEM, now=AT)
    assert Job.objects.get(pk=job.pk).status == status


def test_an_unknown_job_cannot_be_reprocessed() -> None:
    with pytest.raises(Missing):
        reprocess_job(job_id=make_project().pk, actor=SYSTEM, now=AT)


def test_the_fixture_is_a_real_configuration() -> None:
    assert DIGEST in make_job().config
