"""``delta_iqr``: as ``iqr``, but of the relative changes from one value to the next."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .sample import quartiles, ratios
from .spread import Spread


def spread(history: Sequence[float]) -> Spread | None:
    """None for fewer than two values and when a change has no ratio."""
    steps = ratios(history)
    if not steps or any(map(math.isnan, steps)):
        return None
    median = quartiles(history).median
    first, _, third = quartiles(steps)
    return Spread(median, lambda boundary: median * (third - first) * boundary)
