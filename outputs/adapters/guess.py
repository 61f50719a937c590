"""Adapters that stand for several tools: the first one that makes sense of the text is taken (spec 6.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .results import Parsed, Refused
from .source import Source
from .tools import apply

GUNGRAUN: Final = ("rust_gungraun_json", "rust_gungraun_stdout")

ORDER: Final = (
    "json",
    "c_sharp_dot_net",
    "cpp_catch2",
    "cpp_google",
    "dart_benchmark_harness",
    "go_bench",
    "java_jmh",
    "js_benchmark",
    "js_time",
    "js_vitest",
    "python_asv",
    "python_pytest",
    "ruby_benchmark",
    "rust_bench",
    "rust_criterion",
    "rust_iai",
    *GUNGRAUN,
    "shell_hyperfine",
)
"""What ``magic`` tries, in this order."""

TELLING: Final = ("truncated", "invalid", "nothing_parsed")
"""Verdicts, the one that tells most first."""


def magic(source: Source, average: str | None) -> Parsed:
    """The first of all tools. Raises Refused."""
    return _first(ORDER, source, average)


def gungraun(source: Source, average: str | None) -> Parsed:
    """Gungraun's summaries, else its text. Raises Refused."""
    return _first(GUNGRAUN, source, average)


def _first(names: Sequence[str], source: Source, average: str | None) -> Parsed:
    """The first adapter that applies. Raises Refused: the refusal that tells most about the text."""
    refusals = []  # their arguments: exceptions lead, by their traceback, back to this list, a cycle that would hold the document
    for name in names:
        try:
            parsed = apply(name, source, average)
        except Refused as refused:
            refusals.append((refused.verdict, refused.reason, refused.at))
        else:
            if names is GUNGRAUN or not _bare(name, parsed):
                return parsed
    verdict, reason, at = min(refusals, key=lambda refusal: TELLING.index(refusal[0]))
    raise Refused(verdict, reason if verdict != "nothing_parsed" else "no adapter found a benchmark in it", at)


def _bare(name: str, parsed: Parsed) -> bool:
    """Lines of any log can look like a name of Gungraun's, and a name without metrics is a benchmark: too little for a guess."""
    return name == "rust_gungraun_stdout" and not any(parsed.benchmarks.values())
