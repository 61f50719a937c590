"""``percentage``: a share of the mean."""

from __future__ import annotations

from collections.abc import Sequence

from .sample import mean
from .spread import Spread


def spread(history: Sequence[float]) -> Spread:
    """``history`` has at least one value."""
    centre = mean(history)
    return Spread(centre, lambda boundary: centre * boundary)
