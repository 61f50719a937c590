"""Judging one value against its history (spec 5.6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple

from . import delta_iqr, iqr, log_normal, percentage, t_test, z_score
from .models import Model
from .spread import Spread


class Limits(NamedTuple):
    """A limit is null when its boundary is not set; all three are null when there is nothing to compare with."""

    baseline: float | None
    lower: float | None
    upper: float | None


class Verdict(NamedTuple):
    """``outlier``: the side on which the value is out of the limits.

    ``missing`` says why there are no limits: the model has no boundary; too little history; or a history that the test cannot use (it does
    not vary, has values that are not positive, or leaves the range of numbers).
    """

    limits: Limits
    outlier: Literal["lower", "upper"] | None = None
    missing: Literal["no_boundary", "no_baseline", "no_spread"] | None = None


NONE: Final = Limits(None, None, None)

SPREADS: Final[dict[str, Callable[[Sequence[float]], Spread | None]]] = {
    "percentage": percentage.spread,
    "z_score": z_score.spread,
    "t_test": t_test.spread,
    "log_normal": log_normal.spread,
    "iqr": iqr.spread,
    "delta_iqr": delta_iqr.spread,
}
"""Test -> what finds its spread; ``static`` needs none."""


def evaluate(model: Model, history: Sequence[float], value: float) -> Verdict:
    """Judge ``value`` by a valid model.

    ``history``: the earlier values, newest first, already cut to the model's window; its ``max_sample_size`` is applied here. The gate, here
    too, holds for ``static`` as well: a first measurement is never an outlier.
    """
    if model.lower_boundary is None and model.upper_boundary is None:
        return Verdict(NONE, missing="no_boundary")
    sample = history[: model.max_sample_size]
    if len(sample) < max(1, model.min_sample_size or 1):
        return Verdict(NONE, missing="no_baseline")
    limits = _limits(model, sample)
    if limits is None:
        return Verdict(NONE, missing="no_spread")
    if limits.lower is not None and value < limits.lower:
        return Verdict(limits, "lower")
    if limits.upper is not None and value > limits.upper:
        return Verdict(limits, "upper")
    return Verdict(limits)


def _limits(model: Model, sample: Sequence[float]) -> Limits | None:
    if model.test == "static":
        return Limits(None, model.lower_boundary, model.upper_boundary)
    if (spread := SPREADS[model.test](sample)) is None:
        return None
    limits = Limits(
        spread.baseline,
        None if model.lower_boundary is None else spread.baseline - spread.distance(model.lower_boundary),
        None if model.upper_boundary is None else spread.baseline + spread.distance(model.upper_boundary),
    )
    return limits if all(number is None or math.isfinite(number) for number in limits) else None
