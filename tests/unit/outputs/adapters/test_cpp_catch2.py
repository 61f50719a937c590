"""Catch2's console output, beyond the data of test_parse."""

from __future__ import annotations

import pytest

from outputs.adapters import cpp_catch2
from outputs.adapters.results import Metric
from outputs.adapters.source import Source

RULE = "-" * 79
ROWS = ["fib 100 7 7.3 ms", "2.5 us 2.4 us 2.6 us", "50 ns 40 ns 60 ns"]
FIB = {"latency": Metric(2500.0, 2450.0, 2550.0)}


def parse(*lines: str) -> dict:
    return cpp_catch2.parse(Source("\n".join(lines) + "\n"), None)


def test_benchmarks_of_several_test_cases() -> None:
    found = parse(RULE, "One", RULE, *ROWS, "", "", RULE, "Two", " words ", "more", RULE, *ROWS, *ROWS, "", "")
    assert found == {"One: fib": FIB, "Two words more: fib": FIB}


def test_two_benchmarks_in_a_row() -> None:
    assert list(parse(RULE, "T", RULE, *ROWS, *(row.replace("fib", "fac") for row in ROWS), "", "")) == ["T: fib", "T: fac"]


@pytest.mark.parametrize("title", [[], ["a", "b", "c", "d"], [RULE], [""]])
def test_no_title(title: list[str]) -> None:
    assert parse(RULE, *title, RULE, *ROWS, "", "") == {}


def test_rules_in_a_row() -> None:
    assert parse(RULE, RULE, "T", RULE, *ROWS, "", "") == {"T: fib": FIB}


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (0, "fib x 7 7.3 ms"),
        (0, "fib 100 x 7.3 ms"),
        (0, "fib 100 7 x ms"),
        (0, "fib 100 7 7.3 parsecs"),
        (0, "100 70 7.3 ms"),
        (1, "2.5 us 2.4 us"),
        (1, "2.5 us 2.4 us 2.6 x"),
        (1, "x us 2.4 us 2.6 us"),
        (2, ""),
    ],
)
def test_rows_of_another_form(row: int, text: str) -> None:
    assert parse(RULE, "T", RULE, *ROWS[:row], text, *ROWS[row + 1 :], "", "", "") == {}


def test_two_more_lines_must_follow() -> None:
    assert parse(RULE, "T", RULE, *ROWS) == parse(RULE, "T", RULE, *ROWS, "") == {}
    assert parse(RULE, "T", RULE, *ROWS[:1]) == parse(RULE, "T", RULE, *ROWS[:2]) == {}


def test_a_longer_line_of_dashes_is_no_rule() -> None:
    assert parse(RULE + "-", "T", RULE + "-", *ROWS, "", "") == {}
