"""``cargo bench`` with libtest: ``test NAME ... bench: N ns/iter (+/- V)``."""

from __future__ import annotations

import re
from typing import Final

from .results import Benchmarks, record, spread
from .source import Source
from .units import NUMBER, UNIT, nanoseconds

LINE: Final = re.compile(
    rf"^test[ \t]++(\S++)[ \t]++\.\.\.[ \t]++bench:[ \t]++({NUMBER})[ \t]++({UNIT})/iter[ \t]++\(\+/-[ \t]++({NUMBER})\)$", re.MULTILINE
)


def parse(source: Source, _average: str | None) -> Benchmarks:
    """The value is a median; the spread, in the same unit, goes to both sides."""
    benchmarks: Benchmarks = {}
    for name, value, unit, deviation in LINE.findall(source.text):
        record(benchmarks, name, {"latency": spread(nanoseconds(value, unit), nanoseconds(deviation, unit))})
    return benchmarks
