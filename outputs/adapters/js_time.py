"""``console.time`` with a marker: ``NAME: 123ms - timer ended``."""

from __future__ import annotations

import re
from typing import Final

from .results import Benchmarks, Metric, record
from .source import Source
from .units import UNIT, nanoseconds

TIMER: Final = re.compile(rf": ([0-9]++)({UNIT}) - timer ended$", re.MULTILINE)


def parse(source: Source, _average: str | None) -> Benchmarks:
    """The time between ``console.time`` and ``console.timeEnd``."""
    benchmarks: Benchmarks = {}
    for match in TIMER.finditer(source.text):
        if name := source.before(match.start()):
            record(benchmarks, name, {"latency": Metric(nanoseconds(match[1], match[2]))})
    return benchmarks
