"""How pages write numbers, moments and the texts of strangers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from bencher.core.templatetags.showing import moment, number, said, seconds


def test_moments() -> None:
    east = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2)))
    assert moment(east) == '<time datetime="2026-01-02T01:04:05Z">2026-01-02 01:04:05</time>'
    assert moment("2026-01-02T01:04:05Z") == moment(datetime(2026, 1, 2, 1, 4, 5, tzinfo=UTC))
    assert moment(None) == moment("") == "–"


def test_numbers_and_nothing() -> None:
    assert (number(1.5), number(0), number(None), number("")) == ("1.5", "0", "–", "–")


def test_texts_of_strangers_are_on_one_line_and_visible() -> None:
    assert said("a\nb\x00\u202ec") == "a b␀\ufffdc"


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 s"), (59, "59 s"), (60, "1 min"), (3661, "1 h 1 min"), (90061, "1 d 1 h"), (2**31, "24,855 d 3 h")]
)
def test_spans(value: int, text: str) -> None:
    assert seconds(value) == text
