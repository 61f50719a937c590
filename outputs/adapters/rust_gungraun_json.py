"""Gungraun's JSON summaries, pretty-printed or one a line, in the middle of other output (schema version 6)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct

from .gungraun import KEYS
from .results import Benchmarks, Measures, Metric, Refused, record
from .source import Source, convert, read

VERSION: Final = "6"
NEEDED: Final = ('"module_path"', '"version"')
"""Keys without which nothing is a summary."""

SIGNS: Final = ('"baselines"', '"module_path"')
"""Keys, one of them near the start, that a summary cut short still shows."""

BRACE: Final = re.compile(r'^([ \t]*+)(?:(\{)(?=[ \t]*+\n[ \t]*+")|(\})[ \t]*+$|(\{[^\n]*\})[ \t]*+$)', re.MULTILINE)
"""A line that opens a pretty-printed object, one that closes it, or a whole object."""


class Total(Struct):
    summary: dict[str, Any] | str
    """By kind of tool; the text ``None`` for a tool that counts nothing."""


class Summaries(Struct):
    total: Total


class Profile(Struct):
    tool: str
    summaries: Summaries


class Summary(Struct):
    module_path: str
    profiles: list[Profile]
    id: str | None = None


Number = dict[str, float]
"""``{"Int": n}`` or ``{"Float": x}``."""


class Sides(Struct, rename="pascal"):
    """Values of the new run (left) and of the old one. A metric with an old value only has neither of these keys."""

    left: Number | None = None
    both: tuple[Number, Number] | None = None


class Entry(Struct):
    metrics: Sides


def parse(source: Source, _average: str | None) -> Benchmarks:
    """The new values of every summary in the text. Raises Refused (truncated) when the text ends inside one."""
    benchmarks: Benchmarks = {}
    if any(sign in source.text for sign in SIGNS):
        for document in _documents(source.text):
            summary = convert(document, Summary)
            name = summary.module_path if summary.id is None else f"{summary.module_path}::{summary.id}"
            record(benchmarks, name, _measures(summary.profiles))
    return benchmarks


def _documents(text: str) -> Iterator[dict[str, Any]]:
    """Every summary: a line that is an object, or a block from a line ``{`` to the line ``}`` with the same indent.

    Blocks inside a block are not looked at, so that each line is read at most twice. A block that never ends (its writer died, another
    summary follows) is left out.
    """
    opened: re.Match[str] | None = None
    for match in BRACE.finditer(text):
        indent, opening, closing, whole = match.groups()
        if opening:
            if opened is None or len(indent) <= len(opened[1]):
                opened = match
        elif closing:
            if opened is not None and indent == opened[1]:
                yield from _summary(text[opened.start() : match.end()])
                opened = None
        elif found := list(_summary(whole)):
            opened = None
            yield from found
    start = opened.start() if opened is not None else text.rfind("\n", 0, len(text.rstrip())) + 1
    if any(sign in text[start:] for sign in SIGNS) and _cut(text[start:]):
        raise Refused("truncated", "it looks truncated: the text ends inside a summary", max(0, len(text) - 100))


def _summary(text: str) -> Iterator[dict[str, Any]]:
    """The summary in ``text``, if it is one."""
    if all(key in text for key in NEEDED):
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return
        if value.get("version") == VERSION and "module_path" in value:
            yield value


def _cut(text: str) -> bool:
    """Whether ``text`` is the start of a JSON document."""
    try:
        read(text)
    except Refused as refused:
        return refused.verdict == "truncated"
    return False


def _measures(profiles: list[Profile]) -> Measures:
    measures: Measures = {}
    for profile in profiles:
        kinds = profile.summaries.total.summary
        for kind, entries in kinds.items() if isinstance(kinds, dict) else ():
            slugs = KEYS.get((profile.tool if kind == "ErrorTool" else kind).upper(), {})
            for key, entry in convert(entries, dict[str, Any]).items():
                if key in slugs and (number := _new(convert(entry, Entry).metrics)):
                    measures[slugs[key]] = Metric(next(iter(number.values())))
    return measures


def _new(sides: Sides) -> Number | None:
    return sides.both[0] if sides.both else sides.left
