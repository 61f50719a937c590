"""Threshold models: their parts, and what makes one valid (spec 5.5)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

U32: Final = 2**32 - 1

ALIASES: Final = {"z": "z_score", "t": "t_test"}
"""Other spellings of tests in input."""


class ModelError(ValueError):
    """A model that breaks a rule. ``field``: the model's field; ``str()`` names it and the rule."""

    def __init__(self, field: str, rule: str) -> None:
        super().__init__(field, rule)
        self.field, self.rule = field, rule

    def __str__(self) -> str:
        return f"{self.field} {self.rule}"


@dataclass(frozen=True, slots=True)
class Model:
    """``window`` in seconds; sample sizes are numbers of metrics; the boundaries' meaning depends on ``test``, a key of RULES."""

    test: str
    min_sample_size: int | None = None
    max_sample_size: int | None = None
    window: int | None = None
    lower_boundary: float | None = None
    upper_boundary: float | None = None


class Rule(NamedTuple):
    """What one test wants. ``samples``: the least sample size; None where sample sizes and a window make no sense."""

    within: Callable[[float], bool]
    domain: str
    samples: int | None


def _any(_boundary: float) -> bool:
    return True


def _positive(boundary: float) -> bool:
    return boundary >= 0


def _quantile(boundary: float) -> bool:
    return 0.5 <= boundary < 1


RULES: Final = {
    "static": Rule(_any, "a finite number", None),
    "percentage": Rule(_positive, "at least 0", 1),
    "z_score": Rule(_quantile, "at least 0.5 and less than 1", 2),
    "t_test": Rule(_quantile, "at least 0.5 and less than 1", 2),
    "log_normal": Rule(_quantile, "at least 0.5 and less than 1", 2),
    "iqr": Rule(_positive, "at least 0", 2),
    "delta_iqr": Rule(_positive, "at least 0", 2),
}
"""Test -> its rule."""

TESTS: Final = tuple(RULES)


def validate(model: Model) -> None:
    """Raise ModelError for the first rule that ``model`` breaks."""
    rule = RULES.get(model.test)
    if rule is None:
        raise ModelError("test", f"must be one of {', '.join(TESTS)}")
    _boundaries(model, rule)
    _sizes(model, rule)


def _boundaries(model: Model, rule: Rule) -> None:
    if model.lower_boundary is None and model.upper_boundary is None:
        raise ModelError("lower_boundary", "or upper_boundary must be given")
    for field in ("lower_boundary", "upper_boundary"):
        boundary = getattr(model, field)
        if boundary is not None and not (math.isfinite(boundary) and rule.within(boundary)):
            raise ModelError(field, f"must be {rule.domain} for {model.test}")
    lower, upper = model.lower_boundary, model.upper_boundary
    if model.test == "static" and lower is not None and upper is not None and lower > upper:
        raise ModelError("lower_boundary", "must not exceed upper_boundary")


def _sizes(model: Model, rule: Rule) -> None:
    for field, least in (("min_sample_size", rule.samples), ("max_sample_size", rule.samples), ("window", rule.samples and 1)):
        size = getattr(model, field)
        if size is None:
            continue
        if least is None:
            raise ModelError(field, f"must be absent for {model.test}")
        if not least <= size <= U32:
            raise ModelError(field, f"must be {least} to {U32} for {model.test}")
    if model.min_sample_size is not None and model.max_sample_size is not None and model.min_sample_size > model.max_sample_size:
        raise ModelError("min_sample_size", "must not exceed max_sample_size")
