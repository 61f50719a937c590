"""Google Benchmark's JSON."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from .results import Benchmarks, Metric, Refused, record, shown
from .source import Source
from .units import NANOSECONDS


class Row(Struct):
    name: str
    real_time: float | None = None
    time_unit: str | None = None
    aggregate_unit: str | None = None
    error_occurred: bool = False
    skipped: bool = False


class Context(Struct):
    caches: list[Any]


class Report(Struct):
    context: Context
    benchmarks: list[Row]


def parse(source: Source, _average: str | None) -> Benchmarks:
    """Wall time. Rows that hold no time are skipped: complexity, RMS, relative aggregates, failed and skipped benchmarks."""
    benchmarks: Benchmarks = {}
    for row in source.convert(Report).benchmarks:
        if row.real_time is None or row.time_unit is None or row.aggregate_unit == "percentage" or row.error_occurred or row.skipped:
            continue
        if row.time_unit not in NANOSECONDS:
            raise Refused("invalid", f"benchmark {shown(row.name)} has an unknown time unit {shown(row.time_unit)}")
        record(benchmarks, row.name, {"latency": Metric(row.real_time * NANOSECONDS[row.time_unit])})
    return benchmarks
