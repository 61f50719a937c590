"""What a test finds in a history."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Spread(NamedTuple):
    """``distance(boundary)``: how far a limit with that boundary lies from the baseline, on either side."""

    baseline: float
    distance: Callable[[float], float]
