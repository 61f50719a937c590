"""Change points: where a series moved to another level, and stayed there.

Thresholds judge one value; noise makes them cry or sleep. Here whole segments are compared: PELT (Killick et al. 2012) proposes the segments,
and Welch's t test has to confirm each step between neighbours. A single spike is no segment, therefore no change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final

from .sample import deviation, mean

SEGMENT: Final = 3
"""The least number of values in a segment."""


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """``index``: of the first value on the new level. ``p_value``: of Welch's test between the segments on both sides."""

    index: int
    before_mean: float
    after_mean: float
    p_value: float


def change_points(values: Sequence[float], *, alpha: float = 0.001) -> list[ChangePoint]:
    """The steps in ``values`` (oldest first, finite) whose ``p_value`` is below ``alpha``; fewer than two segments' worth gives none.

    The least certain step is dropped, its segments joined and their neighbours compared anew, until every step that is left holds.
    """
    if not all(map(math.isfinite, values)):
        raise ValueError("values must be finite")
    scaled = _scaled(values)
    edges = [0, *_segments(scaled)]

    def step(place: int) -> ChangePoint:
        start, index, end = edges[place - 1 : place + 2]
        p_value = _welch(scaled[start:index], scaled[index:end])
        return ChangePoint(index, mean(values[start:index]), mean(values[index:end]), p_value)

    steps = [step(place) for place in range(1, len(edges) - 1)]
    while steps and (least := max(steps, key=lambda step: step.p_value)).p_value >= alpha:
        place = steps.index(least)
        del edges[place + 1], steps[place]
        for neighbour in (place - 1, place):
            if 0 <= neighbour < len(steps):
                steps[neighbour] = step(neighbour + 1)
    return steps


def _scaled(values: Sequence[float]) -> list[float]:
    """Within -1 to 1 around the median, so that squares neither overflow nor vanish; empty where nothing varies or numbers end."""
    if len(values) < 2 * SEGMENT or not math.isfinite(max(map(abs, values)) * 2 * len(values)):
        return []
    middle = median(values)
    scale = max(abs(value - middle) for value in values)
    return [(value - middle) / scale for value in values] if scale > 0 else []


def _segments(values: Sequence[float]) -> list[int]:
    """Where PELT ends each segment; the last entry is ``len(values)``."""
    if not values:
        return []
    import numpy
    from ruptures import KernelCPD

    found = KernelCPD(kernel="linear", min_size=SEGMENT).fit(numpy.array(values)[:, None]).predict(pen=_penalty(values))
    return [int(end) for end in found]


def _penalty(values: Sequence[float]) -> float:
    """Of one more segment: 3 s² ln n (modified Bayesian information criterion), s² being the variance of the noise.

    The noise is taken from the jumps between neighbours, of which a step is but one; a jump has twice the variance of a value.
    """
    return 1.5 * mean([(after - before) ** 2 for before, after in pairwise(values)]) * math.log(len(values))


def _welch(before: Sequence[float], after: Sequence[float]) -> float:
    """Two-sided p value. Counters often do not vary at all: any step is then a change."""
    left, right = mean(before), mean(after)
    left_deviation, right_deviation = deviation(before, left), deviation(after, right)
    if left_deviation == right_deviation == 0:
        return 0.0 if left != right else 1.0
    from scipy.stats import ttest_ind_from_stats

    found = ttest_ind_from_stats(left, left_deviation, len(before), right, right_deviation, len(after), equal_var=False)
    return float(found.pvalue)
