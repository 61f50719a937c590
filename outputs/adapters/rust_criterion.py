"""Criterion.rs: ``NAME  time:   [L u M u U u]``; a long name stands on the line before."""

from __future__ import annotations

import re
from typing import Final

from .results import Benchmarks, Metric, record
from .source import Source
from .units import NUMBER, UNIT, nanoseconds

DURATION: Final = rf"({NUMBER}) ({UNIT})"
TIME: Final = re.compile(rf"time:[ \t]++\[{DURATION} {DURATION} {DURATION}\]$", re.MULTILINE)


def parse(source: Source, _average: str | None) -> Benchmarks:
    """Lower bound, estimate and upper bound of the mean."""
    benchmarks: Benchmarks = {}
    for match in TIME.finditer(source.text):
        before = source.before(match.start())
        if not before.endswith((" ", "\t")):
            continue
        name = before.strip(" \t") if before[0] not in " \t" else source.previous(match.start())
        if name:
            lower, low, value, middle, upper, high = match.groups()
            record(benchmarks, name, {"latency": Metric(nanoseconds(value, middle), nanoseconds(lower, low), nanoseconds(upper, high))})
    return benchmarks
