"""Bencher Metric Format; its edges are in the data of test_parse."""

from __future__ import annotations

import pytest

from outputs.adapters import bmf
from outputs.adapters.results import Metric, Refused
from outputs.adapters.source import Source


def parse(text: str) -> dict:
    return bmf.parse(Source(text), None)


def test_keys_stay_as_they_are() -> None:
    text = '{"My Bench": {"Peak RSS": {"value": 1}}, "00000000-0000-4000-8000-000000000001": {"latency": {"value": 2.5, "lower_value": 2}}}'
    assert parse(text) == {
        "My Bench": {"Peak RSS": Metric(1.0)},
        "00000000-0000-4000-8000-000000000001": {"latency": Metric(2.5, 2.0)},
    }


def test_numbers_are_floats() -> None:
    metric = parse('{"b": {"m": {"value": 1, "lower_value": 0, "upper_value": 123456789012345678901234567890}}}')["b"]["m"]
    assert metric == Metric(1.0, 0.0, 1.2345678901234568e29)
    assert all(type(number) is float for number in metric)


def test_a_repeated_benchmark_or_measure_is_the_last() -> None:
    assert parse('{"b": {"m": {"value": 1}}, "b": {"m": {"value": 2}, "m": {"value": 3}}}') == {"b": {"m": Metric(3.0)}}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "not an object of benchmarks"),
        ('{"b": []}', 'benchmark "b" is not an object of measures'),
        ('{"b": {"m": 1}}', 'benchmark "b", measure "m" is not an object with a value'),
        ('{"b": {"m": {}}}', "value must be a finite number"),
        ('{"b": {"m": {"value": true}}}', "value must be a finite number"),
        ('{"b": {"m": {"value": 1e999}}}', "value must be a finite number"),
        ('{"b": {"m": {"value": 1, "upper_value": "2"}}}', "as must its bounds"),
        ('{"b": {"m": {"value": 1, "lower_value": 1e999}}}', "as must its bounds"),
        ('{"b": {"m": {"value": 1, "value": 1}}}', "names a key twice"),
        ('{"b": {"m": {"value": 1, "x": 1, "x": 1}}}', "names a key twice"),
        ('{"b": {"m": {"value": 1, "x": NaN}}}', "not JSON"),
        ('{"": {}}', "benchmark name"),
        ('{"b": {" m": {"value": 1}}}', "white space"),
        ('{"b": {"m ": {"value": 1}}}', "white space"),
        ('{"b": {"' + "m" * 65 + '": {"value": 1}}}', "65 bytes, allowed are 1 to 64"),
    ],
)
def test_refusals(text: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        parse(text)
