"""Change points of watched series (an extension)."""

from __future__ import annotations

from typing import Any

import pytest

from outputs import tasks
from outputs.models import ChangePoint, Metric, Report, Threshold
from outputs.selectors.metrics import get_metric
from outputs.selectors.perf import Wanted, perf
from outputs.serializers.metrics import one_metric_json
from outputs.serializers.perf import perf_json
from outputs.services import changes
from outputs.services.changes import find_changes
from tests.results_lab import NOW, Lab, latency, watching

NOISE = (0.0, 0.2, -0.1, 0.1, -0.2)


@pytest.fixture
def stepped(lab: Lab) -> Report:
    """Twelve values about 10, then eight about 20; every threshold is watched."""
    for number in range(20):
        level = 10.0 if number < 12 else 20.0
        report = lab.report(latency(level + NOISE[number % 5]), thresholds=watching(upper_boundary=100.0))
    Threshold.objects.update(change_points=True)
    return report


def test_step_is_found_once(stepped: Report) -> None:
    assert find_changes(report_id=stepped.id, now=NOW) == 1
    assert find_changes(report_id=stepped.id, now=NOW) == 0
    [change] = ChangePoint.objects.select_related("metric__report")
    assert change.metric.value == 20.0 + NOISE[12 % 5]
    assert change.before == pytest.approx(10.0, abs=0.1)
    assert change.after == pytest.approx(20.0, abs=0.1)
    assert change.p_value < 0.001
    stepped.refresh_from_db()
    assert [verdict["kind"] for verdict in stepped.verdicts] == ["change_point"]


def test_two_reports_looked_through_at_once_say_it_once(lab: Lab, stepped: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else stores the change after this one looked for it."""
    other = lab.report(latency(20.0))
    original, passed = changes._unknown, []

    def late(found: Any) -> Any:
        unknown = original(found)
        if not passed:
            passed.append(True)
            find_changes(report_id=other.id, now=NOW)
        return unknown

    monkeypatch.setattr(changes, "_unknown", late)
    assert find_changes(report_id=stepped.id, now=NOW) == 0
    assert ChangePoint.objects.count() == 1
    assert [bool(report.verdicts) for report in Report.objects.filter(pk__in=[stepped.pk, other.pk]).order_by("created")] == [False, True]


def test_more_values_do_not_find_it_again(lab: Lab, stepped: Report) -> None:
    find_changes(report_id=stepped.id, now=NOW)
    report = lab.report(latency(20.1))
    assert find_changes(report_id=report.id, now=NOW) == 0


def test_it_is_shown_where_the_level_begins(lab: Lab, stepped: Report) -> None:
    find_changes(report_id=stepped.id, now=NOW)
    change = ChangePoint.objects.select_related("metric").get()
    metric: Any = one_metric_json(get_metric(lab.project, change.metric_id))
    assert metric.change_point.after == change.after
    threshold = Threshold.objects.get()
    wanted = Wanted([threshold.branch_id], (), [threshold.testbed_id], (), [change.metric.benchmark_id], [threshold.measure_id])
    lines, models = perf(lab.project, wanted)
    points: Any = perf_json(lab.project, lines, models, start_time=None, end_time=None).results[0].metrics
    assert [index for index, point in enumerate(points) if hasattr(point.change_point, "after")] == [12]


def test_unwatched_series_are_left_alone(lab: Lab, stepped: Report) -> None:
    Threshold.objects.update(change_points=False)
    assert find_changes(report_id=stepped.id, now=NOW) == 0


def test_report_that_is_gone(stepped: Report) -> None:
    from outputs.services.reports import delete_report

    gone = stepped.id
    delete_report(report=stepped)
    assert find_changes(report_id=gone, now=NOW) == 0


def test_deleting_takes_the_change_point_along(stepped: Report) -> None:
    from outputs.services.reports import delete_report

    find_changes(report_id=stepped.id, now=NOW)
    delete_report(report=Metric.objects.get(id=ChangePoint.objects.get().metric_id).report)
    assert not ChangePoint.objects.exists()


def test_watched_reports_ask_for_it_after_the_commit(
    lab: Lab, stepped: Report, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(tasks.find_changes, "delay", asked.append)
    with django_capture_on_commit_callbacks(execute=True):
        report = lab.report(latency(20.0))
    assert asked == [str(report.id)]


def test_the_task_does_it(stepped: Report) -> None:
    tasks.find_changes(str(stepped.id))
    assert ChangePoint.objects.count() == 1
