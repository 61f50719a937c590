"""What magic takes, and that no text makes it run away."""

from __future__ import annotations

import time

import pytest

from outputs.adapters.parse import parse_results
from outputs.adapters.results import AdapterError

RULE = "-" * 79 + "\n"
TITLE = RULE + "t\n" + RULE
HEADER = "user system total real\n"
SUMMARY = '"module_path" "version" '


def taken(text: str, adapter: str = "magic") -> list[str]:
    return list(parse_results([text], adapter=adapter)[0][1].benchmarks)


def test_the_first_tool_that_applies_is_taken() -> None:
    rust, dart, go = "test rust ... bench: 1 ns/iter (+/- 0)\n", "dart(RunTime): 1 us.\n", "go 1 1 ns/op\n"
    assert taken(rust + go + dart) == ["dart"]
    assert taken(rust + go) == ["go"]
    assert taken(rust) == ["rust"]


def test_average_chooses_among_tools() -> None:
    text = "a(RunTime): 1 us.\ntest b ... bench: 1 ns/iter (+/- 0)\n"
    assert list(parse_results([text], average="mean")[0][1].benchmarks) == ["a"]
    assert list(parse_results([text], average="median")[0][1].benchmarks) == ["b"]


def test_a_broken_tool_does_not_hide_another() -> None:
    assert taken("n" * 1025 + " 1 1 ns/op\ntest rust ... bench: 1 ns/iter (+/- 0)\n") == ["rust"]


def test_the_most_telling_refusal_is_reported() -> None:
    with pytest.raises(AdapterError, match="1025 bytes") as raised:
        parse_results(["n" * 1025 + " 1 1 ns/op\n"])
    assert raised.value.verdict == "invalid"


def test_a_log_that_looks_like_gungraun_is_no_benchmark_by_guess() -> None:
    log = "error::in::module went wrong\n  caused by: nothing\n"
    assert taken(log, "rust_gungraun") == ["error::in::module went wrong"]
    with pytest.raises(AdapterError, match="no adapter found a benchmark"):
        parse_results([log])


HOSTILE = {
    "blanks": " ",
    "lines": "\n",
    "tabs": "\t \t",
    "returns": "\r",
    "windows-lines": "\r\n",
    "redrawn": "a\rb\n",
    "escapes": "\x1b[",
    "titles": "\x1b]",
    "letters": "a",
    "digits": "1",
    "commas": "1,",
    "colons": "a:",
    "paths": "a::",
    "boxes": "┌" + "─" * 60 + "┐\n",
    "rust": "test a ... bench: 1 ns/iter (+/- 1\n",
    "rust-dots": "test a ... ",
    "criterion": "a time: [1 ns 1 ns 1 ns\n",
    "criterion-line": "a time: [1 ns ",
    "criterion-times": "time:   ",
    "iai": "b\n Instructions: 1\n L1 Accesses: 1\n L2 Accesses: 1\n RAM Accesses: 1\n",
    "iai-line": "Instructions: 1",
    "go": "B-8 1 1 ns/op x\n",
    "go-line": "B 1 1 ",
    "js": " x 1 ops/sec ±1% (1 runs sampled\n",
    "js-line": " x 1",
    "js-time": "a: 1ms - timer ende\n",
    "asv": "[1%] · a 1±1\n",
    "asv-line": "[1%] · a",
    "ruby": HEADER,
    "dart": "a(RunTime): 1 us\n",
    "catch2": RULE,
    "gungraun-names": "a::b::c\n",
    "gungraun": "a::b::c\n  Instructions: 1|2 (+1%\n",
    "gungraun-json": '{"module_path","version"}\n',
    "objects": '{"a":',
    "arrays": "[[],",
    "strings": '"\\',
    "surrogates": "\ud800",
    "nul": "\0",
}
"""What is repeated."""

AFTER = {
    "escape": ("\x1b[", "0"),
    "rust-number": ("test a ... bench: ", "1"),
    "criterion-values": ("time: [", "1.0 ns "),
    "asv-blanks": ("[", " "),
    "asv-dots": ("[1%] ", "·"),
    "asv-words": ("[1%] · ", "a "),
    "ruby-rows": (HEADER, "a 1 1 1 ( "),
    "ruby-blanks": ("user", " "),
    "catch2-first": (TITLE, "a 1 1 1 s\n"),
    "catch2-two": (TITLE, "a 1 1 1 s\n 1 s 1 s 1 s\n"),
    "catch2-lines": (TITLE, "\n"),
    "catch2-words": (TITLE, "1 "),
    "gungraun-metrics": ("a::b::c\n", "  Foo: 1|N/A (***)\n"),
    "gungraun-line": ("a::b::c\n  ", "Instructions: 1|N/A (***"),
    "braces": (SUMMARY, "{\n"),
    "pretty": (SUMMARY, '{\n"\n'),
    "blocks": (SUMMARY, "{\n}\n"),
    "indented": (SUMMARY, " {\n"),
    "string": ('["', "a"),
    "integer": ("[", "1"),
    "controls": ('["', "\x01"),
    "control-keys": ("{", '"\x01":1,'),
    "empty-objects": ("[", "{},"),
}
"""What stands once, and what is repeated after it."""

BEFORE = {"gungraun-far": ("a::b::c\n", "\n  x"), "pretty-end": ('{\n"\n', SUMMARY + "\n}")}
"""What is repeated, and what stands once after it."""


def build(size: int, start: str, body: str, end: str) -> str:
    return start + body * (size // len(body)) + end


def cost(text: str) -> float:
    """CPU seconds of this process that magic takes to refuse ``text``, the best of three."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        with pytest.raises(AdapterError):
            parse_results([text])
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize(
    ("start", "body", "end"),
    [
        *(pytest.param("", body, "", id=name) for name, body in HOSTILE.items()),
        *(pytest.param(start, body, "", id=name) for name, (start, body) in AFTER.items()),
        *(pytest.param("", body, end, id=name) for name, (body, end) in BEFORE.items()),
    ],
)
def test_time_grows_with_the_text_not_with_its_square(start: str, body: str, end: str) -> None:
    size = 1 << 17
    ratios = []
    for _ in range(4):
        ratios.append(cost(build(2 * size, start, body, end)) / cost(build(size, start, body, end)))
        if ratios[-1] < 3:
            return
    pytest.fail(f"twice the text takes {ratios} times as long")
