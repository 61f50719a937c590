"""Iai: a name and five counters, one a line."""

from __future__ import annotations

import re
from typing import Final

from .results import Benchmarks, Metric, record
from .source import Source
from .units import number

COUNTERS: Final = {
    "Instructions": "instructions",
    "L1 Accesses": "l1-accesses",
    "L2 Accesses": "l2-accesses",
    "RAM Accesses": "ram-accesses",
    "Estimated Cycles": "estimated-cycles",
}
CHANGE: Final = r"(?: \((?:No change|[+-][0-9.,]++%)\))?+"
BLOCK: Final = re.compile(r"\n[ \t]*+".join(rf"{label}:[ \t]++([0-9][0-9,]*+){CHANGE}$" for label in COUNTERS), re.MULTILINE)


def parse(source: Source, _average: str | None) -> Benchmarks:
    """The counters of the new run; the change against the old one is not kept."""
    benchmarks: Benchmarks = {}
    for match in BLOCK.finditer(source.text):
        name = source.previous(match.start())
        if not source.before(match.start()).strip(" \t") and name.strip():
            record(benchmarks, name, {slug: Metric(number(count)) for slug, count in zip(COUNTERS.values(), match.groups(), strict=True)})
    return benchmarks
