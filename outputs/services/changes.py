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
Points = Sequence[tuple[UUID, float]]
"""Metric and value, oldest first."""
Found = tuple[UUID, Points, detection.ChangePoint]
"""Benchmark, its series, what was found."""


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
    histories = newest_points(series, measure_id=threshold.measure_id, benchmarks=benchmarks, most=MOST)
    found = [
        (benchmark, points, change)
        for benchmark, points in histories.items()
        for change in detection.change_points([value for _, value in points])
    ]
    return len(_store(report, threshold, found, now)) if _unknown(found) else 0


def _unknown(found: Sequence[Found]) -> list[Found]:
    """Those that are not stored yet, not even a place or two away: they move while values come in."""
    metrics = {metric for _, points, _ in found for metric, _ in points}
    stored_at = set(ChangePoint.objects.filter(metric__among=metrics).values_list("metric_id", flat=True)) if metrics else set()

    def known(points: Points, index: int) -> bool:
        return any(metric in stored_at for metric, _ in points[max(index - SEGMENT, 0) : index + SEGMENT + 1])

    return [item for item in found if not known(item[1], item[2].index)]


@transient()
def _store(report: Report, threshold: Threshold, found: Sequence[Found], now: datetime) -> list[Found]:
    """Looked at again with the threshold held: several reports of one series may be looked through at the same time."""
    with transaction.atomic():
        Threshold.objects.select_for_update(no_key=True).filter(pk=threshold.pk).first()
        said = Report.objects.select_for_update(no_key=True).filter(pk=report.pk).first()
        if said is None or not (found := _unknown(found)):
            return []
        columns: bulk.Columns = {
            "id": [uuid7() for _ in found],
            "threshold": [threshold.id] * len(found),
            "metric": [points[change.index][0] for _, points, change in found],
            "report": [report.id] * len(found),
            "before": [change.before_mean for _, _, change in found],
            "after": [change.after_mean for _, _, change in found],
            "p_value": [change.p_value for _, _, change in found],
            "created": [now] * len(found),
        }
        bulk.insert(ChangePoint, columns)
        verdict = change_point(threshold.measure_id, sorted({benchmark for benchmark, _, _ in found}))
        said.verdicts = stored([*load(said.verdicts), verdict])
        said.save(update_fields=["verdicts"])
    return list(found)
