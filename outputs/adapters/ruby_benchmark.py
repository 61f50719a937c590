"""Ruby's Benchmark: a header of columns, then rows ``NAME user system total ( real)`` in seconds."""

from __future__ import annotations

import re
from typing import Final

from .results import Benchmarks, Metric, record
from .source import Source
from .units import NUMBER, nanoseconds

HEADER: Final = re.compile(r"^[ \t]*+user[ \t]++system[ \t]++total[ \t]++real$", re.MULTILINE)
REAL: Final = re.compile(rf"\([ \t]*+({NUMBER})\)")
COLUMN: Final = re.compile(NUMBER)


def parse(source: Source, _average: str | None) -> Benchmarks:
    """The real time of each row; the first line of any other form ends a block."""
    benchmarks: Benchmarks = {}
    for header in HEADER.finditer(source.text):
        for line in source.lines(header.end() + 1):
            if (row := _row(line)) is None:
                break
            record(benchmarks, row[0], {"latency": Metric(nanoseconds(row[1], "s"))})
    return benchmarks


def _row(line: str) -> tuple[str, str] | None:
    """Name and real time. A large time fills its column, then there is no blank after the parenthesis."""
    label, _, last = line.rpartition("(")
    words = label.rsplit(maxsplit=3)
    real = REAL.fullmatch("(" + last)
    if real is None or len(words) != 4 or not label.endswith((" ", "\t")) or not all(map(COLUMN.fullmatch, words[1:])):
        return None
    return words[0].strip(), real[1]
