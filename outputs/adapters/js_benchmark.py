"""Benchmark.js: ``NAME x N ops/sec ±P% (R runs sampled)``."""

from __future__ import annotations

import re
from typing import Final

from .results import Benchmarks, record, spread
from .source import Source
from .units import NUMBER, number

RATE: Final = re.compile(rf" x ({NUMBER}) ops/sec ±({NUMBER})% \([0-9]++ runs? sampled\)$", re.MULTILINE)


def parse(source: Source, _average: str | None) -> Benchmarks:
    """Operations per second, with the relative margin of error on both sides."""
    benchmarks: Benchmarks = {}
    for match in RATE.finditer(source.text):
        if name := source.before(match.start()):
            value = number(match[1])
            record(benchmarks, name, {"throughput": spread(value, value * number(match[2]) / 100)})
    return benchmarks
