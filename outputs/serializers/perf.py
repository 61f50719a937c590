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
    models: dict[UUID, ThresholdModel],
    *,
    start_time: datetime | None,
    end_time: datetime | None,
) -> JsonPerf:
    shown = {key: threshold_model_json(row) for key, row in models.items()}
    return JsonPerf(project_json(project), ts_or_none(start_time), ts_or_none(end_time), [_result(line, shown) for line in lines])


def _result(line: Line, models: dict[UUID, JsonThresholdModel]) -> JsonPerfResult:
    newest = line.points[-1]
    return JsonPerfResult(
        branch_json(line.branch, line.head, JsonVersion(newest.number, newest.hash)),
        testbed_json(line.testbed, line.spec),
        benchmark_json(line.benchmark),
        measure_json(line.measure),
        [_metric(point, models) for point in line.points],
    )


def _metric(point: Any, models: dict[UUID, JsonThresholdModel]) -> JsonPerfMetric:
    """Texts stand where the structs name UUIDs: they encode to the same."""
    model = point.model_id
    return JsonPerfMetric(
        point.report_id,
        point.iteration,
        point.start_time,
        point.end_time,
        JsonVersion(point.number, point.hash),
        JsonMetric(point.metric_id, point.value, point.lower_value, point.upper_value),
        models[model] if model else None,
        JsonBoundary(point.baseline, point.lower_limit, point.upper_limit) if model else None,
        JsonPerfAlert(point.alert_id, point.alert_limit, point.alert_status, point.alert_modified) if point.alert_id else None,
        UNSET if point.change_p_value is None else JsonChangePoint(point.change_before, point.change_after, point.change_p_value),
    )
