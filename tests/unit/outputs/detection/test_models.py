"""Which threshold models are valid (spec 5.5)."""

from __future__ import annotations

import math

import pytest

from outputs.detection import ALIASES, TESTS, Model, ModelError, validate
from outputs.detection.models import U32

QUANTILES = ("z_score", "t_test", "log_normal")
RANGES = ("iqr", "delta_iqr")
SAMPLED = [test for test in TESTS if test != "static"]


@pytest.mark.parametrize(
    "model",
    [
        Model("static", lower_boundary=-5.0),
        Model("static", upper_boundary=1e300),
        Model("static", lower_boundary=2.0, upper_boundary=2.0),
        *(Model("percentage", 1, size, 1, upper_boundary=boundary) for size in (1, U32) for boundary in (0.0, 0.1, 7.0)),
        *(Model(test, 2, 2, U32, boundary, boundary) for test in QUANTILES for boundary in (0.5, 0.99, math.nextafter(1, 0))),
        *(Model(test, None, 2, None, boundary) for test in RANGES for boundary in (0.0, 3.0)),
    ],
)
def test_valid(model: Model) -> None:
    validate(model)


@pytest.mark.parametrize(
    ("model", "field", "rule"),
    [
        (Model("sign_test", upper_boundary=1.0), "test", "must be one of static, percentage, z_score, t_test, log_normal, iqr, delta_iqr"),
        *((Model(test), "lower_boundary", "or upper_boundary must be given") for test in TESTS),
        *(
            (Model(test, upper_boundary=number), "upper_boundary", "must be")
            for test in TESTS
            for number in (math.nan, math.inf, -math.inf)
        ),
        (Model("static", lower_boundary=2.0, upper_boundary=1.0), "lower_boundary", "must not exceed upper_boundary"),
        (Model("static", min_sample_size=2, upper_boundary=1.0), "min_sample_size", "must be absent for static"),
        (Model("static", max_sample_size=2, upper_boundary=1.0), "max_sample_size", "must be absent for static"),
        (Model("static", window=2, upper_boundary=1.0), "window", "must be absent for static"),
        *((Model(test, lower_boundary=-0.1), "lower_boundary", "must be at least 0") for test in ("percentage", *RANGES)),
        *(
            (Model(test, lower_boundary=bad), "lower_boundary", "at least 0.5 and less than 1")
            for test in QUANTILES
            for bad in (0.49, 1.0, -0.6)
        ),
        (Model("percentage", min_sample_size=0, upper_boundary=0.1), "min_sample_size", f"must be 1 to {U32} for percentage"),
        *((Model(test, min_sample_size=1, upper_boundary=0.9), "min_sample_size", "must be 2 to") for test in (*QUANTILES, *RANGES)),
        *((Model(test, max_sample_size=1, upper_boundary=0.9), "max_sample_size", "must be 2 to") for test in (*QUANTILES, *RANGES)),
        *((Model(test, max_sample_size=U32 + 1, upper_boundary=0.9), "max_sample_size", "must be") for test in SAMPLED),
        *((Model(test, window=window, upper_boundary=0.9), "window", "must be 1 to") for test in SAMPLED for window in (0, -1, U32 + 1)),
        (Model("iqr", 3, 2, upper_boundary=1.0), "min_sample_size", "must not exceed max_sample_size"),
    ],
)
def test_invalid(model: Model, field: str, rule: str) -> None:
    with pytest.raises(ModelError) as raised:
        validate(model)
    assert raised.value.field == field
    assert rule in raised.value.rule
    assert str(raised.value) == f"{field} {raised.value.rule}"


def test_aliases() -> None:
    assert ALIASES == {"z": "z_score", "t": "t_test"}
    assert set(ALIASES.values()) < set(TESTS)
