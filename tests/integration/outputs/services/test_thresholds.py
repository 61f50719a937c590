"""Thresholds of runs and by hand (rest.md 2.7, 5.5)."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from bencher.core.errors import Clash, Invalid, Missing
from outputs import requests
from outputs.models import Branch, Measure, Threshold, ThresholdModel
from outputs.services import thresholds
from tests.results_lab import NOW, Lab, baseline, latency, model, only, watching


def current(lab: Lab) -> dict[str, float | None]:
    rows = Threshold.objects.select_related("model", "measure").filter(project=lab.project)
    return {row.measure.slug: row.model and row.model.upper_boundary for row in rows}


def new(**values: Any) -> requests.NewThreshold:
    return requests.NewThreshold(
        **{"branch": "main", "testbed": "bench", "measure": "latency", "test": "percentage", "upper_boundary": 0.5, **values}
    )


def test_same_model_writes_nothing(lab: Lab) -> None:
    branch = lab.report(latency(1.0), thresholds=watching()).head.branch
    testbed = Threshold.objects.get().testbed
    with CaptureQueriesContext(connection) as queries:
        thresholds.apply(project=lab.project, branch=branch, testbed=testbed, thresholds=watching(), now=NOW)
    assert [row["sql"] for row in queries if not row["sql"].startswith("SELECT")] == []
    assert ThresholdModel.objects.count() == 1


@pytest.mark.parametrize(
    "change",
    [{"upper_boundary": 0.2}, {"lower_boundary": 0.1}, {"window": 60}, {"min_sample_size": 2}, {"max_sample_size": 2}, {"test": "iqr"}],
)
def test_any_difference_replaces_the_model(lab: Lab, change: dict[str, Any]) -> None:
    lab.report(latency(1.0), thresholds=watching())
    lab.report(latency(1.0), thresholds=watching(**change))
    assert [row.replaced is None for row in ThresholdModel.objects.order_by("created", "id")] == [False, True]
    assert Threshold.objects.count() == 1


def test_reset_takes_the_models_of_the_others(lab: Lab) -> None:
    lab.report(latency(1.0), thresholds=requests.Thresholds(models={"latency": model(), "throughput": model()}))
    lab.report(latency(1.0), thresholds=requests.Thresholds(models={"latency": model()}, reset=True))
    assert current(lab) == {"latency": 0.1, "throughput": None}


def test_two_spellings_of_a_measure_are_one_threshold(lab: Lab) -> None:
    lab.report(latency(1.0), thresholds=requests.Thresholds(models={"latency": model(), "Latency": model(upper_boundary=0.3)}))
    assert current(lab) == {"latency": 0.3}


def test_run_does_not_touch_the_wish_for_change_points(lab: Lab) -> None:
    lab.report(latency(1.0))
    thresholds.create_threshold(project=lab.project, new=new(change_points=True), now=NOW)
    lab.report(latency(1.0), thresholds=watching())
    assert Threshold.objects.get().change_points is True


def test_by_hand_nothing_is_made_on_the_way(lab: Lab) -> None:
    lab.report(latency(1.0))
    for key in ("branch", "testbed", "measure"):
        with pytest.raises(Missing, match=key):
            thresholds.create_threshold(project=lab.project, new=new(**{key: "nowhere"}), now=NOW)
    assert (Branch.objects.count(), Measure.objects.count(), Threshold.objects.count()) == (1, 1, 0)


def test_by_hand_models_are_judged(lab: Lab) -> None:
    lab.report(latency(1.0))
    with pytest.raises(Invalid, match="upper_boundary"):
        thresholds.create_threshold(project=lab.project, new=new(test="z", upper_boundary=7.0), now=NOW)


def test_second_one_is_a_clash_and_changes_nothing(lab: Lab) -> None:
    lab.report(latency(1.0))
    thresholds.create_threshold(project=lab.project, new=new(), now=NOW)
    with pytest.raises(Clash):
        thresholds.create_threshold(project=lab.project, new=new(upper_boundary=0.9), now=NOW)
    assert current(lab) == {"latency": 0.5}
    assert ThresholdModel.objects.count() == 1


def put(row: Threshold, **values: Any) -> None:
    thresholds.put_threshold(threshold=row, change=requests.ThresholdChange(**values), now=NOW)


def test_put_replaces_removes_and_restores(lab: Lab) -> None:
    lab.report(latency(1.0))
    row = thresholds.create_threshold(project=lab.project, new=new(), now=NOW)
    put(row, test="iqr", lower_boundary=1.0)
    put(row, test=None)
    assert current(lab) == {"latency": None}
    assert only(lab.run(latency(1.0))).threshold is None
    put(row, test="percentage", upper_boundary=0.5)
    assert current(lab) == {"latency": 0.5}
    assert ThresholdModel.objects.filter(replaced=None).count() == 1


def test_put_turns_change_points_on_and_off(lab: Lab) -> None:
    lab.report(latency(1.0))
    row = thresholds.create_threshold(project=lab.project, new=new(), now=NOW)
    for wish, seen in ((True, True), (None, True), (False, False)):
        put(row, test="percentage", upper_boundary=0.5, change_points=wish)
        row.refresh_from_db()
        assert row.change_points is seen
    assert ThresholdModel.objects.count() == 1


def test_delete_waits_for_boundaries(lab: Lab) -> None:
    """A row without limits is a boundary too: it says which model could not judge."""
    lab.report(latency(1.0))
    row = thresholds.create_threshold(project=lab.project, new=new(), now=NOW)
    report = lab.report(latency(1.0))
    with pytest.raises(Clash, match="boundaries"):
        thresholds.delete_threshold(threshold=row)
    from outputs.services.reports import delete_report

    delete_report(report=report)
    thresholds.delete_threshold(threshold=row)
    assert (Threshold.objects.count(), ThresholdModel.objects.count()) == (0, 0)


def test_threshold_without_boundaries_judges_nothing(lab: Lab) -> None:
    """A run may send a model without any boundary: no limits, no alert, no complaint."""
    lab.report(latency(10.0))
    report = lab.run(latency(99.0), thresholds=watching(upper_boundary=None))
    assert baseline(report) is None
    assert report.alerts == []
    assert not isinstance(report.verdicts, list)
