"""What REST shows of reports (rest.md 2.8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from bencher.core.api import ts
from bencher.core.newtypes import Moment
from bencher.projects.serializers import JsonProject, JsonPubUser, project_json, pub_user_json
from outputs.models import Report
from outputs.selectors import reports as selectors
from outputs.selectors.reports import Contents, MetricRow
from outputs.serializers.dimensions import (
    JsonBenchmark,
    JsonBranch,
    JsonMeasure,
    JsonTestbed,
    JsonVersion,
    benchmark_row_json,
    branch_json,
    measure_row_json,
    testbed_json,
)
from outputs.serializers.thresholds import (
    JsonAlert,
    JsonBoundary,
    JsonMetric,
    JsonModel,
    JsonThresholdModel,
    judging_threshold_json,
    model_json,
)
from outputs.verdicts import Verdict, load


class JsonReportMeasure(msgspec.Struct):
    measure: JsonMeasure
    metric: JsonMetric
    threshold: JsonThresholdModel | None
    boundary: JsonBoundary | None


class JsonReportResult(msgspec.Struct):
    iteration: int
    benchmark: JsonBenchmark
    measures: list[JsonReportMeasure]


class JsonResultCounts(msgspec.Struct):
    benchmarks: int
    measures: int


class JsonAlertCounts(msgspec.Struct):
    total: int
    active: int


class JsonReportCounts(msgspec.Struct):
    results: list[JsonResultCounts]
    alerts: JsonAlertCounts


class JsonReport(msgspec.Struct, kw_only=True):
    uuid: UUID
    user: JsonPubUser | None
    project: JsonProject
    branch: JsonBranch
    testbed: JsonTestbed
    start_time: Moment
    end_time: Moment
    adapter: str
    results: list[list[JsonReportResult]] | UnsetType = UNSET
    alerts: list[JsonAlert] | UnsetType = UNSET
    counts: JsonReportCounts
    job: UUID | UnsetType = UNSET
    created: Moment
    verdicts: list[Verdict] | UnsetType = UNSET
    """An extension: what a reader would miss in the numbers."""


Results = list[list[JsonReportResult]]


def report_json(report: Report, *, expand: bool = True) -> JsonReport:
    """One report as it is stored now."""
    return reports_json([selectors.as_shown(report)], expand=expand)[0]


def reports_json(rows: Sequence[Report], *, expand: bool) -> list[JsonReport]:
    """``rows``: of ``selectors.reports.shown``. Seven queries at the most, however many rows."""
    ids = [row.id for row in rows]
    found = Expansion(rows, selectors.contents(rows)) if expand and ids else None
    counts = found.alert_counts() if found else selectors.alert_counts(ids)
    return [_report(row, counts.get(row.id, (0, 0)), found) for row in rows]


def _report(row: Report, alerts: tuple[int, int], found: Expansion | None) -> JsonReport:
    return JsonReport(
        uuid=row.id,
        user=pub_user_json(row.user),
        project=project_json(row.project),
        branch=report_branch_json(row),
        testbed=testbed_json(row.testbed, row.spec),
        start_time=ts(row.start_time),
        end_time=ts(row.end_time),
        adapter=row.adapter,
        results=found.results.get(row.id, []) if found else UNSET,
        alerts=found.alerts.get(row.id, []) if found else UNSET,
        counts=JsonReportCounts([JsonResultCounts(*pair) for pair in row.counts], JsonAlertCounts(*alerts)),
        job=row.job or UNSET,
        created=ts(row.created),
        verdicts=load(row.verdicts) if row.verdicts else UNSET,
    )


def report_branch_json(row: Any) -> JsonBranch:
    """The branch with the report's own head and version. ``row.number``: of the version in that head."""
    return branch_json(row.head.branch, row.head, JsonVersion(row.number, row.version.hash))


class Expansion:
    """Results and alerts of some reports; what they share (benchmarks, measures, models) is made once."""

    def __init__(self, rows: Sequence[Report], contents: Contents) -> None:
        self._reports = {row.id: row for row in rows}
        self._contents = contents
        self._benchmarks = {key: benchmark_row_json(*row) for key, row in contents.benchmarks.items()}
        self._measures = {key: measure_row_json(*row) for key, row in contents.measures.items()}
        self._models: dict[UUID, JsonModel] = {key: model_json(row) for key, row in contents.models.items()}
        self._thresholds = {
            key: JsonThresholdModel(row.threshold_id, row.threshold.project_id, self._models[key], ts(row.threshold.created))
            for key, row in contents.models.items()
        }
        self._metrics = {row[0]: row for row in contents.metrics} if contents.alerts else {}
        self.results: dict[UUID, Results] = self._all_results()
        self.alerts: dict[UUID, list[JsonAlert]] = self._all_alerts()

    def alert_counts(self) -> dict[UUID, tuple[int, int]]:
        return {key: (len(alerts), sum(alert.status == "active" for alert in alerts)) for key, alerts in self.alerts.items()}

    def _all_results(self) -> dict[UUID, Results]:
        """Iterations in order; in each the benchmarks by name, their measures by name."""
        grouped: dict[UUID, dict[int, dict[UUID, list[JsonReportMeasure]]]] = {}
        for row in self._contents.metrics:
            grouped.setdefault(row[1], {}).setdefault(row[2], {}).setdefault(row[3], []).append(self._measure(row))
        return {
            report: [self._iteration(number, benchmarks) for number, benchmarks in sorted(iterations.items())]
            for report, iterations in grouped.items()
        }

    def _iteration(self, number: int, benchmarks: dict[UUID, list[JsonReportMeasure]]) -> list[JsonReportResult]:
        results = [
            JsonReportResult(number, self._benchmarks[key], sorted(measures, key=lambda item: item.measure.name))
            for key, measures in benchmarks.items()
        ]
        results.sort(key=lambda result: (result.benchmark.name, result.benchmark.uuid))
        return results

    def _measure(self, row: MetricRow) -> JsonReportMeasure:
        id, _, _, _, measure, value, lower, upper, model, baseline, lower_limit, upper_limit = row
        return JsonReportMeasure(
            self._measures[measure],
            JsonMetric(id, value, lower, upper),
            self._thresholds[model] if model else None,
            JsonBoundary(baseline, lower_limit, upper_limit) if model else None,
        )

    def _all_alerts(self) -> dict[UUID, list[JsonAlert]]:
        places = {key: (report_branch_json(row), testbed_json(row.testbed, row.spec)) for key, row in self._reports.items()}
        found: dict[UUID, list[JsonAlert]] = {}
        for alert in self._contents.alerts:
            _, _, iteration, benchmark, measure, value, lower, upper, model, *limits = self._metrics[alert.metric_id]
            judge = cast(UUID, model)
            branch, testbed = places[alert.report_id]
            limit: Any = alert.limit
            status: Any = alert.status
            json = JsonAlert(
                alert.id,
                alert.report_id,
                iteration,
                self._benchmarks[benchmark],
                JsonMetric(alert.metric_id, value, lower, upper),
                judging_threshold_json(self._contents.models[judge], branch, testbed, self._measures[measure], self._models[judge]),
                JsonBoundary(*limits),
                limit,
                status,
                ts(self._reports[alert.report_id].created),
                ts(alert.modified),
            )
            found.setdefault(alert.report_id, []).append(json)
        return found
