"""Dart's benchmark_harness: ``NAME(RunTime): X us.``"""

from __future__ import annotations

import re
from typing import Final

from .results import Benchmarks, Metric, record
from .source import Source
from .units import NUMBER, nanoseconds

RUN_TIME: Final = re.compile(rf"\(RunTime\): ?({NUMBER}) us\.$", re.MULTILINE)


def parse(source: Source, _average: str | None) -> Benchmarks:
    """The mean time of a run."""
    benchmarks: Benchmarks = {}
    for match in RUN_TIME.finditer(source.text):
        if name := source.before(match.start()):
            record(benchmarks, name, {"latency": Metric(nanoseconds(match[1], "us"))})
    return benchmarks
