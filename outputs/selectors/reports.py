"""Reports: lists, one, and everything that is shown of them in a constant number of queries."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery

from bencher.core.compiled import Compiled, Slot
from bencher.core.errors import Missing
from bencher.projects.models import Project
from outputs.models import Alert, Benchmark, Branch, HeadVersion, Measure, Metric, Report, Testbed, ThresholdModel
from outputs.selectors.dimensions import filter_by

SHOWN = ("project__organization", "user", "head__branch", "head__start_version", "version", "testbed", "spec")
NEWEST_FIRST = ("-start_time", "-end_time", "-created", "-id")
OLDEST_FIRST = ("start_time", "end_time", "created", "id")


def number_of(head: str, version: str) -> Subquery:
    """The number that a version has in a head, as a column of a query."""
    places = HeadVersion.objects.filter(head=OuterRef(head), version=OuterRef(version))
    return Subquery(places.order_by("id").values("number")[:1])


def shown(reports: QuerySet[Report]) -> QuerySet[Report]:
    """With all that the JSON of a report needs of other tables, and ``number``, its version's."""
    return reports.select_related(*SHOWN).annotate(number=number_of("head", "version"))


def as_shown(report: Report) -> Report:
    """The report as ``shown`` gives it: itself when it was just made, with all that belongs to it, else read anew."""
    if hasattr(report, "number"):
        return report
    row = _SHOWN.first(id=report.pk)
    if row is None:
        raise Missing("no such report")
    return row


_SHOWN = Compiled(lambda: shown(Report.objects.filter(pk=Slot("id"))))


def get_report(project: Project, uuid: UUID) -> Report:
    row = shown(Report.objects.filter(project=project, id=uuid)).first()
    if row is None:
        raise Missing("no such report")
    return row


def listed(
    project: Project,
    *,
    branch: str | None,
    testbed: str | None,
    start_time: datetime | None,
    end_time: datetime | None,
    archived: bool,
    direction: str | None,
) -> QuerySet[Report]:
    """The newest first. ``branch`` and ``testbed`` are NameIds; the times are inclusive."""
    reports = Report.objects.filter(project=project)
    reports = filter_by(reports, "head__branch", Branch, project, branch)
    reports = filter_by(reports, "testbed", Testbed, project, testbed)
    if start_time is not None:
        reports = reports.filter(start_time__gte=start_time)
    if end_time is not None:
        reports = reports.filter(end_time__lte=end_time)
    live = Q(head__branch__archived=None, testbed__archived=None)
    reports = reports.filter(~live if archived else live)
    return reports.order_by(*(OLDEST_FIRST if direction == "asc" else NEWEST_FIRST))


# -- what is in them ------------------------------------------------------------------------------------------------
MetricRow = tuple[UUID, UUID, int, UUID, UUID, float, float | None, float | None, UUID | None, float | None, float | None, float | None]
"""id, report, iteration, benchmark, measure, value, lower, upper, model, baseline, lower limit, upper limit."""
METRIC_COLUMNS = (
    *("id", "report_id", "iteration", "benchmark_id", "measure_id", "value", "lower_value", "upper_value"),
    *("model_id", "baseline", "lower_limit", "upper_limit"),
)


BenchmarkRow = tuple[UUID, UUID, str, str, datetime, datetime, datetime | None]
BENCHMARK_COLUMNS = ("id", "project_id", "name", "slug", "created", "modified", "archived")
MeasureRow = tuple[UUID, UUID, str, str, str, datetime, datetime, datetime | None]
MEASURE_COLUMNS = ("id", "project_id", "name", "slug", "units", "created", "modified", "archived")


@dataclass(frozen=True, slots=True)
class Contents:
    """The metrics of some reports and what they refer to."""

    metrics: Sequence[MetricRow]
    benchmarks: dict[UUID, BenchmarkRow]
    measures: dict[UUID, MeasureRow]
    models: dict[UUID, ThresholdModel]
    alerts: list[Alert]


@dataclass(frozen=True, slots=True)
class Named:
    """Benchmarks and measures, whole, by id."""

    benchmarks: dict[UUID, BenchmarkRow] = field(default_factory=dict)
    measures: dict[UUID, MeasureRow] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Written:
    """What a report was just written with; of ``named`` there may be less than its metrics name."""

    metrics: Sequence[MetricRow]
    named: Named


def contents(rows: Sequence[Report]) -> Contents:
    """Five queries, however many reports and metrics. Of a report that was just written what is known is not read again."""
    reports = [row.id for row in rows if row.size]
    written: Written | None = rows[0].written if len(rows) == 1 else None
    metrics: Sequence[Any] = written.metrics if written else _METRICS.rows(reports=reports) if reports else []
    benchmarks, measures, models = ({row[place] for row in metrics} for place in (3, 4, 8))
    models.discard(None)
    named = written.named if written else Named()
    return Contents(
        metrics,
        _known_or_read(benchmarks, named.benchmarks, _BENCHMARKS),
        _known_or_read(measures, named.measures, _MEASURES),
        {row.id: row for row in (_MODELS.rows(ids=models) if models else ())},
        _ALERTS.rows(reports=reports) if models else [],
    )


def _known_or_read(ids: set[UUID], known: dict[UUID, Any], query: Compiled[Any]) -> dict[UUID, Any]:
    missing = ids - known.keys()
    return {**known, **{row[0]: row for row in query.rows(ids=missing)}} if missing else known


_METRICS: Compiled[Any] = Compiled(
    lambda: Metric.objects.filter(report__among=Slot("reports")).order_by("report_id", "iteration", "id").values_list(*METRIC_COLUMNS)
)
_BENCHMARKS: Compiled[Any] = Compiled(
    lambda: Benchmark.objects.filter(id__among=Slot("ids")).order_by("id").values_list(*BENCHMARK_COLUMNS)
)
"""Columns instead of instances: there may be ten thousand."""
_MEASURES: Compiled[Any] = Compiled(lambda: Measure.objects.filter(id__among=Slot("ids")).order_by("id").values_list(*MEASURE_COLUMNS))
_MODELS = Compiled(lambda: ThresholdModel.objects.select_related("threshold").filter(id__among=Slot("ids")).order_by("id"))
_ALERTS = Compiled(lambda: Alert.objects.filter(report__among=Slot("reports")).order_by("status", "-modified", "id"))


def in_bulk(rows: QuerySet[Any], ids: Collection[UUID]) -> dict[UUID, Any]:
    return {row.pk: row for row in rows.filter(pk__among=ids).order_by("pk")} if ids else {}


def alert_counts(reports: Collection[UUID]) -> dict[UUID, tuple[int, int]]:
    """(all, active) alerts by report."""
    counted = Alert.objects.filter(report__among=reports).order_by("report_id").values("report_id")
    rows = counted.annotate(total=Count("id"), active=Count("id", filter=Q(status="active")))
    return {row["report_id"]: (row["total"], row["active"]) for row in rows}
