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
FOLLOWING: Final = 3
"""A benchmark has three lines, and two more must follow in the text: so many after the second."""

LINE: Final = re.compile(rf"^[^\n]{{{len('a 1 1 1 s')},}}+$", re.MULTILINE)
"""Any line that is not too short to start a benchmark; blank lines are passed over quickly."""

VALUE: Final = re.compile(NUMBER)


def parse(source: Source, _average: str | None) -> Benchmarks:
    """Mean, with the standard deviation on both sides. The name is ``TEST CASE: BENCHMARK``."""
    benchmarks: Benchmarks = {}
    title, position = "", source.text.find(RULE)
    while position >= 0 and (match := LINE.search(source.text, position)) is not None:
        position = match.end()
        if match[0] == RULE:
            lines = list(islice(source.lines(position + 1), 1 + TITLE_LINES))
            if RULE in lines and (count := lines.index(RULE)):
                title = " ".join(filter(None, map(str.strip, lines[:count])))
                position += sum(len(line) + 1 for line in lines[: count + 1])
        elif title and (first := _first(match[0])):
            end = source.text.find("\n", position + 1)
            mean = _durations(source.text[position + 1 : end]) if end >= 0 else None
            lines = list(islice(source.lines(end + 1), FOLLOWING)) if mean else []
            if mean and len(lines) == FOLLOWING and (deviation := _durations(lines[0])):
                name = " ".join(filter(None, (first, mean[0], deviation[0])))
                record(benchmarks, f"{title}: {name}", {"latency": spread(mean[1], deviation[1])})
                position = end + 1 + len(lines[0])
    return benchmarks


def _first(line: str) -> str | None:
    """The name in the first line of a benchmark: name, samples, iterations, estimated time and its unit."""
    words = line.rsplit(maxsplit=4)
    if len(words) == 5 and words[4] in NANOSECONDS and words[1].isdecimal() and words[2].isdecimal() and VALUE.fullmatch(words[3]):
        return words[0].strip()
    return None


def _durations(line: str) -> tuple[str, float] | None:
    """A line of three durations: what stands before them (more of the name), and the first of them in nanoseconds."""
    words = line.rsplit(maxsplit=6)
    values, units = words[-6::2], words[-5::2]
    if len(words) < 6 or not all(unit in NANOSECONDS for unit in units) or not all(map(VALUE.fullmatch, values)):
        return None
    return words[0].strip() if len(words) == 7 else "", nanoseconds(values[0], units[0])
