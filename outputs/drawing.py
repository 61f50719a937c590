"""Series as a line plot: from numbers to places on a canvas, which a template turns into SVG. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from bencher.core.figures import figure

WIDTH, HEIGHT = 960, 340
LEFT, RIGHT, TOP, BOTTOM = 96, 16, 14, 36
"""Margins, in the units of the canvas."""
LINES = 8
"""Series of one plot: as many as there are colours."""
PLACES = 480
"""Points of a line: two for each of half as many columns where there are more (the least and the greatest)."""
DOTS = 120
"""A line of more points has no dots."""
MARKED = 200
"""Alerts that are marked in a line: the newest."""
_LARGEST = 1e300
_STEPS = (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400, 14 * 86400, 30 * 86400,
          90 * 86400, 180 * 86400, 365 * 86400, 730 * 86400, 1825 * 86400, 3650 * 86400)  # fmt: skip
_SPREAD = 200
"""From which ratio of greatest to least an automatic axis is logarithmic."""


class Dot(NamedTuple):
    """One measured point. ``x``: seconds since 1970, or a version's number. ``note``: what is said of it."""

    x: float
    value: float
    lower: float | None
    upper: float | None
    alert: bool
    note: str


@dataclass(frozen=True, slots=True)
class Tick:
    place: float
    label: str


@dataclass(frozen=True, slots=True)
class Mark:
    x: float
    y: float
    note: str
    alert: bool


@dataclass(frozen=True, slots=True)
class Curve:
    """``number`` (from 0) chooses the colour; ``line``, ``lower`` and ``upper`` are path data, empty where there is nothing to draw."""

    number: int
    label: str
    line: str
    lower: str
    upper: str
    marks: list[Mark]


@dataclass(frozen=True, slots=True)
class Drawing:
    curves: list[Curve]
    across: list[Tick]
    up: list[Tick]
    left_out: int
    """Series beyond the eight."""
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def draw(series: Sequence[tuple[str, Sequence[Dot]]], *, by_version: bool, y_axis: str, lower: bool, upper: bool) -> Drawing | None:
    """The first eight (label, dots in order); None without a dot. ``lower``, ``upper``: draw these limits, too. ``y_axis``: auto, linear or log."""
    shown = [(label, dots) for label, dots in series[:LINES] if dots]
    if not shown:
        return None
    every = [dot for _, dots in shown for dot in dots]
    values = [dot.value for dot in every]
    values += [dot.lower for dot in every if lower and dot.lower is not None]
    values += [dot.upper for dot in every if upper and dot.upper is not None]
    height, up = _vertical([_bounded(value) for value in values], y_axis)
    first, last = min(dot.x for dot in every), max(dot.x for dot in every)
    width = _scale(first, last, LEFT + 8, WIDTH - RIGHT - 8)
    marks = _versions(first, last) if by_version else _moments(first, last)
    across = [Tick(round(width(x), 1), label) for x, label in marks]
    curves = [_curve(number, label, dots, width, height, lower, upper) for number, (label, dots) in enumerate(shown)]
    return Drawing(curves, across, up, len(series) - min(len(series), LINES))


def _curve(
    number: int,
    label: str,
    dots: Sequence[Dot],
    width: Callable[[float], float],
    height: Callable[[float], float],
    lower: bool,
    upper: bool,
) -> Curve:
    def path(points: Iterable[tuple[float, float]]) -> str:
        return " ".join(f"{'L' if place else 'M'}{width(x):.1f} {height(_bounded(y)):.1f}" for place, (x, y) in enumerate(points))

    alerts = [dot for dot in dots if dot.alert][-MARKED:]
    marked = alerts if len(dots) > DOTS else dots
    return Curve(
        number,
        label,
        path(thinned([(dot.x, dot.value) for dot in dots])),
        path(thinned([(dot.x, dot.lower) for dot in dots if dot.lower is not None])) if lower else "",
        path(thinned([(dot.x, dot.upper) for dot in dots if dot.upper is not None])) if upper else "",
        [Mark(round(width(dot.x), 1), round(height(_bounded(dot.value)), 1), dot.note, dot.alert) for dot in marked],
    )


def thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most ``PLACES`` of the points: the least and the greatest of each of as many runs, so that no outlier disappears."""
    if len(points) <= PLACES:
        return points
    runs, kept = PLACES // 2, []
    for run in range(runs):
        part = points[run * len(points) // runs : (run + 1) * len(points) // runs]
        least, greatest = min(part, key=lambda point: point[1]), max(part, key=lambda point: point[1])
        kept += [least, greatest] if least[0] <= greatest[0] else [greatest, least]
    return kept


# -- axes -----------------------------------------------------------------------------------------------------------
def _bounded(value: float) -> float:
    return math.copysign(min(abs(value), _LARGEST), value)


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """Linear, from low..high to start..end; the middle when there is one value only."""
    span = high - low
    if span <= 0:
        return lambda _: (start + end) / 2
    return lambda value: start + (value - low) / span * (end - start)


def _vertical(values: list[float], y_axis: str) -> tuple[Callable[[float], float], list[Tick]]:
    low, high = min(values), max(values)
    if low > 0 and (y_axis == "log" or (y_axis == "auto" and high / low > _SPREAD)):
        return _logarithmic(low, high)
    pad = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    place = _scale(low - pad, high + pad, HEIGHT - BOTTOM, TOP)
    return place, [Tick(round(place(value), 1), figure(value)) for value in _round_numbers(low - pad, high + pad)]


def _logarithmic(low: float, high: float) -> tuple[Callable[[float], float], list[Tick]]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    last = max(last, first + 1)
    inner = _scale(first, last, HEIGHT - BOTTOM, TOP)
    step = max(1, -(-(last - first) // 6))
    ticks = [Tick(round(inner(power), 1), figure(10.0**power)) for power in range(first, last + 1, step) if -300 <= power <= 300]
    return lambda value: inner(math.log10(value)), ticks


def _round_numbers(low: float, high: float, about: int = 5) -> list[float]:
    """About as many multiples of 1, 2 or 5 times a power of ten between the two."""
    rough = (high - low) / about
    if not rough > 0 or not math.isfinite(rough):
        return []
    power = 10.0 ** math.floor(math.log10(rough))
    if not power > 0:
        return []
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= rough)
    start = math.ceil(low / step)
    found = [(start + number) * step for number in range(about + 2)]
    return [float(f"{value:.12g}") for value in found if value <= high]


def _versions(first: float, last: float) -> list[tuple[float, str]]:
    numbers = sorted({int(value) for value in _round_numbers(first, last, 8) if value == int(value)} | {int(first), int(last)})
    spaced = [number for number in numbers if number in (first, last) or min(number - first, last - number) > (last - first) / 16]
    return [(number, f"{number:,}") for number in spaced]


def _moments(first: float, last: float) -> list[tuple[float, str]]:
    step = next((size for size in _STEPS if (last - first) / size <= 7), _STEPS[-1])
    form = "%H:%M:%S" if step < 60 else "%m-%d %H:%M" if step < 86400 else "%Y-%m-%d"
    start = math.ceil(first / step) * step
    places: list[float] = [start + number * step for number in range(9) if start + number * step <= last] or [first]
    return [(place, datetime.fromtimestamp(place, UTC).strftime(form)) for place in places]
