"""The two range headers: what a reader asks for (RFC 9110, 14.2) and where a chunk goes (OCI distribution-spec, "Pushing a blob in chunks")."""

import re
from dataclasses import dataclass

_ONE_RANGE = re.compile(r"bytes\s*=\s*(\d*)\s*-\s*(\d*)", re.ASCII | re.IGNORECASE)
_CHUNK = re.compile(r"(?:bytes\s+)?(\d+)-(\d+)(?:/(?:\d+|\*))?", re.ASCII | re.IGNORECASE)
# A longer number names no byte of any blob, and a number of thousands of digits costs time to read.
_MOST_DIGITS = 19


class Unsatisfiable(ValueError):
    """The range lies beyond the content: 416."""


class InvalidChunk(ValueError):
    """Content-Range is no range: 416."""


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes ``first`` to ``last``, both included, counted from 0."""

    first: int
    last: int

    @property
    def length(self) -> int:
        return self.last - self.first + 1


def read_range(header: str | None, size: int) -> Span | None:
    """The part of a content of ``size`` bytes that Range asks for, clipped to its end; None = all of it.

    Other units, several ranges and what is no range are ignored, as RFC 9110 allows. Raises `Unsatisfiable`.
    """
    found = _ONE_RANGE.fullmatch(header.strip()) if header else None
    if found is None or found[1] == found[2] == "":
        return None
    if max(len(found[1]), len(found[2])) > _MOST_DIGITS:
        raise Unsatisfiable
    if found[1] == "":
        return _suffix(int(found[2]), size)
    first = int(found[1])
    last = int(found[2]) if found[2] else size - 1
    if first >= size or last < first:
        raise Unsatisfiable
    return Span(first, min(last, size - 1))


def _suffix(length: int, size: int) -> Span:
    if length == 0 or size == 0:
        raise Unsatisfiable
    return Span(max(0, size - length), size - 1)


def chunk_range(header: str | None) -> Span | None:
    """Content-Range of an upload: ``a-b``, ``bytes a-b``, either with ``/total``; None = not said.

    A header without a dash says nothing (registry.md 1.6). Raises `InvalidChunk`.
    """
    if header is None or "-" not in header:
        return None
    found = _CHUNK.fullmatch(header.strip())
    if found is None or max(len(found[1]), len(found[2])) > _MOST_DIGITS:
        raise InvalidChunk("Content-Range is FIRST-LAST, two numbers of bytes")
    span = Span(int(found[1]), int(found[2]))
    if span.last < span.first:
        raise InvalidChunk("Content-Range ends before it starts")
    return span


def stored_range(size: int) -> str:
    """The Range header of an upload that holds ``size`` bytes; an empty one is ``0-0`` (OCI distribution-spec)."""
    return f"0-{max(0, size - 1)}"
