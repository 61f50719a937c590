"""Limits and outliers: golden numbers of the seven tests (tests/data/boundaries.json), the gate, and histories that say nothing."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outputs.detection import TESTS, Limits, Model, evaluate
from outputs.detection.limits import NONE
from outputs.detection.quantiles import normal, student
from outputs.detection.sample import deviation, mean, quartiles, ratios

GOLDEN = json.loads((Path(__file__).resolve().parents[3] / "data" / "boundaries.json").read_text())
BOUNDARY = {"static": 5.0, "percentage": 0.1, "z_score": 0.95, "t_test": 0.95, "log_normal": 0.95, "iqr": 1.0, "delta_iqr": 1.0}


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in GOLDEN["cases"]])
def test_golden(case: dict[str, Any]) -> None:
    history = GOLDEN["histories"][case["history"]][::-1]
    verdict = evaluate(Model(**case["model"]), history, case["value"])
    wanted = (case["baseline"], case["lower_limit"], case["upper_limit"])
    for seen, number in zip(verdict.limits, wanted, strict=True):
        assert seen == (None if number is None else pytest.approx(number, rel=1e-9, abs=0))
    assert verdict.outlier == case["alert"]


def test_check_values_of_the_spec() -> None:
    assert normal(0.85) == pytest.approx(1.0364333894937896, rel=1e-14)
    assert math.sqrt(7 / 6) * student(5, 0.85) == pytest.approx(1.2483714094976244, rel=1e-12)
    assert quartiles([2.0, 1.0]) == (1.25, 1.5, 1.75)
    assert quartiles([7.0]) == (7.0, 7.0, 7.0)


# -- the gate ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("test", TESTS)
def test_a_first_value_has_nothing_to_be_compared_with(test: str) -> None:
    verdict = evaluate(Model(test, upper_boundary=BOUNDARY[test]), [], 1e9)
    assert verdict == (NONE, None, "no_baseline")


@pytest.mark.parametrize("test", TESTS)
def test_no_boundary(test: str) -> None:
    assert evaluate(Model(test), [1.0, 2.0, 4.0], 1e9) == (NONE, None, "no_boundary")


@pytest.mark.parametrize(("least", "count", "missing"), [(2, 1, "no_baseline"), (2, 2, None), (2, 3, None), (1, 1, None), (None, 1, None)])
def test_min_sample_size(least: int | None, count: int, missing: str | None) -> None:
    assert evaluate(Model("percentage", min_sample_size=least, upper_boundary=0.1), [10.0] * count, 10.0).missing == missing


def test_max_sample_size_keeps_the_newest() -> None:
    model = Model("percentage", max_sample_size=2, upper_boundary=0.5)
    assert evaluate(model, [30.0, 10.0, 1000.0], 10.0).limits == Limits(20.0, None, 30.0)


def test_min_sample_size_counts_what_the_maximum_leaves() -> None:
    model = Model("percentage", min_sample_size=2, max_sample_size=2, upper_boundary=0.5)
    assert evaluate(model, [30.0, 20.0, 10.0], 10.0).limits.baseline == 25.0


# -- outliers ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("value", "outlier"),
    [(110.0, None), (math.nextafter(110, 111), "upper"), (90.0, None), (math.nextafter(90, 89), "lower"), (100.0, None)],
)
def test_comparisons_are_strict(value: float, outlier: str | None) -> None:
    assert evaluate(Model("static", lower_boundary=90.0, upper_boundary=110.0), [100.0], value).outlier == outlier


def test_lower_is_tested_first() -> None:
    assert evaluate(Model("percentage", lower_boundary=0.1, upper_boundary=0.1), [-10.0], -10.5).outlier == "lower"


# -- histories that say nothing ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("test", "history"),
    [
        *((test, [5.0]) for test in ("z_score", "t_test", "log_normal", "delta_iqr")),
        *((test, [0.1] * 7) for test in ("z_score", "t_test", "log_normal")),
        ("log_normal", [1.0, 0.0]),
        ("log_normal", [1.0, -1.0]),
        ("delta_iqr", [0.0, 0.0, 1.0]),
        ("delta_iqr", [0.0, 1.0]),
        ("percentage", [1e308, 1e308]),
        ("z_score", [1e308, 1e308]),
        ("iqr", [1.7e308, -1.7e308]),
    ],
)
def test_no_spread(test: str, history: list[float]) -> None:
    assert evaluate(Model(test, lower_boundary=BOUNDARY[test], upper_boundary=BOUNDARY[test]), history, 1.0) == (NONE, None, "no_spread")


def test_an_upper_limit_beyond_all_numbers() -> None:
    assert evaluate(Model("log_normal", upper_boundary=0.999), [1e-300, 1e300], 1.0).missing == "no_spread"
    assert evaluate(Model("percentage", upper_boundary=1e300), [1e300], 1.0).missing == "no_spread"


def test_sample_numbers() -> None:
    assert mean([1e16, 1.0, -1e16]) == 1 / 3
    assert math.isnan(mean([math.inf, -math.inf]))
    assert deviation([1.0, 2.0, 3.0], 2.0) == 1.0
    assert math.isnan(deviation([1.0], 1.0))
    assert deviation([1e200, 3e200], 2e200) == pytest.approx(math.sqrt(2) * 1e200)
    assert deviation([5e-324, 0.0], 0.0) == 5e-324
    assert math.isnan(deviation([1.0, 2.0], math.nan))
    assert ratios([2.0, 1.0, -1.0]) == [0.5, 2.0]
    assert ratios([0.0, 1.0]) == [math.inf]


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(test=st.sampled_from(TESTS), history=st.lists(FINITE | st.sampled_from([0.0, 1.0]), max_size=9), value=FINITE)
def test_numbers_are_finite_and_limits_in_order(test: str, history: list[float], value: float) -> None:
    boundary = BOUNDARY[test]
    limits, outlier, missing = evaluate(Model(test, lower_boundary=boundary, upper_boundary=boundary), history, value)
    assert all(number is None or math.isfinite(number) for number in limits)
    assert (limits == NONE) == (missing is not None)
    assert outlier is None or missing is None
    if test in ("z_score", "t_test", "iqr") and missing is None:
        assert limits.lower <= limits.baseline <= limits.upper


def test_scipy_is_imported_only_when_needed() -> None:
    code = "import sys, outputs.detection; sys.exit(any(name in sys.modules for name in ('numpy', 'scipy', 'ruptures', 'django')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
