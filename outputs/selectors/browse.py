"""What the pages of results read: each page has one of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from bencher.core.api import ordered, searched
from bencher.projects.models import Project
from outputs.models import Benchmark, Branch, Measure, Testbed, ThresholdModel
from outputs.models.reports import Dimension
from outputs.selectors import dimensions
from outputs.selectors.perf import Line, Wanted, perf

KINDS: dict[str, type[Dimension]] = {"branches": Branch, "testbeds": Testbed, "benchmarks": Benchmark, "measures": Measure}
"""By the word of paths and query parameters."""
OFFERED = 60
"""Things of one kind that a page offers for choice, besides those that are chosen."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Things of one kind: those that are chosen first, then others by name; ``total`` of all that match the search."""

    kind: str
    chosen: list[Any]
    others: list[Any]
    total: int
    search: str


def choices(project: Project, chosen: Mapping[str, Sequence[UUID]], searches: Mapping[str, str]) -> list[Choice]:
    """Twelve queries at the most: of each kind what is chosen, what else could be, and how many there are."""
    return [_choice(project, kind, list(chosen.get(kind, ()))[:OFFERED], searches.get(kind, "")) for kind in KINDS]


def _choice(project: Project, kind: str, ids: list[UUID], search: str) -> Choice:
    model: Any = KINDS[kind]
    rows = model.objects.filter(project=project)
    chosen = list(rows.filter(id__in=ids).order_by("name", "id")) if ids else []
    live = searched(rows.filter(archived=None).exclude(id__in=ids), search or None, "name", "slug")
    return Choice(kind, chosen, list(ordered(live, None, "name")[:OFFERED]), live.count(), search)


@dataclass(frozen=True, slots=True)
class PerfPage:
    lines: list[Line]
    models: dict[str, ThresholdModel]
    choices: list[Choice]


def perf_page(project: Project, wanted: Wanted | None, chosen: Mapping[str, Sequence[UUID]], searches: Mapping[str, str]) -> PerfPage:
    """The series that are wanted (none while a list is missing), and what else could be."""
    lines, models = perf(project, wanted) if wanted is not None else ([], {})
    return PerfPage(lines, models, choices(project, chosen, searches))


def listed(kind: str, project: Project, *, search: str | None, name: str | None, archived: bool, direction: Any) -> Any:
    """One kind of thing by name, as REST lists it."""
    rows = dimensions.rows(KINDS[kind], project).filter(archived__isnull=not archived)
    if name is not None:
        rows = rows.filter(name=name)
    return ordered(searched(rows, search, "name", "slug"), direction, "name")
