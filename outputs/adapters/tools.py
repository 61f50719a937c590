"""The adapters by name: what reads a text, and for which ``settings.average`` (spec 6.1, 6.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from . import (
    bmf,
    c_sharp_dot_net,
    cpp_catch2,
    cpp_google,
    dart_benchmark_harness,
    go_bench,
    java_jmh,
    js_benchmark,
    js_time,
    js_vitest,
    python_asv,
    python_pytest,
    ruby_benchmark,
    rust_bench,
    rust_criterion,
    rust_gungraun_json,
    rust_gungraun_stdout,
    rust_iai,
    shell_hyperfine,
)
from .results import Benchmarks, Parsed, Refused
from .source import Source

Parse = Callable[[Source, str | None], Benchmarks]

ANY: Final = frozenset({None, "mean", "median"})
MEAN: Final = frozenset({None, "mean"})
MEDIAN: Final = frozenset({None, "median"})
UNSET: Final = frozenset({None})


class Tool(NamedTuple):
    """``parse`` gives no benchmarks, or raises Refused, when the text is not the tool's."""

    parse: Parse
    averages: frozenset[str | None]


TOOLS: Final = {
    "json": Tool(bmf.parse, ANY),
    "rust_bench": Tool(rust_bench.parse, MEDIAN),
    "rust_criterion": Tool(rust_criterion.parse, MEAN),
    "rust_iai": Tool(rust_iai.parse, UNSET),
    "rust_gungraun_json": Tool(rust_gungraun_json.parse, UNSET),
    "rust_gungraun_stdout": Tool(rust_gungraun_stdout.parse, UNSET),
    "cpp_google": Tool(cpp_google.parse, MEAN),
    "cpp_catch2": Tool(cpp_catch2.parse, MEAN),
    "go_bench": Tool(go_bench.parse, MEAN),
    "java_jmh": Tool(java_jmh.parse, MEAN),
    "c_sharp_dot_net": Tool(c_sharp_dot_net.parse, ANY),
    "js_benchmark": Tool(js_benchmark.parse, MEDIAN),
    "js_time": Tool(js_time.parse, UNSET),
    "js_vitest": Tool(js_vitest.parse, ANY),
    "python_asv": Tool(python_asv.parse, MEDIAN),
    "python_pytest": Tool(python_pytest.parse, ANY),
    "ruby_benchmark": Tool(ruby_benchmark.parse, UNSET),
    "shell_hyperfine": Tool(shell_hyperfine.parse, ANY),
    "dart_benchmark_harness": Tool(dart_benchmark_harness.parse, MEAN),
}


def apply(name: str, source: Source, average: str | None) -> Parsed:
    """Read ``source`` as the output of one tool. Raises Refused."""
    tool = TOOLS[name]
    if average not in tool.averages:
        raise Refused("nothing_parsed", f"{name} gives no {average}")
    benchmarks = tool.parse(source, average)
    bencher_metric_format = name == "json"
    if not benchmarks and not bencher_metric_format:
        raise Refused("nothing_parsed", "no benchmark found in it")
    return Parsed(benchmarks, bencher_metric_format)
