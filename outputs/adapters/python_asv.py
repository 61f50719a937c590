"""airspeed velocity: ``[ 35.00%] ··· NAME   11.1±0.01μs``."""

from __future__ import annotations

import re
from typing import Final

from .results import Benchmarks, record, spread
from .source import Source
from .units import NUMBER, UNIT, nanoseconds

LINE: Final = re.compile(r"^\[[ \t]*+[0-9][0-9.]*+%\][ \t]++\u00b7++[ \t]++([^\n]++)$", re.MULTILINE)
VALUE: Final = re.compile(rf"({NUMBER})±({NUMBER})({UNIT})")


def parse(source: Source, _average: str | None) -> Benchmarks:
    """The median with its spread on both sides."""
    benchmarks: Benchmarks = {}
    for line in LINE.findall(source.text):
        words = line.rsplit(maxsplit=1)
        if len(words) == 2 and (match := VALUE.fullmatch(words[1])):
            value, deviation, unit = match.groups()
            record(benchmarks, words[0], {"latency": spread(nanoseconds(value, unit), nanoseconds(deviation, unit))})
    return benchmarks
