"""``go test -bench``: ``NAME  N  X ns/op``, perhaps followed by further columns."""

from __future__ import annotations

import re
from typing import Final

from .results import Benchmarks, Metric, record
from .source import Source
from .units import NUMBER, UNIT, nanoseconds

LINE: Final = re.compile(rf"^([^ \t\n]++)[ \t]++[0-9]++[ \t]++({NUMBER})[ \t]++({UNIT})/op(?:[ \t]++{NUMBER}[ \t][^\n]*+)?$", re.MULTILINE)


def parse(source: Source, _average: str | None) -> Benchmarks:
    """The time of one operation; bytes, allocations and the benchmark's own columns are not read."""
    benchmarks: Benchmarks = {}
    for name, value, unit in LINE.findall(source.text):
        record(benchmarks, name, {"latency": Metric(nanoseconds(value, unit))})
    return benchmarks
