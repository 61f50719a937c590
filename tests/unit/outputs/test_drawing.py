"""Plots: whatever the numbers are, everything drawn lies on the canvas and no outlier disappears."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outputs.drawing import HEIGHT, LINES, PLACES, WIDTH, Dot, Drawing, draw, thinned

FINITE = st.floats(allow_nan=False, allow_infinity=False)
SECONDS = st.floats(0, 4e9)


def dot(x: float, value: float, lower: float | None = None, upper: float | None = None, *, alert: bool = False) -> Dot:
    return Dot(x, value, lower, upper, alert, "note")


def drawn(dots: list[Dot], *, by_version: bool = False, y_axis: str = "auto", limits: bool = True) -> Drawing:
    found = draw([("one", dots)], by_version=by_version, y_axis=y_axis, lower=limits, upper=limits)
    assert found is not None
    return found


def places(drawing: Drawing) -> list[tuple[float, float]]:
    paths = [text for curve in drawing.curves for text in (curve.line, curve.lower, curve.upper) if text]
    return [(float(x), float(y)) for path in paths for x, y in re.findall(r"[ML](\S+) (\S+)", path)]


@given(
    st.lists(st.tuples(SECONDS, FINITE, st.none() | FINITE, st.none() | FINITE), min_size=1, max_size=20),
    st.sampled_from(["auto", "linear", "log"]),
)
def test_everything_lies_on_the_canvas(rows: list[tuple[float, float, float | None, float | None]], y_axis: str) -> None:
    drawing = drawn(sorted((dot(*row) for row in rows), key=lambda one: one.x), y_axis=y_axis)
    for x, y in [*places(drawing), *((mark.x, mark.y) for mark in drawing.curves[0].marks)]:
        assert 0 <= x <= WIDTH
        assert -1 <= y <= HEIGHT + 1
    assert all(math.isfinite(tick.place) for tick in (*drawing.across, *drawing.up))


def test_nothing_is_no_drawing() -> None:
    assert draw([], by_version=False, y_axis="auto", lower=False, upper=False) is None
    assert draw([("empty", [])], by_version=False, y_axis="auto", lower=False, upper=False) is None


def test_larger_is_higher_and_later_is_further_right() -> None:
    marks = drawn([dot(0, 1), dot(3600, 2)]).curves[0].marks
    assert marks[1].y < marks[0].y
    assert marks[1].x > marks[0].x


def test_limits_are_drawn_when_asked_for() -> None:
    dots = [dot(number, 5, 4 if number else None, 6) for number in range(3)]
    curve = drawn(dots).curves[0]
    assert curve.lower.count("L") == 1
    assert curve.upper.count("L") == 2
    plain = drawn(dots, limits=False).curves[0]
    assert (plain.lower, plain.upper) == ("", "")


def test_eight_series() -> None:
    drawing = draw([(str(number), [dot(0, number)]) for number in range(11)], by_version=True, y_axis="auto", lower=False, upper=False)
    assert drawing is not None
    assert (len(drawing.curves), drawing.left_out) == (LINES, 3)
    assert [curve.number for curve in drawing.curves] == list(range(LINES))


@pytest.mark.parametrize(
    ("values", "y_axis", "labels"),
    [
        ([1, 100_000], "auto", ["1", "10", "100", "1,000", "10,000", "100,000"]),
        ([1, 10], "log", ["1", "10"]),
        ([0, 100_000], "log", ["0", "50,000", "100,000"]),
        ([90, 110], "auto", ["90", "95", "100", "105", "110"]),
        ([7, 7], "linear", ["6.5", "7", "7.5"]),
    ],
)
def test_the_vertical_axis(values: list[float], y_axis: str, labels: list[str]) -> None:
    found = [tick.label for tick in drawn([dot(number, value) for number, value in enumerate(values)], y_axis=y_axis).up]
    assert found == labels


@pytest.mark.parametrize(
    ("first", "last", "labels"),
    [
        (0, 0, ["00:00:00"]),
        (0, 20, ["00:00:00", "00:00:05", "00:00:10", "00:00:15", "00:00:20"]),
        (0, 3 * 3600, ["01-01 00:00", "01-01 00:30", "01-01 01:00", "01-01 01:30", "01-01 02:00", "01-01 02:30", "01-01 03:00"]),
        (0, 86400 * 14, ["1970-01-01", "1970-01-03", "1970-01-05", "1970-01-07", "1970-01-09", "1970-01-11", "1970-01-13", "1970-01-15"]),
    ],
)
def test_the_axis_of_time(first: float, last: float, labels: list[str]) -> None:
    assert [tick.label for tick in drawn([dot(first, 1), dot(last, 1)]).across] == labels


def test_the_axis_of_versions_has_whole_numbers() -> None:
    assert [tick.label for tick in drawn([dot(0, 1), dot(3, 1)], by_version=True).across] == ["0", "1", "2", "3"]
    labels = [tick.label for tick in drawn([dot(0, 1), dot(1234, 1)], by_version=True).across]
    assert (labels[0], labels[-1]) == ("0", "1,234")


@given(st.integers(PLACES + 1, 5000), st.data())
def test_thinning_keeps_the_outliers(count: int, data: st.DataObject) -> None:
    low, high = data.draw(st.integers(0, count - 1)), data.draw(st.integers(0, count - 1))
    points = [(float(number), -9.0 if number == low else 9.0 if number == high else float(number % 3)) for number in range(count)]
    kept = thinned(points)
    assert len(kept) <= PLACES
    assert kept == sorted(kept, key=lambda point: point[0])
    assert {-9.0} <= {value for _, value in kept}
    assert low == high or 9.0 in {value for _, value in kept}


def test_long_lines_mark_alerts_only() -> None:
    marks = drawn([dot(number, 1, alert=number == 500) for number in range(1000)]).curves[0].marks
    assert [mark.alert for mark in marks] == [True]
