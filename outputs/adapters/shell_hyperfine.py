"""``hyperfine --export-json``; times are seconds."""

from __future__ import annotations

from msgspec import Struct

from .results import Benchmarks, Metric, record, spread
from .source import Source

SECOND = 1e9
"""In nanoseconds."""


class Run(Struct):
    command: str
    mean: float
    median: float
    min: float
    max: float
    user: float
    system: float
    exit_codes: list[int | None]
    stddev: float | None = None


class Report(Struct):
    results: list[Run]


def parse(source: Source, average: str | None) -> Benchmarks:
    """Mean ± standard deviation (a single run has none), or the median between minimum and maximum."""
    benchmarks: Benchmarks = {}
    for run in source.convert(Report).results:
        if average == "median":
            metric = Metric(run.median * SECOND, run.min * SECOND, run.max * SECOND)
        else:
            metric = spread(run.mean * SECOND, None if run.stddev is None else run.stddev * SECOND)
        record(benchmarks, run.command, {"latency": metric})
    return benchmarks
