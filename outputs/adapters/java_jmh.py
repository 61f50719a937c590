"""JMH's JSON."""

from __future__ import annotations

from msgspec import Struct

from .results import Benchmarks, Metric, Refused, record, shown
from .source import Source
from .units import NANOSECONDS, SECONDS


class Primary(Struct, rename="camel"):
    score: float
    score_confidence: tuple[float | str, float | str]
    score_unit: str


class Benchmark(Struct, rename="camel"):
    benchmark: str
    primary_metric: Primary


def parse(source: Source, _average: str | None) -> Benchmarks:
    """Time per operation is latency, operations per time throughput; the confidence interval gives the bounds."""
    benchmarks: Benchmarks = {}
    for row in source.convert(list[Benchmark]):
        measure, factor = _measure(row.benchmark, row.primary_metric.score_unit)
        record(benchmarks, row.benchmark, {measure: _metric(row.primary_metric, factor)})
    return benchmarks


def _measure(benchmark: str, unit: str) -> tuple[str, float]:
    """Measure and the factor to its units."""
    over, _, under = unit.partition("/")
    if under == "op" and over in NANOSECONDS:
        return "latency", NANOSECONDS[over]
    if over == "ops" and under in SECONDS:
        return "throughput", 1 / SECONDS[under]
    raise Refused("invalid", f"benchmark {shown(benchmark)} has an unknown unit {shown(unit)}")


def _metric(primary: Primary, factor: float) -> Metric:
    """One iteration gives no interval: JMH then writes the strings ``"NaN"`` or ``"±INF"``."""
    value, (lower, upper) = primary.score * factor, primary.score_confidence
    if isinstance(lower, str) or isinstance(upper, str):
        return Metric(value)
    return Metric(value, lower * factor, upper * factor)
