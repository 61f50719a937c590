"""What REST shows of single metrics (rest.md 5.4)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from bencher.core.api import ts
from bencher.core.newtypes import Moment
from outputs.serializers.dimensions import (
    JsonBenchmark,
    JsonBranch,
    JsonMeasure,
    JsonTestbed,
    JsonVersion,
    benchmark_json,
    branch_json,
    measure_json,
    testbed_json,
)
from outputs.serializers.thresholds import (
    JsonBoundary,
    JsonChangePoint,
    JsonMetric,
    JsonPerfAlert,
    JsonThresholdModel,
    change_point_json,
    perf_alert_json,
    threshold_model_json,
)


class JsonOneMetric(msgspec.Struct, kw_only=True):
    uuid: UUID
    report: UUID
    iteration: int
    start_time: Moment
    end_time: Moment
    branch: JsonBranch
    testbed: JsonTestbed
    benchmark: JsonBenchmark
    measure: JsonMeasure
    metric: JsonMetric
    threshold: JsonThresholdModel | None
    boundary: JsonBoundary | None
    alert: JsonPerfAlert | None
    change_point: JsonChangePoint | UnsetType = UNSET
    """An extension: a new level begins with this value."""


def one_metric_json(row: Any) -> JsonOneMetric:
    """``row``: of ``selectors.metrics.get_metric``."""
    report, alert, change = row.report, getattr(row, "alert", None), getattr(row, "change_point", None)
    return JsonOneMetric(
        uuid=row.id,
        report=report.id,
        iteration=row.iteration,
        start_time=ts(report.start_time),
        end_time=ts(report.end_time),
        branch=branch_json(report.head.branch, report.head, JsonVersion(row.number, report.version.hash)),
        testbed=testbed_json(report.testbed, report.spec),
        benchmark=benchmark_json(row.benchmark),
        measure=measure_json(row.measure),
        metric=JsonMetric(row.id, row.value, row.lower_value, row.upper_value),
        threshold=threshold_model_json(row.model) if row.model else None,
        boundary=JsonBoundary(row.baseline, row.lower_limit, row.upper_limit) if row.model else None,
        alert=perf_alert_json(alert) if alert else None,
        change_point=change_point_json(change) if change else UNSET,
    )
