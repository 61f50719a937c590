"""Single rules of the remaining tools, beyond the data of test_parse."""

from __future__ import annotations

import json

import pytest

from outputs.adapters.results import Metric, Refused
from outputs.adapters.source import Source
from outputs.adapters.tools import TOOLS, apply


def read(adapter: str, text: str | object, average: str | None = None) -> dict:
    return apply(adapter, Source(text if isinstance(text, str) else json.dumps(text)), average).benchmarks


def refused(adapter: str, text: str | object, average: str | None = None) -> str:
    with pytest.raises(Refused) as raised:
        read(adapter, text, average)
    return raised.value.reason


@pytest.mark.parametrize("adapter", TOOLS)
@pytest.mark.parametrize("average", [None, "mean", "median"])
def test_averages(adapter: str, average: str | None) -> None:
    if average not in TOOLS[adapter].averages:
        assert refused(adapter, "", average) == f"{adapter} gives no {average}"
    else:
        assert "gives no" not in refused(adapter, "", average)


@pytest.mark.parametrize(
    ("adapter", "line", "name"),
    [
        ("rust_bench", "test a::b   ... bench:   1 ns/iter (+/- 0)", "a::b"),
        ("rust_criterion", "g/a b  time:   [1 ns 2 ns 3 ns]", "g/a b"),
        ("rust_criterion", "  name \n\t time: [1 ns 2 ns 3 ns]", "  name "),
        ("go_bench", "B-8\t 10\t 5 ns/op\t 1 B/op\t 0 allocs/op", "B-8"),
        ("js_benchmark", "fib x 2 ops/sec ±1% (1 run sampled)", "fib"),
        ("js_benchmark", "\x1b[33mfib\x1b[39m x 2 ops/sec ±1% (9 runs sampled)", "fib"),
        ("js_time", "a: b: 5ms - timer ended", "a: b"),
        ("python_asv", "[ 5.00%] ··· time_x(1, 2)   2.5±0.5ms", "time_x(1, 2)"),
        ("ruby_benchmark", "user system total real\nsort by name 0.1 0.0 0.1 (12.95)", "sort by name"),
        ("dart_benchmark_harness", "A B(RunTime):1 us.", "A B"),
    ],
)
def test_lines(adapter: str, line: str, name: str) -> None:
    assert list(read(adapter, f"log\n{line}\nlog\n")) == [name]


@pytest.mark.parametrize(
    ("adapter", "line"),
    [
        ("rust_criterion", "a:time: [1 ns 2 ns 3 ns]"),
        ("rust_criterion", "\n time: [1 ns 2 ns 3 ns]"),
        ("rust_iai", "\n Instructions: 1\n L1 Accesses: 1\n L2 Accesses: 1\n RAM Accesses: 1\n Estimated Cycles: 1"),
        ("rust_iai", "b\nx Instructions: 1\n L1 Accesses: 1\n L2 Accesses: 1\n RAM Accesses: 1\n Estimated Cycles: 1"),
        ("go_bench", "B-8 10 5 ns/op trailing"),
        ("go_bench", "B-8 10 5 ns/op 16"),
        ("js_benchmark", " x 2 ops/sec ±1% (9 runs sampled)"),
        ("js_time", ": 5ms - timer ended"),
        ("js_time", "a: 5.5ms - timer ended"),
        ("python_asv", "[ 5.00%] ··· 2.5±0.5ms"),
        ("ruby_benchmark", "a 0.1 0.0 0.1 ( 0.1)"),
        ("ruby_benchmark", "user system total real\na 0.1 0.0 x ( 0.1)"),
        ("ruby_benchmark", "user system total real\na 0.1 0.0 0.1( 0.1)"),
        ("dart_benchmark_harness", "(RunTime): 1 us."),
        ("dart_benchmark_harness", "A(RunTime):  1 us."),
    ],
)
def test_other_lines(adapter: str, line: str) -> None:
    assert refused(adapter, line) == "no benchmark found in it"


# -- Google Benchmark ----------------------------------------------------------------------------------------------------
def google(*rows: dict) -> dict:
    return {"context": {"caches": []}, "benchmarks": list(rows)}


GOOD = {"name": "good", "real_time": 2, "time_unit": "us", "run_type": "iteration"}


