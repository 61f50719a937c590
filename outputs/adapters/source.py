"""A result text as adapters look at it: as lines, or as a JSON document. Each view is made once, however many adapters ask."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from .results import Refused

T = TypeVar("T")

ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b]*+(?:\x07|\x1b\\)|[ -/]++[0-~]|[0-Z\\^-~])")
"""Terminal control sequences (ECMA-48): CSI, OSC, charset choice and single shifts. Possessive, therefore linear."""

UNFINISHED: Final = ("true", "false", "null", "NaN", "Infinity", "-Infinity", ".", "e+", "e-", "E+", "E-")
"""What a text may end inside of, beside strings: a literal, or a number just before its fraction or exponent."""


class Document(NamedTuple):
    """A JSON text, read. ``strict``: it keeps to RFC 8259. ``repeated``: the ids of objects in it that name a key twice."""

    value: Any
    strict: bool
    repeated: frozenset[int]


class Source:
    """One result text."""

    def __init__(self, text: str) -> None:
        self.raw = text.removeprefix("\ufeff")
        self._document: Document | Refused | None = None

    @cached_property
    def text(self) -> str:
        """The text as a terminal would show it: no colours, ``\\n`` line ends; of a line redrawn after ``\\r`` only what came last."""
        text = self.raw
        if "\x1b" in text:
            text = ESCAPES.sub("", text)
        if "\r" in text:
            text = text.replace("\r\n", "\n")
        if "\r" in text:
            text = "\n".join(line.rstrip("\r").rpartition("\r")[2] if "\r" in line else line for line in text.split("\n"))
        return text

    def before(self, position: int) -> str:
        """What stands between the start of the line and ``position``."""
        return self.text[self.text.rfind("\n", 0, position) + 1 : position]

    def previous(self, position: int) -> str:
        """The whole line before the line of ``position``; empty if there is none."""
        end = self.text.rfind("\n", 0, position)
        return self.text[self.text.rfind("\n", 0, end) + 1 : end] if end > 0 else ""

    def lines(self, position: int = 0) -> Iterator[str]:
        """The lines from ``position`` on; a final line end makes no further line."""
        text = self.text
        while position < len(text):
            end = text.find("\n", position)
            if end < 0:
                end = len(text)
            yield text[position:end]
            position = end + 1

    @property
    def document(self) -> Document:
        """The text as one JSON document. Raises Refused."""
        if self._document is None:
            try:
                self._document = read(self.raw)
            except Refused as refused:
                self._document = Refused(*refused.args)  # without its traceback, which leads back to this object
        if isinstance(self._document, Refused):
            raise Refused(*self._document.args)
        return self._document

    def convert(self, shape: type[T]) -> T:
        """The JSON document as ``shape``; keys that ``shape`` lacks are ignored. Raises Refused (nothing parsed) for any other document."""
        return convert(self.document.value, shape)


def convert(value: Any, shape: type[T]) -> T:
    """``value``, decoded JSON, as ``shape``. Raises Refused (nothing parsed)."""
    try:
        return msgspec.convert(value, shape)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise Refused("nothing_parsed", f"a JSON document of another shape ({error})") from None


def read(text: str) -> Document:
    """Read one JSON document in linear time.

    More than JSON is let through, and told by ``strict``: ``NaN``, ``Infinity`` and raw control characters in strings, as some tools write
    them. Raises Refused: truncated when a document starts but the text ends inside it, else invalid or nothing parsed.
    """
    loose: list[str] = []
    repeated: list[dict[str, Any]] = []

    def constant(name: str) -> float:
        loose.append(name)
        return float(name)

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            repeated.append(value)
        return value

    def decoder(strict: bool) -> json.JSONDecoder:
        return json.JSONDecoder(strict=strict, object_pairs_hook=members, parse_constant=constant, parse_int=_integer)

    try:
        try:
            value = decoder(strict=True).decode(text)
        except json.JSONDecodeError as error:
            if not error.msg.startswith("Invalid control character"):
                raise
            loose.append(error.msg)
            repeated.clear()
            value = decoder(strict=False).decode(text)
    except json.JSONDecodeError as error:
        raise _refusal(text, error) from None
    except RecursionError:
        raise Refused("invalid", "JSON nested too deeply") from None
    return Document(value, not loose, frozenset(map(id, repeated)))


def _integer(digits: str) -> int | float:
    """Integers of any length, in linear time (``int`` is quadratic and refuses more than 4300 digits)."""
    return int(digits) if len(digits) < 20 else float(digits)


def _refusal(text: str, error: json.JSONDecodeError) -> Refused:
    """Why ``text`` is no JSON document."""
    if not re.match(r'\s*+(?:\{|\[\s*+[\[{"])', text):
        return Refused("nothing_parsed", "not a JSON document")
    rest = text[error.pos : error.pos + 12].rstrip()
    cut = (
        error.msg.startswith("Unterminated string")
        or (error.msg.startswith("Invalid \\") and len(text) - error.pos <= 6)
        or not rest
        or any(token.startswith(rest) for token in UNFINISHED)
    )
    if cut:
        return Refused("truncated", "it looks truncated: the text ends inside a JSON document", max(0, len(text) - 100))
    return Refused("invalid", f"not a JSON document: {error.msg} in line {error.lineno}, column {error.colno}", max(0, error.pos - 40))
