"""Catch2's console reporter: three lines a benchmark, under the title of its test case."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from .results import Benchmarks, record, spread
from .source import Source
from .units import NANOSECONDS, NUMBER, nanoseconds

RULE: Final = "-" * 79
TITLE_LINES: Final = 3
WINDOW: Final = 5
"""A benchmark has three lines, and two more must follow in the text."""

VALUE: Final = re.compile(NUMBER)


def parse(source: Source, _average: str | None) -> Benchmarks:
    """Mean, with the standard deviation on both sides. The name is ``TEST CASE: BENCHMARK``."""
    benchmarks: Benchmarks = {}
    start = source.text.find(RULE)
    if start < 0:
        return benchmarks
    lines = list(source.lines(start))
    title, index = "", 0
    while index < len(lines):
        if lines[index] == RULE and (end := _closing(lines, index)):
            title, index = " ".join(filter(None, map(str.strip, lines[index + 1 : end]))), end + 1
        elif title and index + WINDOW <= len(lines) and (row := _benchmark(lines, index)):
            name, mean, deviation = row
            record(benchmarks, f"{title}: {name}", {"latency": spread(mean, deviation)})
            index += 3
        else:
            index += 1
    return benchmarks


def _closing(lines: list[str], opening: int) -> int | None:
    """Where the header that opens at ``opening`` ends: a rule after one to three lines of title."""
    for index in range(opening + 2, min(opening + 2 + TITLE_LINES, len(lines))):
        if lines[index] == RULE:
            return index
    return None


def _benchmark(lines: list[str], index: int) -> tuple[str, float, float] | None:
    """Name, mean and standard deviation of the benchmark that starts at line ``index``."""
    words = lines[index].rsplit(maxsplit=4)
    if len(words) != 5 or words[4] not in NANOSECONDS or not (words[1].isdecimal() and words[2].isdecimal() and VALUE.fullmatch(words[3])):
        return None
    mean, deviation = map(_durations, islice(lines, index + 1, index + 3))
    if mean is None or deviation is None:
        return None
    name = " ".join(filter(None, (words[0].strip(), mean[0], deviation[0])))
    return name, mean[1], deviation[1]


def _durations(line: str) -> tuple[str, float] | None:
    """A line of three durations: what stands before them (more of the name), and the first of them in nanoseconds."""
    words = line.rsplit(maxsplit=6)
    values, units = words[-6::2], words[-5::2]
    if len(words) < 6 or not all(unit in NANOSECONDS for unit in units) or not all(map(VALUE.fullmatch, values)):
        return None
    return words[0].strip() if len(words) == 7 else "", nanoseconds(values[0], units[0])