@pytest.mark.parametrize(
    "row",
    [
        {"name": "complexity_BigO", "real_coefficient": 1.0, "big_o": "N", "time_unit": "ns"},
        {"name": "complexity_RMS", "rms": 0.01},
        {"name": "failed", "error_occurred": True, "error_message": "no", "real_time": 0.0, "time_unit": "ns"},
        {"name": "skipped", "skipped": True, "skip_message": "no", "real_time": 0.0, "time_unit": "ns"},
        {"name": "variation_cv", "run_type": "aggregate", "aggregate_unit": "percentage", "real_time": 0.02, "time_unit": "ns"},
    ],
)
def test_google_rows_without_a_time_are_skipped(row: dict) -> None:
    assert read("cpp_google", google(GOOD, row)) == {"good": {"latency": Metric(2000.0)}}
    assert refused("cpp_google", google(row)) == "no benchmark found in it"


def test_google_unknown_unit() -> None:
    assert refused("cpp_google", google(GOOD | {"time_unit": "min"})) == 'benchmark "good" has an unknown time unit "min"'


def test_google_names_keep_control_characters() -> None:
    text = json.dumps(google(GOOD)).replace("good", "a\x1b[0m")
    assert list(read("cpp_google", text)) == ["a\x1b[0m"]


# -- JMH -----------------------------------------------------------------------------------------------------------------
def jmh(unit: str = "ns/op", confidence: tuple = (1.0, 3.0), score: object = 2.0) -> list:
    return [{"benchmark": "b", "primaryMetric": {"score": score, "scoreConfidence": confidence, "scoreUnit": unit}}]


@pytest.mark.parametrize("confidence", [("NaN", "NaN"), ("-INF", "+INF"), (1.0, "NaN"), ("NaN", 3.0)])
def test_jmh_without_an_interval(confidence: tuple) -> None:
    assert read("java_jmh", jmh(confidence=confidence)) == {"b": {"latency": Metric(2.0)}}


def test_jmh_modes_of_one_benchmark() -> None:
    assert set(read("java_jmh", jmh() + jmh("ops/ms"))["b"]) == {"latency", "throughput"}


@pytest.mark.parametrize("unit", ["min/op", "ops/min", "ns", "op/ns", "", "B/op"])
def test_jmh_unknown_unit(unit: str) -> None:
    assert "unknown unit" in refused("java_jmh", jmh(unit))


def test_jmh_score_that_is_no_number() -> None:
    assert "another shape" in refused("java_jmh", jmh(score="NaN"))


# -- BenchmarkDotNet -----------------------------------------------------------------------------------------------------
def dot_net(memory: object = None, deviation: object = 2.0, **row: object) -> dict:
    statistics = {"Mean": 10.0, "StandardDeviation": deviation, "Median": 9.0, "InterquartileRange": deviation}
    return {"HostEnvironmentInfo": {}, "Benchmarks": [{"Method": "M", "Statistics": statistics, "Memory": memory, **row}]}


@pytest.mark.parametrize("deviation", ["", None, float("nan")])
def test_dot_net_without_a_deviation(deviation: object) -> None:
    assert read("c_sharp_dot_net", dot_net(deviation=deviation)) == {"M": {"latency": Metric(10.0)}}
    assert read("c_sharp_dot_net", dot_net(deviation=deviation), "median") == {"M": {"latency": Metric(9.0)}}


MEMORY = {"Gen0Collections": 1, "Gen1Collections": 2, "Gen2Collections": 3, "TotalOperations": 4, "BytesAllocatedPerOperation": 5}


def test_dot_net_memory() -> None:
    measures = read("c_sharp_dot_net", dot_net(MEMORY, Namespace="N"))["N.M"]
    assert {slug: metric.value for slug, metric in measures.items()} == {
        "latency": 10.0,
        "allocated": 5.0,
        "gen0-collects": 1.0,
        "gen1-collects": 2.0,
        "gen2-collects": 3.0,
        "total-operations": 4.0,
    }


@pytest.mark.parametrize("count", [2**32, -1, 1.5, None])
def test_dot_net_counts_are_unsigned_and_have_32_bits(count: object) -> None:
    assert read("c_sharp_dot_net", dot_net(MEMORY | {"Gen0Collections": 2**32 - 1}))
    assert "another shape" in refused("c_sharp_dot_net", dot_net(MEMORY | {"Gen0Collections": count}))


# -- hyperfine and pytest-benchmark --------------------------------------------------------------------------------------
def test_hyperfine_of_one_run() -> None:
    run = {"command": "c", "mean": 1.0, "median": 1.0, "min": 1.0, "max": 1.0, "user": 0.0, "system": 0.0, "exit_codes": [None]}
    assert read("shell_hyperfine", {"results": [run]}) == {"c": {"latency": Metric(1e9)}}


def test_pytest_benchmark_without_stats() -> None:
    report = {"machine_info": {}, "commit_info": {}, "benchmarks": [{"fullname": "a"}, {"fullname": "b", "stats": None}]}
    assert refused("python_pytest", report) == "no benchmark found in it"
