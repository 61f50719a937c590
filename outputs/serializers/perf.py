"""What REST shows of series (rest.md 5.8)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from bencher.core.api import ts_or_none
from bencher.core.newtypes import Moment
from bencher.projects.models import Project
from bencher.projects.serializers import JsonProject, project_json
from outputs.models import ThresholdModel
from outputs.selectors.perf import Line
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
    threshold_model_json,
)


class JsonPerfMetric(msgspec.Struct, gc=False):
    report: UUID
    iteration: int
    start_time: Moment
    end_time: Moment
    version: JsonVersion
    metric: JsonMetric
    threshold: JsonThresholdModel | None
    boundary: JsonBoundary | None
    alert: JsonPerfAlert | None
    change_point: JsonChangePoint | UnsetType = UNSET
    """An extension: a new level begins with this value."""


class JsonPerfResult(msgspec.Struct):
    branch: JsonBranch
    testbed: JsonTestbed
    benchmark: JsonBenchmark
    measure: JsonMeasure
    metrics: list[JsonPerfMetric]


class JsonPerf(msgspec.Struct):
    project: JsonProject
    start_time: Moment | None
    end_time: Moment | None
    results: list[JsonPerfResult]


def perf_json(
    project: Project,
    lines: Sequence[Line],
    models: dict[str, ThresholdModel],
    *,
    start_time: datetime | None,
    end_time: datetime | None,
) -> JsonPerf:
    shown = {key: msgspec.Raw(msgspec.json.encode(threshold_model_json(row))) for key, row in models.items()}
    return JsonPerf(project_json(project), ts_or_none(start_time), ts_or_none(end_time), [_result(line, shown) for line in lines])


def _result(line: Line, models: dict[str, Any]) -> JsonPerfResult:
    newest = line.points[-1]
    return JsonPerfResult(
        branch_json(line.branch, line.head, JsonVersion(newest.number, newest.hash)),
        testbed_json(line.testbed, line.spec),
        benchmark_json(line.benchmark),
        measure_json(line.measure),
        [_metric(point, models) for point in line.points],
    )


def _metric(point: Any, models: dict[str, Any]) -> JsonPerfMetric:
    """Texts stand where the structs name UUIDs, and a model's JSON where they name it: they encode to the same."""
    _, iteration, metric_id, visit, value, lower_value, upper_value, model, baseline, lower_limit, upper_limit, alert, change = point
    _, report_id, _, start_time, end_time, number, hash = visit
    return JsonPerfMetric(
        report_id,
        iteration,
        start_time,
        end_time,
        JsonVersion(number, hash),
        JsonMetric(metric_id, value, lower_value, upper_value),
        models[model] if model else None,
        JsonBoundary(baseline, lower_limit, upper_limit) if model else None,
        JsonPerfAlert(*alert) if alert else None,
        JsonChangePoint(*change) if change else UNSET,
    )
