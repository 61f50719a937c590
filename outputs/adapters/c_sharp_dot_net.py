"""BenchmarkDotNet's JSON exporter; times are nanoseconds."""

from __future__ import annotations

from typing import Annotated, Any, Final

from msgspec import Meta, Struct, field

from .results import Benchmarks, Metric, record, spread
from .source import Source

Count = Annotated[int, Meta(ge=0, le=2**32 - 1)]
Deviation = float | str | None
"""Where one run gives no deviation, old releases write NaN, later ones an empty string."""


class Statistics(Struct, rename="pascal"):
    mean: float
    standard_deviation: Deviation
    median: float
    interquartile_range: Deviation


class Memory(Struct, rename="pascal"):
    gen0_collections: Count = field(name="Gen0Collections")
    gen1_collections: Count = field(name="Gen1Collections")
    gen2_collections: Count = field(name="Gen2Collections")
    total_operations: Count
    bytes_allocated_per_operation: Count


class Benchmark(Struct, rename="pascal"):
    method: str
    namespace: str | None = None
    statistics: Statistics | None = None
    memory: Memory | None = None


class Report(Struct, rename="pascal"):
    host_environment_info: Any
    benchmarks: list[Benchmark]


MEMORY: Final = {
    "allocated": "bytes_allocated_per_operation",
    "gen0-collects": "gen0_collections",
    "gen1-collects": "gen1_collections",
    "gen2-collects": "gen2_collections",
    "total-operations": "total_operations",
}


def parse(source: Source, average: str | None) -> Benchmarks:
    """Mean ± standard deviation or median ± interquartile range. A failed benchmark has no statistics and is skipped."""
    benchmarks: Benchmarks = {}
    for benchmark in source.convert(Report).benchmarks:
        if (statistics := benchmark.statistics) is None:
            continue
        if average == "median":
            value, deviation = statistics.median, statistics.interquartile_range
        else:
            value, deviation = statistics.mean, statistics.standard_deviation
        measures = {"latency": spread(value, None if isinstance(deviation, str) else deviation)}
        if benchmark.memory is not None:
            measures |= {slug: Metric(float(getattr(benchmark.memory, key))) for slug, key in MEMORY.items()}
        record(benchmarks, f"{benchmark.namespace}.{benchmark.method}" if benchmark.namespace else benchmark.method, measures)
    return benchmarks
