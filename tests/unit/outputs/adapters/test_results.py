"""What every adapter's benchmarks have in common."""

from __future__ import annotations

import math
import pickle

import pytest

from outputs.adapters.results import AdapterError, Benchmarks, Metric, Refused, check_name, printable, record, shown, spread


def test_record_merges_by_measure() -> None:
    benchmarks: Benchmarks = {}
    record(benchmarks, "b", {"latency": Metric(1.0), "throughput": Metric(2.0)})
    record(benchmarks, "a", {})
    record(benchmarks, "b", {"latency": Metric(3.0, 2.0, 4.0)})
    assert benchmarks == {"b": {"latency": Metric(3.0, 2.0, 4.0), "throughput": Metric(2.0)}, "a": {}}
    assert list(benchmarks) == ["b", "a"]


@pytest.mark.parametrize("bound", [math.nan, math.inf, -math.inf, None])
def test_a_bound_that_is_no_number_is_left_out(bound: float | None) -> None:
    benchmarks: Benchmarks = {}
    record(benchmarks, "b", {"latency": Metric(1.0, bound, 2.0)})
    assert benchmarks["b"]["latency"] == Metric(1.0, None, 2.0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(Refused, match='benchmark "b": the value of latency is not a finite number'):
        record({}, "b", {"latency": Metric(value)})


@pytest.mark.parametrize("name", ["a", "a" * 1024, "é" * 512, " ", "\n"])
def test_good_names(name: str) -> None:
    check_name(name, "benchmark name")


@pytest.mark.parametrize(
    ("name", "reason"), [("", "0 bytes"), ("a" * 1025, "1025 bytes"), ("é" * 513, "1026 bytes"), ("a\0b", "NUL"), ("\ud800", "surrogate")]
)
def test_bad_names(name: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason) as raised:
        check_name(name, "benchmark name")
    assert raised.value.verdict == "invalid"
    assert raised.value.reason.isprintable()


def test_spread() -> None:
    assert spread(10.0, 2.5) == Metric(10.0, 7.5, 12.5)
    assert spread(10.0, None) == Metric(10.0)


def test_shown() -> None:
    assert shown("name") == '"name"'
    assert shown("x" * 61) == '"' + "x" * 60 + '…"'
    assert printable("a\n\x1bé\ud800") == "a\\n\\x1bé\\ud800"


def test_errors_cross_processes() -> None:
    error = pickle.loads(pickle.dumps(AdapterError("why", "truncated")))
    assert (str(error), error.verdict) == ("why", "truncated")
