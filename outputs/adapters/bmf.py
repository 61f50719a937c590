"""Bencher Metric Format, the format of ``json`` (spec 6.5)."""

from __future__ import annotations

import math
from typing import Any

from .results import Benchmarks, Measures, Metric, Refused, check_name, shown
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
    for measure in {measure: None for measures in document.value.values() for measure in measures}:
        check_name(measure, "measure name", MEASURE_BYTES)
        if measure != measure.strip():
            raise Refused("invalid", f"measure name {shown(measure)} begins or ends with white space")
    return {_name(benchmark): _measures(document, benchmark, measures) for benchmark, measures in document.value.items()}


def _name(benchmark: str) -> str:
    check_name(benchmark, "benchmark name")
    return benchmark


def _measures(document: Document, benchmark: str, measures: dict[str, dict[str, Any]]) -> Measures:
    metrics = {}
    for measure, metric in measures.items():
        if document.repeated and id(metric) in document.repeated:
            raise Refused("invalid", f"{_place(benchmark, measure)} names a key twice")
        try:
            lower, upper = metric.get("lower_value"), metric.get("upper_value")
            metrics[measure] = Metric(
                _number(metric["value"]), None if lower is None else _number(lower), None if upper is None else _number(upper)
            )
        except (KeyError, TypeError):
            raise Refused("invalid", f"{_place(benchmark, measure)}: value must be a finite number, as must its bounds, if any") from None
    return metrics


def _number(value: object) -> float:
    """Raises TypeError for all but finite numbers."""
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is int:
        return float(value)
    raise TypeError


def _place(benchmark: str, measure: str) -> str:
    return f"benchmark {shown(benchmark)}, measure {shown(measure)}"
