"""Reports: all or nothing, once, and gone without a trace (rest.md 2.6, 5.3; recovery.md section 2)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from bencher.core.errors import Busy, Invalid, Missing
from bencher.core.ids import uuid7
from outputs import models, parsing
from outputs.adapters.parse import parse_results
from outputs.models import Alert, Benchmark, Branch, Head, HeadVersion, Measure, Metric, Report, Version
from outputs.requests import StartPoint
from outputs.selectors.reports import get_report
from outputs.serializers.reports import JsonReport, report_json, reports_json
from outputs.services import reports
from outputs.services.reports import create_report, delete_report, deliver, prepare
from tests.results_lab import NOW, START, Lab, baseline, bmf, latency, make_spec, numbers, only, place, watching


def for_job(lab: Lab, **values: Any) -> Report:
    defaults: dict[str, Any] = {
        "project": lab.project,
        "user": None,
        "branch": "main",
        "hash": None,
        "start_point": None,
        "testbed": "bench",
        "thresholds": None,
        "start_time": START,
        "end_time": START,
        "adapter": "json",
        "job": uuid7(),
        "now": lab.now,
    }
    return create_report(**{**defaults, **values})


def deliver_texts(report: Report, *texts: str, **times: Any) -> None:
    prepared = prepare(report=report, parsed=parse_results(list(texts), adapter="json"), now=NOW)
    deliver(report=report, prepared=prepared, now=NOW, **times)


# -- local results --------------------------------------------------------------------------------------------------
def test_counts_and_size_are_stored(lab: Lab) -> None:
    report = lab.report(bmf({"a": {"latency": 1, "throughput": 2}, "b": {"latency": 3}}), "{}", latency(1.0))
    assert (report.size, report.counts) == (4, [[2, 2], [1, 1]])
    assert Metric.objects.filter(report=report).count() == 4


def test_unreadable_results_leave_an_empty_report_that_says_why(lab: Lab) -> None:
    with pytest.raises(Invalid, match="results"):
        lab.report('{"a": {"latency": {"value": 1}')
    [report] = Report.objects.all()
    assert (report.size, [verdict["kind"] for verdict in report.verdicts]) == (0, ["truncated"])
    assert not Benchmark.objects.exists()


def test_parsers_gone_leave_nothing(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A retry with the same idempotency key must not find an empty report."""

    def gone(*_: Any, **__: Any) -> None:
        raise parsing.ParserUnavailable("stopping")

    monkeypatch.setattr(reports.parsers, "parse", gone)
    with pytest.raises(Busy):
        lab.report(latency(1.0))
    assert not Report.objects.exists()
    assert not Version.objects.exists()


