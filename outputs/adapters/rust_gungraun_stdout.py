"""Gungraun's text output: a name in the first column, then indented metrics, one a line, in sections by tool."""

from __future__ import annotations

import re
from typing import Final

from .gungraun import LABELS
from .results import NAME_BYTES, Benchmarks, Measures, Metric, record
from .source import Source
from .units import NUMBER, number

START: Final = re.compile(r"^[^\s:]++::[^\s:]++::", re.MULTILINE)
INDENT: Final = "\n  "
SECTION: Final = re.compile(rf"[ \t]++=++ ({'|'.join(LABELS)}) =++")
INFINITE: Final = r"\+\+\+inf\+\+\+|---inf---"
CHANGE: Final = (
    rf"N/A[ \t]++\(\*++\)|{NUMBER}[ \t]++(?:\(No change\)|\((?:[+-]{NUMBER}%|{INFINITE})\)[ \t]++\[(?:[+-]{NUMBER}x|{INFINITE})\])"
)
METRIC: Final = re.compile(rf"[ \t]++([^:|]++):[ \t]++({NUMBER})\|(?:{CHANGE})")


def parse(source: Source, _average: str | None) -> Benchmarks:
    """The new values. A benchmark without metrics is a benchmark; a metric that nobody knows is skipped."""
    benchmarks: Benchmarks = {}
    text, position, indent = source.text, 0, 0
    while (start := START.search(text, position)) is not None:
        if indent < start.end():
            indent = text.find(INDENT, start.end())
        if indent < 0:
            break
        if indent - start.start() > NAME_BYTES and text.find("\n", start.end(), indent) >= 0:
            position = start.end()  # a log line that looks like a name, far from any metric
            continue
        measures, position = _block(source, indent + 1)
        if measures or indent - start.start() <= NAME_BYTES:
            record(benchmarks, text[start.start() : indent].strip(), measures)
    return benchmarks


def _block(source: Source, start: int) -> tuple[Measures, int]:
    """The metrics from ``start`` on, up to the first line of another form, and where that line starts."""
    labels, measures = LABELS["CALLGRIND"], Measures()
    for line in source.lines(start):
        if match := METRIC.fullmatch(line):
            if slug := labels.get(match[1]):
                measures[slug] = Metric(number(match[2]))
        elif match := SECTION.fullmatch(line):
            labels = LABELS[match[1]]
        else:
            break
        start += len(line) + 1
    return measures, start
