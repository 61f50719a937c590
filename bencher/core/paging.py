"""Lists on pages: which rows, and the links to the other ones. Pure but for slicing the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

ROWS = 50
"""Of a page's list."""
LAST = 1_000_000_000
"""No page number beyond it means anything."""


@dataclass(frozen=True, slots=True)
class Paged:
    """Some rows of a list and where the others are. ``total``: of all rows. ``query``: the other parameters of the page, encoded."""

    rows: list[Any]
    total: int
    number: int
    per_page: int
    query: str

    @property
    def first(self) -> int:
        """Of the shown rows, from 1."""
        return (self.number - 1) * self.per_page + 1

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // self.per_page))

    @property
    def previous(self) -> str:
        return self._link(min(self.number, self.pages + 1) - 1) if self.number > 1 else ""

    @property
    def next(self) -> str:
        return self._link(self.number + 1) if self.number < self.pages else ""

    def _link(self, number: int) -> str:
        return f"?{self.query}{'&' if self.query else ''}page={number}"


def page_number(text: str | None) -> int:
    """What ``?page=`` says; 1 for anything that is no page number."""
    return min(int(text), LAST) if text and text.isascii() and text.isdigit() and len(text) < 12 and int(text) > 0 else 1


def paged(rows: Any, parameters: Mapping[str, str], *, total: int | None = None, per_page: int = ROWS) -> Paged:
    """The page of ``rows`` (a sequence or an ordered query) that ``parameters["page"]`` names; the links keep the other parameters."""
    number = page_number(parameters.get("page"))
    found = total if total is not None else len(rows) if isinstance(rows, (list, tuple)) else rows.count()
    start = (number - 1) * per_page
    others = urlencode([(name, value) for name, value in parameters.items() if name != "page" and value != ""])
    return Paged(list(rows[start : start + per_page]) if start < found else [], found, number, per_page, others)
