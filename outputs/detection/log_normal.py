"""``log_normal``: the logarithms of the values are normally distributed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .quantiles import normal
from .sample import deviation, mean
from .spread import Spread


def spread(history: Sequence[float]) -> Spread | None:
    """None for fewer than two values, for values that do not vary, and when one is not positive."""
    if min(history) <= 0:
        return None
    logarithms = [math.log(value) for value in history]
    centre = mean(logarithms)
    scale = deviation(logarithms, centre)
    if not scale > 0:
        return None
    baseline = math.exp(centre)
    return Spread(baseline, lambda boundary: _exp(centre + scale * normal(boundary)) - baseline)


def _exp(exponent: float) -> float:
    try:
        return math.exp(exponent)
    except OverflowError:
        return math.inf
