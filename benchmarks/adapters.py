"""How fast each adapter reads its tool's output, alone and found by magic: `python -m benchmarks.adapters [benchmarks per text]`.

Speeds depend on the machine and are only printed. What is asserted holds on any: twice the text takes less than three times as long.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

from outputs.adapters.parse import parse_results
from outputs.adapters.results import AdapterError
from outputs.adapters.tools import TOOLS

RULE = "-" * 79
RATIO = 3.0
ATTEMPTS = 5
MIB = 1 << 20


def _lines(template: str, start: str = "") -> Callable[[int], str]:
    return lambda count: start + "".join(template.replace("@", f"suite::group::bench_{index}") for index in range(count))


def _document(row: Callable[[str], object], wrap: Callable[[object], object]) -> Callable[[int], str]:
    return lambda count: json.dumps(wrap([row(f"suite::group::bench_{index}") for index in range(count)]))


def _bmf(count: int) -> str:
    metric = {"value": 1234.5, "lower_value": 1200.25, "upper_value": 1300.125}
    return json.dumps({f"suite::group::bench_{index}": {"latency": metric} for index in range(count)})


def _summaries(count: int) -> str:
    metrics = {key: {"diffs": None, "metrics": {"Left": {"Int": 1234}}} for key in ("Ir", "L1hits", "LLhits", "RamHits", "EstimatedCycles")}
    profile = {"tool": "Callgrind", "summaries": {"parts": [], "total": {"regressions": [], "summary": {"Callgrind": metrics}}}}
    rows = ({"version": "6", "module_path": f"suite::group::bench_{index}", "id": None, "profiles": [profile]} for index in range(count))
    return "\n".join(map(json.dumps, rows))


STATS = {"mean": 1.5, "stddev": 0.1, "median": 1.4, "iqr": 0.2, "min": 1.0, "max": 2.0}
DOT_NET = {"Mean": 10.5, "StandardDeviation": 0.5, "Median": 10.0, "InterquartileRange": 0.75}
VITEST = {"hz": 1000.5, "mean": 1.0, "median": 0.9, "sd": 0.1, "rme": 1.5}
JMH = {"score": 2.5, "scoreError": 0.5, "scoreConfidence": [2.0, 3.0], "scoreUnit": "ns/op", "rawData": [[2.5]]}
GUNGRAUN = "".join(f"  {label}: 1,234|1,200 (+2.83333%) [+1.02833x]\n" for label in ("Instructions", "L1 Hits", "LL Hits", "RAM Hits"))
IAI = "".join(f"  {label}: 1,234\n" for label in ("Instructions", "L1 Accesses", "L2 Accesses", "RAM Accesses", "Estimated Cycles"))

TEXTS: dict[str, Callable[[int], str]] = {
    "json": _bmf,
    "rust_bench": _lines("test @ ... bench:   1,234 ns/iter (+/- 12)\n"),
    "rust_criterion": _lines("@  time:   [1.2345 µs 1.2350 µs 1.2400 µs]\n                 change: [-1% +0% +1%] (p = 0.5 > 0.05)\n"),
    "rust_iai": _lines("@\n" + IAI + "\n"),
    "rust_gungraun_stdout": _lines("@ id:10\n" + GUNGRAUN),
    "rust_gungraun_json": _summaries,
    "cpp_google": _document(
        lambda name: {"name": name, "iterations": 100, "real_time": 1.5, "cpu_time": 1.5, "time_unit": "ns"},
        lambda rows: {"context": {"caches": []}, "benchmarks": rows},
    ),
    "cpp_catch2": _lines("@   100   20   7.1 ms\n  344 ns  341 ns  349 ns\n  19 ns  11 ns  29 ns\n\n", f"{RULE}\nTitle\n{RULE}\n"),
    "go_bench": _lines("Benchmark@-8 \t 5000 \t 325.5 ns/op \t 16 B/op \t 1 allocs/op\n"),
    "java_jmh": _document(
        lambda name: {"benchmark": name, "mode": "avgt", "primaryMetric": JMH, "secondaryMetrics": {}}, lambda rows: rows
    ),
    "c_sharp_dot_net": _document(
        lambda name: {"Namespace": "N", "Method": name, "Statistics": DOT_NET}, lambda rows: {"HostEnvironmentInfo": {}, "Benchmarks": rows}
    ),
    "js_benchmark": _lines("@ x 1,431,759 ops/sec ±0.74% (93 runs sampled)\n"),
    "js_time": _lines("@: 7617ms - timer ended\n"),
    "js_vitest": _document(
        lambda name: {"name": name, **VITEST}, lambda rows: {"files": [{"groups": [{"fullName": "file.ts", "benchmarks": rows}]}]}
    ),
    "python_asv": _lines("[ 50.00%] ··· @      11.1±0.01μs\n"),
    "python_pytest": _document(
        lambda name: {"fullname": name, "name": name, "stats": STATS},
        lambda rows: {"machine_info": {}, "commit_info": {}, "benchmarks": rows},
    ),
    "ruby_benchmark": _lines("@:   0.95   0.01   0.96 (  0.952039)\n", "       user     system      total        real\n"),
    "shell_hyperfine": _document(
        lambda name: {"command": name, **STATS, "user": 0.1, "system": 0.1, "exit_codes": [0]}, lambda rows: {"results": rows}
    ),
    "dart_benchmark_harness": _lines("@(RunTime): 1234.5 us.\n"),
    "nothing (log)": _lines("INFO compiling @ with all features, 12 of 34 done in 5 ms\n"),
    "nothing (blanks)": lambda count: " " * (64 * count),
}


def cost(text: str, adapter: str) -> float:
    """CPU seconds to read, or to refuse, ``text``."""
    start = time.process_time()
    try:
        parse_results([text], adapter=adapter)
    except AdapterError:
        assert text.startswith(("INFO", " ")), f"{adapter} does not read its own text"
    return time.process_time() - start


def measure(text: Callable[[int], str], adapter: str, count: int) -> tuple[float, float]:
    """MiB a second, and time(2n) / time(n). Others use the machine too: the best of a few attempts each, a few more if they disagree."""
    once, twice = text(count), text(2 * count)
    single = double = float("inf")
    for attempt in range(4 * ATTEMPTS):
        single, double = min(single, cost(once, adapter)), min(double, cost(twice, adapter))
        if attempt >= ATTEMPTS and double / single < RATIO:
            break
    return len(once.encode()) / MIB / single, double / single


def main(count: int) -> None:
    assert TOOLS.keys() <= TEXTS.keys()
    print(f"{count} benchmarks a text\n{'text of':24} {'alone':>14} {'t(2n)/t(n)':>11} {'by magic':>14} {'t(2n)/t(n)':>11}")
    failures = []
    for name, text in TEXTS.items():
        row = f"{name:24}"
        for adapter in (name if name in TOOLS else None, "magic"):
            if adapter is None:
                row += f" {'-':>14} {'-':>11}"
                continue
            speed, ratio = measure(text, adapter, count)
            row += f" {speed:8.1f} MiB/s {ratio:11.2f}"
            failures += [f"{name} by {adapter}: twice the text takes {ratio:.2f} times as long"] if ratio >= RATIO else []
        print(row, flush=True)
    assert not failures, failures


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
