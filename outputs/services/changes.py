"""Change points of watched series (an extension, opt-in per threshold; docs/results.md)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction

from bencher.core.ids import uuid7
from bencher.core.retry import transient
from outputs import detection
from outputs.detection.changes import SEGMENT
from outputs.models import ChangePoint, HeadVersion, Metric, Report, Threshold
from outputs.selectors.history import Series, newest_points
from outputs.services import bulk
from outputs.verdicts import change_point, load, stored

MOST = 200
"""Values of a series that are looked at, the newest."""
Found = tuple[UUID, UUID, detection.ChangePoint]
"""Benchmark, metric with which the new level begins, what was found."""


@transient()
def find_changes(*, report_id: UUID, now: datetime) -> int:
    """Store what is new in the series of the report's benchmarks, and say so in the report; how many."""
    report = Report.objects.select_related("head").filter(pk=report_id).first()
    if report is None:
        return 0
    number = HeadVersion.objects.filter(head=report.head, version=report.version_id).values_list("number", flat=True).get()
    series = Series(report.head_id, report.testbed_id, report.spec_id, number, report.start_time)
    watched = Threshold.objects.filter(
        branch_id=report.head.branch_id, testbed_id=report.testbed_id, change_points=True, model__isnull=False
    )
    return sum(_watch(report, series, threshold, now) for threshold in watched.order_by("id"))


def _watch(report: Report, series: Series, threshold: Threshold, now: datetime) -> int:
    measured = Metric.objects.filter(report=report, measure_id=threshold.measure_id)
    benchmarks = set(measured.order_by().values_list("benchmark_id", flat=True))
    found: list[Found] = []
    for benchmark, points in newest_points(series, measure_id=threshold.measure_id, benchmarks=benchmarks, most=MOST).items():
        found += [(benchmark, points[change.index][0], change) for change in _new(points)]
    if found:
        _store(report, threshold, found, now)
    return len(found)


def _new(points: Sequence[tuple[UUID, float]]) -> list[detection.ChangePoint]:
    """The changes in the series, oldest first, but for those that are stored: they move by a place or two while values come in."""
    changes = detection.change_points([value for _, value in points])
    if not changes:
        return []
    stored = set(ChangePoint.objects.filter(metric__among=[metric for metric, _ in points]).values_list("metric_id", flat=True))
    known = [place for place, (metric, _) in enumerate(points) if metric in stored]
    return [change for change in changes if all(abs(change.index - place) > SEGMENT for place in known)]


def _store(report: Report, threshold: Threshold, found: Sequence[Found], now: datetime) -> None:
    columns: bulk.Columns = {
        "id": [uuid7() for _ in found],
        "threshold": [threshold.id] * len(found),
        "metric": [metric for _, metric, _ in found],
        "report": [report.id] * len(found),
        "before": [change.before_mean for _, _, change in found],
        "after": [change.after_mean for _, _, change in found],
        "p_value": [change.p_value for _, _, change in found],
        "created": [now] * len(found),
    }
    with transaction.atomic():
        locked = Report.objects.select_for_update(no_key=True).filter(pk=report.pk).first()
        if locked is None:
            return
        bulk.insert(ChangePoint, columns, ignore_conflicts=True)
        said = change_point(threshold.measure_id, sorted({benchmark for benchmark, _, _ in found}))
        locked.verdicts = stored([*load(locked.verdicts), said])
        locked.save(update_fields=["verdicts"])
