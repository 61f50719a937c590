"""Bencher Metric Format, the format of ``json`` (spec 6.5)."""

from __future__ import annotations

import math
from typing import Any

from .results import Benchmarks, Metric, Refused, check_name, shown
from .source import Document, Source

MEASURE_BYTES = 64


def parse(source: Source, _average: str | None) -> Benchmarks:
    """``{benchmark: {measure: {"value", "lower_value"?, "upper_value"?}}}``; keys are NameIds, ``{}`` is valid."""
    document = source.document
    if not isinstance(document.value, dict):
        raise Refused("nothing_parsed", "a JSON document, but not an object of benchmarks")
    for benchmark, measures in document.value.items():
        if not isinstance(measures, dict):
            raise Refused("nothing_parsed", f"benchmark {shown(benchmark)} is not an object of measures")
        for measure, metric in measures.items():
            if not isinstance(metric, dict):
                raise Refused("nothing_parsed", f"{_place(benchmark, measure)} is not an object with a value")
    if not document.strict:
        raise Refused("invalid", "NaN, Infinity and raw control characters are not JSON")
    return {_name(benchmark): _measures(document, benchmark, measures) for benchmark, measures in document.value.items()}


def _name(benchmark: str) -> str:
    check_name(benchmark, "benchmark name")
    return benchmark


def _measures(document: Document, benchmark: str, measures: dict[str, dict[str, Any]]) -> dict[str, Metric]:
    metrics = {}
    for measure, metric in measures.items():
        check_name(measure, "measure name", MEASURE_BYTES)
        if measure != measure.strip():
            raise Refused("invalid", f"measure name {shown(measure)} begins or ends with white space")
        if id(metric) in document.repeated:
            raise Refused("invalid", f"{_place(benchmark, measure)} names a key twice")
        value, lower, upper = metric.get("value"), metric.get("lower_value"), metric.get("upper_value")
        if not _number(value):
            raise Refused("invalid", f"{_place(benchmark, measure)}: value must be a finite number")
        for key, bound in (("lower_value", lower), ("upper_value", upper)):
            if bound is not None and not _number(bound):
                raise Refused("invalid", f"{_place(benchmark, measure)}: {key} must be a finite number or null")
        metrics[measure] = Metric(float(value), None if lower is None else float(lower), None if upper is None else float(upper))
    return metrics


def _number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]


def _place(benchmark: str, measure: str) -> str:
    return f"benchmark {shown(benchmark)}, measure {shown(measure)}"