def test_failure_while_writing_leaves_nothing(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("disk full")

    monkeypatch.setattr(reports, "_insert_alerts", broken)
    with pytest.raises(RuntimeError, match="disk full"):
        lab.report(latency(1.0))
    assert not Report.objects.exists()
    assert not Metric.objects.exists()
    assert not HeadVersion.objects.exists()


def test_unusable_model_is_refused_and_leaves_the_empty_report(lab: Lab) -> None:
    with pytest.raises(Invalid, match="thresholds: z_score: upper_boundary"):
        lab.report(latency(1.0), thresholds=watching("z_score", upper_boundary=7.0))
    [report] = Report.objects.all()
    assert (report.size, Metric.objects.count()) == (0, 0)


def test_unknown_uuid_in_bmf(lab: Lab) -> None:
    with pytest.raises(Missing, match="benchmark"):
        lab.report(latency(1.0, str(uuid4())))
    assert not Benchmark.objects.exists()


def test_language_adapters_are_stored_as_magic(lab: Lab) -> None:
    assert lab.report("test a ... bench: 10 ns/iter (+/- 1)", adapter="rust").adapter == "magic"


def test_head_replaced_while_results_are_judged(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The results are judged anew, by the history of the head they go to."""
    lab.report(latency(10.0))
    seen: list[UUID] = []
    original = reports.preparation.prepare

    def slow(*, target: Any, parsed: Any, now: Any) -> Any:
        prepared = original(target=target, parsed=parsed, now=now)
        if not seen:
            reports.branches.move(Branch.objects.get(name="main"), start_point=StartPoint(reset=True), now=now)
        seen.append(target.series.head_id)
        return prepared

    monkeypatch.setattr(reports.preparation, "prepare", slow)
    report = lab.run(latency(1.0), thresholds=watching())
    assert len(set(seen)) == 2
    assert report.branch.head.uuid == seen[1]
    assert baseline(report) is None


def test_a_usual_report_costs_few_statements(lab: Lab) -> None:
    """Everything exists already: the number does not depend on how many metrics there are."""
    counted = []
    for size in (5, 50):
        text = latency(1.0, *(f"bench {number}" for number in range(size)))
        for _ in range(2):
            lab.report(text, thresholds=watching())
        with CaptureQueriesContext(connection) as queries:
            lab.report(text, thresholds=watching())
        counted.append(len(queries))
    assert counted[0] == counted[1] <= 32


# -- reports of jobs ------------------------------------------------------------------------------------------------
def test_job_report_is_empty_until_it_is_delivered(lab: Lab) -> None:
    hardware = make_spec()
    report = for_job(lab, spec=hardware)
    assert models.Testbed.objects.get(name="bench").spec_id == hardware.id
    deliver_texts(report, latency(2.0), start_time=START + timedelta(hours=1, microseconds=5), end_time=START + timedelta(hours=2))
    report.refresh_from_db()
    assert (report.start_time, report.end_time) == (START + timedelta(hours=1), START + timedelta(hours=2))
    assert report.size == 1


def test_spec_reset_forgets(lab: Lab) -> None:
    for_job(lab, spec=make_spec())
    for_job(lab, spec_reset=True)
    assert models.Testbed.objects.get(name="bench").spec_id is None


def test_second_delivery_is_refused(lab: Lab) -> None:
    report = for_job(lab)
    deliver_texts(report, latency(1.0))
    with pytest.raises(IntegrityError):
        deliver_texts(report, latency(1.0))


def test_results_for_a_replaced_head_are_silenced(lab: Lab) -> None:
    lab.report(latency(1.0), thresholds=watching())
    report = for_job(lab)
    lab.report(latency(1.0), start_point=StartPoint(reset=True))
    deliver_texts(report, latency(9.0))
    assert [alert.status for alert in Alert.objects.all()] == ["silenced"]


def test_spec_separates_history_and_is_said(lab: Lab) -> None:
    one, two = make_spec(), make_spec()
    for hardware, value in ((one, 10.0), (two, 1000.0)):
        deliver_texts(for_job(lab, spec=hardware, thresholds=watching()), latency(value))
    report = for_job(lab, spec=one)
    deliver_texts(report, latency(12.0))
    assert Metric.objects.get(report=report).baseline == 10.0
    assert [verdict["kind"] for verdict in Report.objects.get(pk=report.pk).verdicts] == ["spec_changed"]


def test_key_belongs_to_one_report(lab: Lab) -> None:
    key = uuid4()
    for_job(lab, idempotency_key=key)
    with pytest.raises(IntegrityError):
        for_job(lab, idempotency_key=key)


# -- deletion -------------------------------------------------------------------------------------------------------
def test_delete_leaves_no_trace_but_dimensions(lab: Lab) -> None:
    lab.report(latency(1.0), thresholds=watching())
    report = lab.report(latency(9.0))
    assert Alert.objects.count() == 1
    delete_report(report=report)
    assert (Report.objects.count(), Metric.objects.count(), Alert.objects.count(), Version.objects.count()) == (1, 1, 0, 1)
    assert Benchmark.objects.exists()
    assert Measure.objects.exists()


def test_delete_moves_later_versions_down_in_every_head(lab: Lab) -> None:
    made = [lab.report(latency(value), hash=letter * 40) for value, letter in ((10.0, "a"), (20.0, "b"), (30.0, "c"))]
    lab.report(latency(40.0), branch="next", start_point=StartPoint(branch="main"), hash="d" * 40)
    delete_report(report=made[1])
    for name, expected in (("main", "ac"), ("next", "acd")):
        rows = HeadVersion.objects.filter(head__branch__name=name).order_by("number").values_list("number", "version__hash")
        assert [(number, hash[0]) for number, hash in rows] == list(enumerate(expected))
    assert baseline(lab.run(latency(1.0), branch="next", thresholds=watching())) == pytest.approx(80 / 3)


def test_delete_of_a_start_version(lab: Lab) -> None:
    """The start point moves to the version before, so that the next run does not take it for another one."""
    made = [lab.report(latency(1.0), hash=letter * 40) for letter in "ab"]
    head = lab.report(latency(1.0), branch="next", start_point=StartPoint(branch="main")).head_id
    delete_report(report=made[1])
    again = lab.run(latency(1.0), branch="next", start_point=StartPoint(branch="main"))
    assert again.branch.head.uuid == head
    assert again.branch.head.start_point is not None
    assert again.branch.head.start_point.version.number == 0
    assert Head.objects.get(pk=head).start_version_id == made[0].version_id


def test_delete_keeps_a_version_with_another_report(lab: Lab) -> None:
    first, second, last = (lab.report(latency(1.0), hash=letter * 40) for letter in "aab")
    delete_report(report=first)
    assert place(lab.run(latency(1.0), hash="b" * 40)) == (1, "b" * 40)
    assert Report.objects.filter(pk__in=[second.pk, last.pk]).count() == 2


# -- verdicts -------------------------------------------------------------------------------------------------------
def kinds(report: Any) -> list[str]:
    return [verdict.kind for verdict in report.verdicts] if isinstance(report.verdicts, list) else []


def test_no_verdicts_no_field(lab: Lab) -> None:
    assert kinds(lab.run(latency(1.0))) == []
    assert kinds(lab.run(latency(1.0))) == []


def test_no_baseline(lab: Lab) -> None:
    report = lab.run(latency(1.0, "a", "b"), thresholds=watching())
    [verdict] = report.verdicts  # type: ignore[misc]
    assert (verdict.kind, verdict.count) == ("no_baseline", 2)
    assert kinds(lab.run(latency(1.0, "a", "b"))) == []


def test_no_spread(lab: Lab) -> None:
    for _ in range(3):
        lab.report(latency(1.0))
    assert kinds(lab.run(latency(1.0), thresholds=watching("z_score", upper_boundary=0.95))) == ["no_spread"]


def test_missing_since_the_last_report_that_had_it(lab: Lab) -> None:
    first = lab.report(latency(1.0, "a", "b"))
    for _ in range(2):
        [verdict] = lab.run(latency(1.0, "a")).verdicts  # type: ignore[misc]
        gone = Benchmark.objects.get(name="b")
        assert (verdict.kind, verdict.benchmarks, verdict.report) == ("missing_since", [gone.id], first.id)
    Benchmark.objects.filter(name="b").update(archived=NOW)
    assert kinds(lab.run(latency(1.0, "a"))) == []
    assert kinds(lab.run(latency(1.0, "a", "b"))) == []


def test_another_suite_is_not_missed(lab: Lab) -> None:
    """Two suites that take turns have nothing in common: neither misses the other's benchmarks."""
    for _ in range(2):
        assert kinds(lab.run(latency(1.0, "one", "two"))) == []
        assert kinds(lab.run(latency(1.0, "three"))) == []


def test_nothing_parsed(lab: Lab) -> None:
    assert kinds(lab.run()) == ["nothing_parsed"]
    [verdict] = lab.run(latency(1.0), "{}").verdicts  # type: ignore[misc]
    assert (verdict.kind, verdict.iterations) == ("nothing_parsed", [1])


# -- what is answered -----------------------------------------------------------------------------------------------
def shown_again(report: Report) -> JsonReport:
    return reports_json([get_report(report.project, report.id)], expand=True)[0]


def test_what_was_archived_is_answered_as_it_is_now(lab: Lab) -> None:
    lab.run(latency(10.0, "one", "two"))
    Benchmark.objects.filter(name="one").update(archived=NOW)
    Measure.objects.filter(name="latency").update(archived=NOW)
    report = lab.report(latency(50.0, "one", "two"))
    answer = report_json(report)
    [rows] = answer.results  # type: ignore[misc]
    assert [(row.benchmark.archived, row.measures[0].measure.archived) for row in rows] == [(None, None)] * 2
    assert answer == shown_again(report)


def test_an_answer_is_the_same_when_it_is_read_back(lab: Lab) -> None:
    for results, values in (
        ([latency(10.0, "one", "two")], {}),
        ([latency(10.0, "two", "three")], {"thresholds": watching("percentage", upper_boundary=0.1)}),
        ([latency(99.0, "two"), bmf({"one": {"Rare Measure": 1.0}, "four": {"throughput": 2.0}})], {"hash": "a" * 40}),
        (["{}"], {}),
    ):
        report = lab.report(*results, **values)
        assert report_json(report) == shown_again(report)
    assert Alert.objects.exists()


# -- iterations -----------------------------------------------------------------------------------------------------
def test_earlier_iterations_are_history_unless_the_window_leaves_the_report_out(lab: Lab) -> None:
    model = {"upper_boundary": 100.0, "window": 3600}
    report = lab.run(latency(10.0), latency(20.0), thresholds=watching(**model))
    assert [row[0].measures[0].boundary.baseline for row in report.results] == [None, None]  # type: ignore[union-attr]
    recent = lab.run(latency(10.0), latency(20.0), start_time=lab.now)
    assert [row[0].measures[0].boundary.baseline for row in recent.results] == [None, 10.0]  # type: ignore[union-attr]


def test_reports_of_the_same_version_and_second_are_one_history_by_iteration(lab: Lab) -> None:
    same = {"hash": "a" * 40, "start_time": START}
    lab.run(latency(100), latency(200), **same, thresholds=watching(max_sample_size=1))
    again = lab.run(latency(1), latency(2), latency(3), **same)
    assert [row.measures[0].boundary.baseline for [row] in again.results] == [200, 200, 2]  # type: ignore[union-attr]
    later = lab.run(latency(1), hash="a" * 40, start_time=START + timedelta(seconds=1))
    assert baseline(later) == 3


def test_two_spellings_are_one_benchmark(lab: Lab) -> None:
    report = lab.run(bmf({"My Bench": {"latency": 1.0}, "my-bench": {"latency": 2.0}}))
    assert numbers(report) == [{"My Bench": {"latency": 2.0}}]
    assert only(report).measure.slug == "latency"
