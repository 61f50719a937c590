"""Numbers about a sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple


class Quartiles(NamedTuple):
    first: float
    median: float
    third: float


def mean(values: Sequence[float]) -> float:
    """Exactly rounded; not finite when the sum is not. ``values`` must not be empty."""
    try:
        return math.fsum(values) / len(values)
    except (OverflowError, ValueError):
        return math.nan


def deviation(values: Sequence[float], about: float) -> float:
    """Sample standard deviation (divisor n - 1) around the mean ``about``; NaN for fewer than two values. Squares do not overflow."""
    count = len(values)
    return math.dist(values, [about] * count) / math.sqrt(count - 1) if count > 1 else math.nan


def quartiles(values: Sequence[float]) -> Quartiles:
    """Quartiles of at least one value: linear between the two values around rank p (n - 1)."""
    ordered = sorted(values)
    return Quartiles(*(_quantile(ordered, share) for share in (0.25, 0.5, 0.75)))


def _quantile(ordered: Sequence[float], share: float) -> float:
    rank = share * (len(ordered) - 1)
    below = math.floor(rank)
    if below + 1 >= len(ordered):
        return ordered[below]
    return ordered[below] + (rank - below) * (ordered[below + 1] - ordered[below])


def ratios(values: Sequence[float]) -> list[float]:
    """Relative changes between neighbours, as absolute values; the earlier one in ``values`` is the denominator."""
    return [_ratio(after - before, before) for before, after in pairwise(values)]


def _ratio(numerator: float, denominator: float) -> float:
    if denominator == 0:
        return math.nan if numerator == 0 else math.inf
    return abs(numerator / denominator)
