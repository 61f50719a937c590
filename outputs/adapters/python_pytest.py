"""pytest-benchmark's JSON; times are seconds."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from .results import Benchmarks, record, spread
from .source import Source

SECOND = 1e9
"""In nanoseconds."""


class Stats(Struct):
    mean: float
    stddev: float
    median: float
    iqr: float


class Benchmark(Struct):
    fullname: str
    stats: Stats | None = None


class Report(Struct):
    machine_info: Any
    commit_info: Any
    benchmarks: list[Benchmark]


def parse(source: Source, average: str | None) -> Benchmarks:
    """Mean ± standard deviation or median ± interquartile range. A benchmark that did not run has no stats and is skipped."""
    benchmarks: Benchmarks = {}
    for row in source.convert(Report).benchmarks:
        if (stats := row.stats) is None:
            continue
        value, deviation = (stats.median, stats.iqr) if average == "median" else (stats.mean, stats.stddev)
        record(benchmarks, row.fullname, {"latency": spread(value * SECOND, deviation * SECOND)})
    return benchmarks
