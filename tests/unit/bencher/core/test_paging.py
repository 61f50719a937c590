"""Lists on pages."""

from __future__ import annotations

import pytest

from bencher.core.paging import page_number, paged


@pytest.mark.parametrize(
    ("text", "number"),
    [(None, 1), ("", 1), ("2", 2), ("0", 1), ("-1", 1), ("x", 1), ("٣", 1), ("9" * 30, 1), ("99999999999", 1_000_000_000)],
)
def test_page_numbers(text: str | None, number: int) -> None:
    assert page_number(text) == number


def test_the_first_page_and_the_last() -> None:
    first = paged(list(range(120)), {"search": "a&b", "page": "1"})
    assert (first.rows[0], first.first, first.last, first.total, first.previous, first.next) == (0, 1, 50, 120, "", "?search=a%26b&page=2")
    last = paged(list(range(120)), {"page": "3"})
    assert (last.rows[0], last.first, last.last, last.previous, last.next) == (100, 101, 120, "?page=2", "")


def test_beyond_the_end_leads_back() -> None:
    beyond = paged(list(range(120)), {"page": "77"})
    assert (beyond.rows, beyond.previous, beyond.next) == ([], "?page=3", "")
    assert paged([], {}).pages == 1
