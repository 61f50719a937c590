"""``iqr``: interquartile ranges around the median."""

from __future__ import annotations

from collections.abc import Sequence

from .sample import quartiles
from .spread import Spread


def spread(history: Sequence[float]) -> Spread:
    """``history`` has at least one value."""
    first, median, third = quartiles(history)
    return Spread(median, lambda boundary: (third - first) * boundary)
