"""Bounded memory for what a benchmark prints."""

import pytest

from runners.agent.capture import Capture


@pytest.mark.parametrize("chunk", [1, 7, 1000])
@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 5000])
def test_beginning_and_end_are_kept(size: int, chunk: int) -> None:
    text = "".join(chr(97 + number % 26) for number in range(size))
    capture = Capture(100)
    for start in range(0, size, chunk):
        capture.feed(text[start : start + chunk].encode())
    if size <= 100:
        assert capture.text() == text
        assert capture.dropped == 0
    else:
        assert capture.text() == f"{text[:50]}…[truncated {size - 100} bytes]…{text[-50:]}"
        assert capture.dropped == size - 100


def test_bytes_that_are_no_text() -> None:
    capture = Capture(100)
    capture.feed(b"a\0b\xff\xfe")
    assert capture.text() == "a\0b\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"


def test_a_character_across_two_reads() -> None:
    capture = Capture(100)
    capture.feed("é".encode()[:1])
    capture.feed("é".encode()[1:])
    assert capture.text() == "é"


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_tiny_limits(limit: int) -> None:
    capture = Capture(limit)
    capture.feed(b"x" * 10)
    assert capture.text().count("x") == limit
