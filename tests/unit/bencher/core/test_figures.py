"""Numbers for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bencher.core.figures import figure


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (-0.0, "0"), (-1.5, "-1.5"), (7.0, "7"), (1234567.891, "1,234,568"), (123456789.0, "123,456,789"), (0.1 + 0.2, "0.3"),
        (0.00012345678, "0.0001234568"), (1e-5, "1e-05"), (1e15, "1e+15"), (-1e300, "-1e+300"), (5e-324, "4.940656e-324"), (99.99999999, "100"),
    ],
)  # fmt: skip
def test_examples(value: float, text: str) -> None:
    assert figure(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_seven_digits_are_true(value: float) -> None:
    assert float(figure(value).replace(",", "")) == pytest.approx(value, rel=1e-6)
