"""``t_test``: as ``z_score``, but mean and deviation are only estimates, and the next value varies too (a prediction interval)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .quantiles import student
from .sample import deviation, mean
from .spread import Spread


def spread(history: Sequence[float]) -> Spread | None:
    """None for fewer than two values and for values that do not vary."""
    count, centre = len(history), mean(history)
    scale = deviation(history, centre) * math.sqrt(1 + 1 / count)
    return Spread(centre, lambda boundary: scale * student(count - 1, boundary)) if scale > 0 else None
