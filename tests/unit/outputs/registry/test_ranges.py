"""Ranges of readers and of chunks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outputs.registry.ranges import InvalidChunk, Span, Unsatisfiable, chunk_range, read_range, stored_range


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, None),
        ("", None),
        ("bytes=0-99", Span(0, 99)),
        ("bytes=100-", Span(100, 999)),
        ("bytes=-100", Span(900, 999)),
        ("bytes=900-5000", Span(900, 999)),
        ("bytes=-5000", Span(0, 999)),
        ("bytes=999-999", Span(999, 999)),
        ("Bytes = 0-0", Span(0, 0)),
        ("lines=0-9", None),
        ("bytes=abc-", None),
        ("bytes=-", None),
        ("bytes=0-9,20-29", None),
        ("bytes=٠-٩", None),
    ],
)
def test_read_range(header: str | None, expected: Span | None) -> None:
    assert read_range(header, 1000) == expected


@pytest.mark.parametrize("header", ["bytes=1000-", "bytes=2000-3000", "bytes=-0", "bytes=9-0", "bytes=0-" + "9" * 5000])
def test_unsatisfiable(header: str) -> None:
    with pytest.raises(Unsatisfiable):
        read_range(header, 1000)


@pytest.mark.parametrize("header", ["bytes=0-", "bytes=0-0", "bytes=-1"])
def test_nothing_of_nothing(header: str) -> None:
    with pytest.raises(Unsatisfiable):
        read_range(header, 0)


@given(st.text(max_size=30), st.integers(0, 10**12))
def test_read_range_takes_any_text(text: str, size: int) -> None:
    try:
        span = read_range(f"bytes={text}", size)
    except Unsatisfiable:
        return
    assert span is None or 0 <= span.first <= span.last < size


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, None),
        ("nodash", None),
        ("0-9", Span(0, 9)),
        ("bytes 0-9", Span(0, 9)),
        ("bytes 0-9/10", Span(0, 9)),
        ("0-9/10", Span(0, 9)),
        ("bytes 5-9/*", Span(5, 9)),
    ],
)
def test_chunk_range(header: str | None, expected: Span | None) -> None:
    assert chunk_range(header) == expected


@pytest.mark.parametrize("header", ["garbage-value", "0-abc", "abc-10", "-", "5-", "-5", "9-0", "0-9/x", "1-" + "9" * 5000])
def test_invalid_chunk(header: str) -> None:
    with pytest.raises(InvalidChunk):
        chunk_range(header)


def test_length() -> None:
    assert Span(10, 19).length == 10


@pytest.mark.parametrize(("size", "text"), [(0, "0-0"), (1, "0-0"), (2, "0-1"), (1 << 40, "0-1099511627775")])
def test_stored_range(size: int, text: str) -> None:
    assert stored_range(size) == text
