"""``vitest bench --outputJson``; times are milliseconds."""

from __future__ import annotations

from msgspec import Struct

from .results import NAME_BYTES, Benchmarks, Metric, record, spread
from .source import Source

MILLISECOND = 1e6
"""In nanoseconds."""


class Benchmark(Struct):
    name: str
    hz: float
    mean: float
    median: float
    sd: float
    rme: float


class Group(Struct, rename="camel"):
    full_name: str
    benchmarks: list[Benchmark]


class File(Struct):
    groups: list[Group]


class Report(Struct):
    files: list[File]


def parse(source: Source, average: str | None) -> Benchmarks:
    """Latency (mean ± standard deviation, or the median alone) and throughput with its relative margin of error."""
    benchmarks: Benchmarks = {}
    for file in source.convert(Report).files:
        for group in file.groups:
            for row in group.benchmarks:
                latency = Metric(row.median * MILLISECOND) if average == "median" else spread(row.mean * MILLISECOND, row.sd * MILLISECOND)
                throughput = spread(row.hz, row.hz * row.rme / 100)
                record(benchmarks, _name(group.full_name, row.name), {"latency": latency, "throughput": throughput})
    return benchmarks


def _name(group: str, leaf: str) -> str:
    """The full name, or the leaf alone when there is no group or the whole would be too long to store."""
    full = f"{group} > {leaf}"
    return leaf if not group or len(full.encode(errors="replace")) > NAME_BYTES else full
