"""Numbers and units of the text adapters."""

from __future__ import annotations

import re

import pytest

from outputs.adapters.units import NANOSECONDS, NUMBER, SECONDS, UNIT, nanoseconds, number


@pytest.mark.parametrize(("text", "value"), [("1", 1.0), ("1,234", 1234.0), ("13,967,756.30", 13967756.3), ("0.25", 0.25), ("1.", 1.0)])
def test_numbers(text: str, value: float) -> None:
    assert re.fullmatch(NUMBER, text)
    assert number(text) == value


@pytest.mark.parametrize("text", ["", "-1", "+1", "1e3", "1.2.3", ".5", ",5", "١", "NaN", "1 0"])
def test_no_numbers(text: str) -> None:
    assert not re.fullmatch(NUMBER, text)


@pytest.mark.parametrize("unit", NANOSECONDS)
def test_units(unit: str) -> None:
    assert re.fullmatch(UNIT, unit)
    assert NANOSECONDS[unit] == pytest.approx(SECONDS[unit] * 1e9)
    assert nanoseconds("1,000", unit) == pytest.approx(1000 * NANOSECONDS[unit])


@pytest.mark.parametrize("unit", ["h", "min", "ks", "S", "", "sec"])
def test_no_units(unit: str) -> None:
    assert not re.fullmatch(UNIT, unit)
