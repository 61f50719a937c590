"""What an adapter gives back, and the two ways in which it can refuse."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

Verdict = Literal["nothing_parsed", "truncated", "invalid", "too_slow"]
"""Why a text gave no results: no benchmark in it; it ends in the middle; it is the tool's output but broken; over the parse budget."""

NAME_BYTES = 1024
"""A benchmark's name takes at most this many bytes of UTF-8 (spec 7.1)."""


class Metric(NamedTuple):
    """One measured value with its bounds; all finite."""

    value: float
    lower: float | None = None
    upper: float | None = None


Measures = dict[str, Metric]
"""Measure (slug; in BMF any NameId) -> metric, in order of appearance."""

Benchmarks = dict[str, Measures]
"""Benchmark -> its measures, in order of appearance. A benchmark may have no measures."""


class Parsed(NamedTuple):
    """One result text, or one iteration folded from several.

    ``name_ids`` is true for BMF only: there benchmarks are NameIds (UUID, slug or name); all other tools give plain names.
    """

    benchmarks: Benchmarks
    name_ids: bool


class AdapterError(ValueError):
    """A result text that gives no results. ``str()`` names adapter, settings, reason and an excerpt of the text."""

    def __init__(self, message: str, verdict: Verdict) -> None:
        super().__init__(message, verdict)
        self.verdict = verdict

    def __str__(self) -> str:
        return str(self.args[0])


class Refused(Exception):
    """Raised by one adapter: the text is not for it. ``at``: where in the text (a character index)."""

    def __init__(self, verdict: Verdict, reason: str, at: int = 0) -> None:
        super().__init__(verdict, reason, at)
        self.verdict, self.reason, self.at = verdict, reason, at


def record(benchmarks: Benchmarks, name: str, measures: Measures) -> None:
    """Add ``measures`` to the benchmark ``name``; a measure given again replaces the earlier one.

    Raises Refused (invalid) for a name that cannot be stored and for a value that is not finite. A bound that is not finite is left out:
    tools write ``NaN`` where a single run gives no interval.
    """
    check_name(name, "benchmark name")
    kept = benchmarks.setdefault(name, {})
    for measure, (value, lower, upper) in measures.items():
        if not math.isfinite(value):
            raise Refused("invalid", f"benchmark {shown(name)}: the value of {measure} is not a finite number")
        kept[measure] = Metric(value, finite(lower), finite(upper))


def spread(value: float, deviation: float | None) -> Metric:
    """``value`` ± ``deviation``; without bounds when there is no deviation."""
    return Metric(value) if deviation is None else Metric(value, value - deviation, value + deviation)


def finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def check_name(name: str, what: str, limit: int = NAME_BYTES) -> None:
    """Raise Refused (invalid) unless ``name`` has 1 to ``limit`` bytes of UTF-8 and no NUL."""
    try:
        size = len(name) if name.isascii() else len(name.encode())
    except UnicodeEncodeError:
        raise Refused("invalid", f"{what} {shown(name)} has a lone surrogate") from None
    if not 1 <= size <= limit:
        raise Refused("invalid", f"{what} {shown(name)} has {size} bytes, allowed are 1 to {limit}")
    if "\0" in name:
        raise Refused("invalid", f"{what} {shown(name)} has a NUL character")


def shown(text: str, limit: int = 60) -> str:
    """``text`` in quotes, printable, cut to ``limit`` characters."""
    return f'"{printable(text[:limit])}{"…" if len(text) > limit else ""}"'


def printable(text: str) -> str:
    """``text`` on one line, with an escape for whatever does not print."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
