"""What REST shows of thresholds, boundaries and alerts (rest.md 2.8, 5.5, 5.7)."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

import msgspec

from bencher.core.api import ts, ts_or_none
from bencher.core.newtypes import Moment
from outputs.models import Alert, ChangePoint, Threshold, ThresholdModel
from outputs.serializers.dimensions import (
    JsonBenchmark,
    JsonBranch,
    JsonMeasure,
    JsonTestbed,
    JsonVersion,
    benchmark_json,
    branch_json,
    measure_json,
    stored_testbed_json,
    testbed_json,
)


class JsonMetric(msgspec.Struct, gc=False):
    uuid: UUID
    value: float
    lower_value: float | None
    upper_value: float | None


class JsonBoundary(msgspec.Struct, gc=False):
    """All null: there was too little history, or the test could do nothing with it."""

    baseline: float | None
    lower_limit: float | None
    upper_limit: float | None


class JsonModel(msgspec.Struct):
    uuid: UUID
    test: Literal["static", "percentage", "z_score", "t_test", "log_normal", "iqr", "delta_iqr"]
    min_sample_size: int | None
    max_sample_size: int | None
    window: int | None
    lower_boundary: float | None
    upper_boundary: float | None
    created: Moment
    replaced: Moment | None


class JsonThresholdModel(msgspec.Struct):
    """A threshold with the model that judged a metric."""

    uuid: UUID
    project: UUID
    model: JsonModel
    created: Moment


class JsonThreshold(msgspec.Struct):
    uuid: UUID
    project: UUID
    branch: JsonBranch
    testbed: JsonTestbed
    measure: JsonMeasure
    model: JsonModel | None
    created: Moment
    modified: Moment
    change_points: bool
    """An extension: lasting changes of level are looked for too."""


Limit = Literal["lower", "upper"]
Status = Literal["active", "dismissed", "silenced"]


class JsonAlert(msgspec.Struct):
    uuid: UUID
    report: UUID
    iteration: int
    benchmark: JsonBenchmark
    metric: JsonMetric
    threshold: JsonThreshold
    boundary: JsonBoundary
    limit: Limit
    status: Status
    created: Moment
    modified: Moment


class JsonPerfAlert(msgspec.Struct):
    uuid: UUID
    limit: Limit
    status: Status
    modified: Moment


class JsonChangePoint(msgspec.Struct):
    """The series moved to another level here, and stayed there. ``p_value`` of Welch's test between the two levels."""

    before: float
    after: float
    p_value: float


def model_json(row: ThresholdModel) -> JsonModel:
    test: Any = row.test
    return JsonModel(
        row.id,
        test,
        row.min_sample_size,
        row.max_sample_size,
        row.window,
        row.lower_boundary,
        row.upper_boundary,
        ts(row.created),
        ts_or_none(row.replaced),
    )


def threshold_model_json(row: ThresholdModel) -> JsonThresholdModel:
    """``row.threshold`` is loaded."""
    return JsonThresholdModel(row.threshold_id, row.threshold.project_id, model_json(row), ts(row.threshold.created))


def threshold_json(row: Threshold, model: ThresholdModel | None) -> JsonThreshold:
    """With ``model`` shown in it. ``row.branch.head``, ``row.testbed.spec`` and ``row.measure`` are loaded."""
    return JsonThreshold(
        row.id,
        row.project_id,
        branch_json(row.branch),
        stored_testbed_json(row.testbed),
        measure_json(row.measure),
        None if model is None else model_json(model),
        ts(row.created),
        ts(row.modified),
        row.change_points,
    )


def judging_threshold_json(
    row: ThresholdModel, branch: JsonBranch, testbed: JsonTestbed, measure: JsonMeasure, model: JsonModel
) -> JsonThreshold:
    """The threshold of an alert: with the report's branch and testbed, and the model in force then."""
    threshold = row.threshold
    return JsonThreshold(
        threshold.id,
        threshold.project_id,
        branch,
        testbed,
        measure,
        model,
        ts(threshold.created),
        ts(threshold.modified),
        threshold.change_points,
    )


def alert_json(row: Alert, number: int) -> JsonAlert:
    """One alert of a list; everything is loaded. ``number``: of the report's version in its head."""
    report, metric = row.report, row.metric
    model: Any = metric.model
    branch = branch_json(report.head.branch, report.head, JsonVersion(number, report.version.hash))
    limit: Any = row.limit
    status: Any = row.status
    return JsonAlert(
        row.id,
        report.id,
        metric.iteration,
        benchmark_json(metric.benchmark),
        JsonMetric(metric.id, metric.value, metric.lower_value, metric.upper_value),
        judging_threshold_json(model, branch, testbed_json(report.testbed, report.spec), measure_json(metric.measure), model_json(model)),
        JsonBoundary(metric.baseline, metric.lower_limit, metric.upper_limit),
        limit,
        status,
        ts(report.created),
        ts(row.modified),
    )


def perf_alert_json(row: Alert) -> JsonPerfAlert:
    limit: Any = row.limit
    status: Any = row.status
    return JsonPerfAlert(row.id, limit, status, ts(row.modified))


def change_point_json(row: ChangePoint) -> JsonChangePoint:
    return JsonChangePoint(row.before, row.after, row.p_value)
