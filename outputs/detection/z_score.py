"""``z_score``: values are normally distributed, with mean and deviation of the history."""

from __future__ import annotations

from collections.abc import Sequence

from .quantiles import normal
from .sample import deviation, mean
from .spread import Spread


def spread(history: Sequence[float]) -> Spread | None:
    """None for fewer than two values and for values that do not vary."""
    centre = mean(history)
    scale = deviation(history, centre)
    return Spread(centre, lambda boundary: scale * normal(boundary)) if scale > 0 else None
