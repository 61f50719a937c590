"""Gungraun's text, beyond the data of test_parse."""

from __future__ import annotations

import pytest

from outputs.adapters import rust_gungraun_stdout
from outputs.adapters.results import Metric, Refused
from outputs.adapters.source import Source


def parse(text: str) -> dict:
    return rust_gungraun_stdout.parse(Source(text), None)


def metric(line: str) -> dict:
    return parse(f"a::b::c\n{line}\n")["a::b::c"]


@pytest.mark.parametrize(
    "line",
    [
        "  Instructions: 7|N/A (*)",
        "  Instructions:     7|N/A             (*********)",
        "  Instructions: 7|7 (No change)",
        "  Instructions: 7|5 (+40.0%) [+1.4x]",
        "  Instructions: 7|9 (-22.2%) [-1.28x]",
        "  Instructions: 7|0 (+++inf+++) [+++inf+++]",
        "  Instructions: 7|8 (-100.000%) [---inf---]",
    ],
)
def test_metric_lines(line: str) -> None:
    assert metric(line) == {"instructions": Metric(7.0)}


@pytest.mark.parametrize(
    "line",
    [
        "  Instructions 7|N/A (*)",
        "  Instructions: 7 N/A (*)",
        "  Instructions: 7|N/A",
        "  Instructions: 7|7",
        "  Instructions: 7|5 (40.0%) [+1.4x]",
        "  Instructions: 7|5 (+40.0%)",
        "  Instructions: 7|N/A (*) more",
        "  ===== MASSIF =====",
    ],
)
def test_any_other_line_ends_the_block(line: str) -> None:
    assert metric(line + "\n  Instructions: 1|N/A (*)") == {}


def test_a_section_changes_the_labels() -> None:
    assert metric("  Ge: 1|N/A (*)\n  === CACHEGRIND ===\n  Ge: 2|N/A (*)\n  Dr: 3|N/A (*)") == {
        "global-bus-events": Metric(1.0),
        "dr": Metric(3.0),
    }


def test_a_name_may_span_lines_but_not_a_log() -> None:
    assert list(parse("a::b::c id:one\ntwo\n  Dr: 1|N/A (*)\n")) == ["a::b::c id:one\ntwo"]
    log = "x::y::z\n" * 200 + "a::b::c\n  Dr: 1|N/A (*)\n"
    found = parse(log)
    assert list(found.values()) == [{"dr": Metric(1.0)}]
    assert next(iter(found)).endswith("a::b::c")


def test_a_name_needs_an_indented_line() -> None:
    assert parse("a::b::c\n") == {}
    assert parse("  x\na::b::c\nend") == {}


def test_a_long_line_without_metrics_is_no_name() -> None:
    assert parse("a::b::" + "c" * 2000 + "\n  log\n") == {}


def test_a_long_name_with_metrics_is_refused() -> None:
    with pytest.raises(Refused, match="bytes, allowed are 1 to 1024"):
        parse("a::b::" + "c" * 2000 + "\n  Dr: 1|N/A (*)\n")
