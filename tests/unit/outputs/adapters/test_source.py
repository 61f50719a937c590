"""The two views of a text: what a terminal would show, and a JSON document."""

from __future__ import annotations

import contextlib
import gc
import math
import weakref

import pytest
from msgspec import Struct

from outputs.adapters import source as source_module
from outputs.adapters.guess import magic
from outputs.adapters.results import Refused
from outputs.adapters.source import Source, read


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("plain\n", "plain\n"),
        ("\ufeffmark", "mark"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("a\r\r\nb\r", "a\nb"),
        ("10%\r50%\r100%\ndone\n", "100%\ndone\n"),
        ("Benchmarking a\r\x1b[Ka time: [1 ns 2 ns 3 ns]\n", "a time: [1 ns 2 ns 3 ns]\n"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
        ("\x1b(Bascii\x1b7\x1bM", "ascii"),
        ("\x1b", "\x1b"),
        ("\x1b[31", "\x1b[31"),
    ],
)
def test_text(raw: str, text: str) -> None:
    assert Source(raw).text == text


def test_coloured_output_is_read() -> None:
    source = Source("\x1b[32mname\x1b[0m\r\n  next\n")
    assert list(source.lines()) == ["name", "  next"]


def test_lines() -> None:
    assert list(Source("a\n\nb").lines()) == ["a", "", "b"]
    assert list(Source("a\nb\n").lines(2)) == ["b"]
    assert list(Source("").lines()) == []


def test_around_a_position() -> None:
    source = Source("first\nsecond line\nthird")
    place = source.text.index("line")
    assert (source.before(place), source.previous(place)) == ("second ", "first")
    assert (source.before(2), source.previous(2)) == ("fi", "")
    assert Source("\nx").previous(1) == ""


# -- documents -----------------------------------------------------------------------------------------------------------
def test_a_document_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = []
    monkeypatch.setattr(source_module, "read", lambda text: readings.append(text) or read(text))
    source, broken = Source('{"a": 1}'), Source("{")
    assert source.document is source.document
    for _ in range(2):
        with pytest.raises(Refused, match="truncated"):
            _ = broken.document
    assert readings == ['{"a": 1}', "{"]


@pytest.mark.parametrize("text", ["{", '{"b": 1}', "no benchmark", '[{"benchmark": 1}]', "A(RunTime): 1 us."])
def test_nothing_is_left_for_the_garbage_collector(text: str) -> None:
    """A cycle would hold texts and documents of megabytes until some later collection."""
    gc.collect()
    gc.disable()
    try:
        source = Source(text)
        left = weakref.ref(source)
        with contextlib.suppress(Refused):
            magic(source, None)
        del source
        assert left() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("text", "value", "strict"),
    [
        ('{"a": 1}', {"a": 1}, True),
        ("NaN", math.nan, False),
        ("[Infinity, -Infinity]", [math.inf, -math.inf], False),
        ('["\x1b"]', ["\x1b"], False),
        ("9" * 30, 1e30, True),
        ("9" * 5000, math.inf, True),
    ],
)
def test_read(text: str, value: object, strict: bool) -> None:
    document = read(text)
    assert (document.strict, repr(document.value)) == (strict, repr(value))


def test_repeated_keys_are_told() -> None:
    document = read('{"a": {"b": 1, "b": 2}, "c": {"b": 1}}')
    assert document.repeated == {id(document.value["a"])}


def test_repeated_keys_are_told_after_a_second_reading() -> None:
    document = read('{"a": {"b": 1, "b": 2}, "c": "\x1b"}')
    assert document.repeated == {id(document.value["a"])}


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("", "nothing_parsed"),
        ("text", "nothing_parsed"),
        ("[ 50%] log", "nothing_parsed"),
        ("[INFO] log", "nothing_parsed"),
        ("{", "truncated"),
        ("[[", "truncated"),
        ('{"a": tr', "truncated"),
        ('{"a": 1.', "truncated"),
        ('{"a": 1e', "truncated"),
        ('{"a": 1e-', "truncated"),
        ('{"a": -', "truncated"),
        ('{"a', "truncated"),
        ('{"a\\', "truncated"),
        ('{"a\\u00', "truncated"),
        ('{"a": "\x1b', "truncated"),
        ('{"a": trx}', "invalid"),
        ('{"a": "\\x"' + " " * 20, "invalid"),
        ('{"a": 1} {', "invalid"),
        ('{"a": 1,}', "invalid"),
        ('{"a":' * 100_000, "invalid"),
    ],
)
def test_refusals(text: str, verdict: str) -> None:
    with pytest.raises(Refused) as raised:
        read(text)
    assert raised.value.verdict == verdict


class Shape(Struct):
    number: float
    name: str | None = None


def test_convert() -> None:
    assert Source('{"number": 1, "more": NaN}').convert(Shape) == Shape(1.0)


@pytest.mark.parametrize("text", ["[]", "{}", '{"number": "1"}', '{"number": true}', '{"number": 1, "\\ud800": 2}'])
def test_convert_refuses(text: str) -> None:
    with pytest.raises(Refused, match="another shape"):
        Source(text).convert(Shape)
