"""Twenty at once: first reports of a new branch, first thresholds, one idempotency key. PostgreSQL, threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection

from outputs import models, requests
from outputs.services import dimensions, plots, thresholds
from outputs.services.reports import create_report, delete_report
from tests.results_lab import NOW, START, Lab, bmf, latency, model, watching

CROWD = 20
pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def lab(transactional_db: None) -> Lab:
    if connection.vendor != "postgresql":
        pytest.skip("threads share no in-memory SQLite database")
    return Lab()


def at_once(work: Callable[[int], Any], crowd: int = CROWD) -> list[Any]:
    """What ``crowd`` threads, begun together, returned or raised."""
    barrier = threading.Barrier(crowd)

    def one(number: int) -> Any:
        try:
            barrier.wait(30)
            return work(number)
        except Exception as fault:
            return fault
        finally:
            connection.close()

    with ThreadPoolExecutor(crowd) as pool:
        return list(pool.map(one, range(crowd)))


def faults(outcomes: list[Any]) -> list[Exception]:
    return [outcome for outcome in outcomes if isinstance(outcome, Exception)]


def test_first_reports_of_a_new_branch(lab: Lab) -> None:
    text = bmf({"One Bench": {"latency": 1, "Peak RSS": 2}, "other": {"throughput": 3}})
    outcomes = at_once(lambda _: lab.report(text, branch="feature/new", testbed="new box", thresholds=watching(measure="Peak RSS")))
    assert faults(outcomes) == []
    numbers = models.HeadVersion.objects.order_by("number").values_list("number", flat=True)
    assert list(numbers) == list(range(CROWD))
    counts = {kind: kind.objects.count() for kind in (models.Branch, models.Head, models.Testbed, models.Threshold, models.ThresholdModel)}
    assert set(counts.values()) == {1}
    assert (models.Benchmark.objects.count(), models.Measure.objects.count()) == (2, 3)
    assert models.Metric.objects.count() == 3 * CROWD


def test_first_reports_of_one_commit_share_the_version(lab: Lab) -> None:
    outcomes = at_once(lambda _: lab.report(latency(1.0), hash="a" * 40))
    assert faults(outcomes) == []
    assert (models.Version.objects.count(), models.Report.objects.count()) == (1, CROWD)


def test_disjoint_and_shared_names_in_any_order(lab: Lab) -> None:
    """Names that slugify alike, inserted in different orders: no deadlock, every name once, every slug once."""
    names = [f"suite::bench {number % 7}{'!' * (number // 7)}" for number in range(35)]
    outcomes = at_once(lambda number: lab.report(latency(1.0, *(names[number:] + names[:number]))))
    assert faults(outcomes) == []
    rows = models.Benchmark.objects.values_list("name", "slug")
    assert sorted(name for name, _ in rows) == sorted(names)
    assert len({slug for _, slug in rows}) == len(names)


def test_new_thresholds_by_hand(lab: Lab) -> None:
    lab.report(latency(1.0))
    new = requests.NewThreshold(branch="main", testbed="bench", measure="latency", test="percentage", upper_boundary=0.1)
    outcomes = at_once(lambda _: thresholds.create_threshold(project=lab.project, new=new, now=NOW))
    assert len(faults(outcomes)) == CROWD - 1
    assert {type(fault).__name__ for fault in faults(outcomes)} == {"Clash"}
    assert (models.Threshold.objects.count(), models.ThresholdModel.objects.count()) == (1, 1)


def test_new_thresholds_with_runs(lab: Lab) -> None:
    """Different models for the same measures: each threshold ends with one current model, the others are replaced."""
    lab.report(latency(1.0))

    def run(number: int) -> Any:
        wanted = {measure: model(upper_boundary=0.1 + number) for measure in ("latency", "throughput", "Peak RSS")}
        return lab.report(latency(1.0), thresholds=requests.Thresholds(models=wanted))

    assert faults(at_once(run)) == []
    assert models.Threshold.objects.count() == 3
    for threshold in models.Threshold.objects.all():
        assert [row.id for row in threshold.models.filter(replaced=None)] == [threshold.model_id]


def test_one_idempotency_key(lab: Lab) -> None:
    """One report; whoever lost gets the clash that doors translate, and leaves nothing."""
    lab.report(latency(1.0))
    key = uuid4()
    values: dict[str, Any] = dict.fromkeys(("user", "hash", "start_point", "thresholds"))
    values |= {"branch": "main", "testbed": "bench", "start_time": START, "end_time": START, "adapter": "json", "now": NOW}
    outcomes = at_once(lambda _: create_report(project=lab.project, idempotency_key=key, **values))
    assert [type(fault) for fault in faults(outcomes)] == [IntegrityError] * (CROWD - 1)
    assert (models.Report.objects.count(), models.Version.objects.count()) == (2, 2)


def test_resets_and_reports_do_not_cross(lab: Lab) -> None:
    """Every report stands in the head that its version counts in, and only the last head is current."""
    lab.report(latency(1.0))
    reset = requests.StartPoint(reset=True)
    outcomes = at_once(lambda number: lab.report(latency(1.0), start_point=reset if number % 4 == 0 else None))
    assert [fault for fault in faults(outcomes) if type(fault).__name__ != "Busy"] == []
    for report in models.Report.objects.all():
        assert models.HeadVersion.objects.filter(head=report.head_id, version=report.version_id).exists()
    assert models.Head.objects.filter(replaced=None).count() == 1


def test_deletions_keep_numbers_dense(lab: Lab) -> None:
    made = [lab.report(latency(1.0)) for _ in range(CROWD)]
    assert faults(at_once(lambda number: delete_report(report=made[number]) if number % 2 else lab.report(latency(2.0)))) == []
    numbers = models.HeadVersion.objects.order_by("number").values_list("number", flat=True)
    assert list(numbers) == list(range(CROWD))


def test_things_of_one_name_by_hand(lab: Lab) -> None:
    outcomes = at_once(lambda _: dimensions.create(models.Benchmark, project=lab.project, name="same", slug=None, now=NOW))
    assert len(faults(outcomes)) == CROWD - 1
    assert {type(fault).__name__ for fault in faults(outcomes)} == {"Clash"}


def test_plots_in_front_of_each_other(lab: Lab) -> None:
    """No two plots get one rank."""
    lab.report(latency(1.0))
    lists: dict[str, Any] = {name: list(kind._default_manager.values_list("id", flat=True)) for name, kind in plots.LISTS.items()}
    flags: dict[str, Any] = dict.fromkeys(("lower_value", "upper_value", "lower_boundary", "upper_boundary"), False)
    new = requests.NewPlot(x_axis="version", window=60, **flags, **lists)
    assert faults(at_once(lambda _: plots.create_plot(project=lab.project, new=new, now=NOW), crowd=8)) == []
    assert len(set(models.Plot.objects.values_list("rank", flat=True))) == 8
