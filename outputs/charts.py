"""Series as a picture (rest.md 5.8)."""

from __future__ import annotations

import functools
import io
import math
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from outputs.selectors.perf import Line

LINES = 8
SIZE = (10.24, 5.76)
"""Inches, at 100 dots each."""
LABEL = 60
"""Characters of a label."""
_LARGEST = 1e300
"""Beyond it matplotlib's own arithmetic overflows."""
_lock = threading.Lock()
"""Matplotlib shares caches of fonts between figures without a lock of its own; and one picture at a time is load enough."""


def chart(lines: Sequence[Line], *, title: str) -> bytes:
    """A JPEG of the first eight lines over the start times of their reports."""
    with _lock:
        return _draw(lines[:LINES], title)


def _draw(lines: Sequence[Line], title: str) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, dpi=100, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_title(_shown(title), parse_math=False)
    axes.grid(visible=True, alpha=0.3)
    drawn = [
        axes.plot(
            [datetime.fromisoformat(point.start_time) for point in line.points],  # type: ignore[arg-type]
            [_drawable(point.value) for point in line.points],
            marker="o",
            markersize=3,
            linewidth=1.5,
        )[0]
        for line in lines
    ]
    if units := sorted({f"{line.measure.name}: {line.measure.units}" for line in lines}):
        axes.set_ylabel(_shown(", ".join(units)), parse_math=False)
    if drawn:
        legend = axes.legend(drawn, [_shown(_label(line)) for line in lines], loc="upper center", bbox_to_anchor=(0.5, -0.08), fontsize=8)
        for text in legend.get_texts():
            text.set_parse_math(False)
        _within_the_calendar(axes)
        figure.autofmt_xdate()
    else:
        axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center")
    picture = io.BytesIO()
    canvas.print_jpg(picture, pil_kwargs={"quality": 90})  # type: ignore[no-untyped-call]
    return picture.getvalue()


def _within_the_calendar(axes: Any) -> None:
    """No margin before the first day that has a date, or after the last."""
    from matplotlib.dates import date2num

    first = date2num(datetime.min.replace(tzinfo=UTC))  # type: ignore[no-untyped-call]
    last = date2num(datetime.max.replace(tzinfo=UTC, microsecond=0))  # type: ignore[no-untyped-call]
    low, high = axes.get_xlim()
    axes.set_xlim(max(low, first), min(high, last))


def _label(line: Line) -> str:
    return " · ".join((line.benchmark.name, line.branch.name, line.testbed.name, line.measure.name))


def _drawable(value: float) -> float:
    return math.copysign(min(abs(value), _LARGEST), value)


def _shown(text: str) -> str:
    """On one line, cut, and only with letters that the font has."""
    known = _letters()
    line = "".join(letter if ord(letter) in known else "?" for letter in " ".join(text.split()))
    return line if len(line) <= LABEL else f"{line[: LABEL - 1]}…"


@functools.cache
def _letters() -> Any:
    from matplotlib.font_manager import findfont
    from matplotlib.ft2font import FT2Font

    return FT2Font(findfont("DejaVu Sans")).get_charmap()
