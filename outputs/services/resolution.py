"""The benchmarks and measures that results mention, found or made all at once (rest.md 5.2, 6.5).

Names are inserted with ON CONFLICT DO NOTHING and read back, so that any number of first reports may arrive together. The number of statements does not
depend on the number of names.
"""

from __future__ import annotations

import secrets
import string
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from bencher.core.compiled import Compiled, Slot
from bencher.core.errors import Invalid, Missing
from bencher.core.ids import slugify, suffixed, uuid7s
from bencher.projects.limiting import creating
from bencher.projects.models import Project
from outputs.models import Benchmark, Measure
from outputs.models.reports import Dimension
from outputs.names import Mention, benchmark_name
from outputs.selectors.dimensions import read, word
from outputs.selectors.reports import BENCHMARK_COLUMNS, MEASURE_COLUMNS, Named
from outputs.services import bulk, dimensions

ATTEMPTS = 5
_BASE36 = string.digits + string.ascii_lowercase


Columns = tuple[str, ...]
FEW: Columns = ("id", "name", "slug", "archived")
"""Enough for a job's report, which is not answered to anybody: of ten thousand names every column costs milliseconds."""
WHOLE: dict[type[Dimension], Columns] = {Benchmark: BENCHMARK_COLUMNS, Measure: MEASURE_COLUMNS}


def _rows(kind: type[Any], column: str, columns: Columns) -> Compiled[Any]:
    return Compiled(
        lambda: kind.objects.filter(**{"project": Slot("project"), f"{column}__among": Slot("values")}).order_by("id").values_list(*columns)
    )


_ROWS: dict[tuple[type[Dimension], str, Columns], Compiled[Any]] = {
    (kind, column, columns): _rows(kind, column, columns)
    for kind in (Benchmark, Measure)
    for column in ("id", "slug", "name")
    for columns in (FEW, WHOLE[kind])
}


Row = tuple[Any, ...]
"""The id, ..., since when it is archived. Plain tuples: there may be ten thousand."""


class Meant(NamedTuple):
    """A benchmark, as a text named it. ``ignored``: no alerts for this value."""

    id: UUID
    ignored: bool


def benchmarks(
    *, project: Project, texts: Iterable[tuple[str, bool]], now: datetime, named: Named | None = None
) -> dict[tuple[str, bool], Meant]:
    """The benchmark of every ``(text, is a NameId)``. Tools give names, BMF gives NameIds (UUID, slug or name). ``named`` gets them, too."""
    said = {key: _said(*key) for key in texts}
    known = _resolve(Benchmark, project, [mention for mention, _ in said.values()], now, WHOLE[Benchmark] if named else FEW)
    if named:
        named.benchmarks.update((row[0], row) for row in known.values())
    return {key: Meant(known[mention][0], ignored) for key, (mention, ignored) in said.items()}


def _said(text: str, name_id: bool) -> tuple[Mention, bool]:
    name, ignored = benchmark_name(text)
    return (read(Benchmark, name) if name_id else Mention(None, None, read(Benchmark, name).name)), ignored


def measures(*, project: Project, texts: Iterable[str], now: datetime, named: Named | None = None) -> dict[str, UUID]:
    """The measure of every text; missing ones are made, the built-in ones with their units. ``named`` gets those that were there."""
    said = {text: read(Measure, text) for text in texts}
    known = {
        mention: row for mention, row in _find(Measure, project, said.values(), WHOLE[Measure] if named else FEW).items() if row[-1] is None
    }
    if named:
        named.measures.update((row[0], row) for row in known.values())
    found = {text: known[mention][0] for text, mention in said.items() if mention in known}
    for text in said.keys() - found.keys():
        found[text] = dimensions.resolve_measure(project=project, text=text, now=now).id
    return found


# -- many of one kind -----------------------------------------------------------------------------------------------
def _resolve(model: type[Dimension], project: Project, said: list[Mention], now: datetime, columns: Columns) -> dict[Mention, Row]:
    wanted = set(said)
    known = _find(model, project, wanted, columns)
    for attempt in range(ATTEMPTS):
        missing = [mention for mention in wanted if mention not in known]
        if not missing:
            break
        if unknown := [mention for mention in missing if mention.uuid is not None]:
            raise Missing(f"no such {word(model)}: {unknown[0].uuid}")
        _insert(model, project, missing, now, suffixed if attempt < 2 else _random_suffix)
        known |= _find(model, project, missing, columns)
    else:
        raise Invalid(f"{word(model)}: no free slug for {missing[0].name[:64]!r}")
    if archived := {mention: row[0] for mention, row in known.items() if row[-1] is not None}:
        model._default_manager.filter(id__among=set(archived.values())).update(archived=None, modified=now)
        known |= _find(model, project, archived, columns)
    return known


def _find(model: type[Dimension], project: Project, said: Iterable[Mention], columns: Columns) -> dict[Mention, Row]:
    """Those that exist: by UUID, else by slug, else by name."""
    said = list(said)

    def by(column: str, values: list[object]) -> dict[object, Row]:
        if not values:
            return {}
        place = columns.index(column)
        return {row[place]: row for row in _ROWS[model, column, columns].rows(project=project.id, values=values)}

    ids = by("id", [mention.uuid for mention in said if mention.uuid])
    slugs = by("slug", [mention.slug for mention in said if mention.slug])
    names = by("name", [mention.name for mention in said if not mention.uuid and mention.slug not in slugs])
    pairs = ((mention, ids.get(mention.uuid) if mention.uuid else slugs.get(mention.slug) or names.get(mention.name)) for mention in said)
    return {mention: row for mention, row in pairs if row is not None}


def _insert(model: type[Dimension], project: Project, missing: list[Mention], now: datetime, suffix: Callable[[str], str]) -> None:
    """Rows for names that nobody has yet. Those whose name or slug is taken meanwhile, or in this very list, are left out: they are found next time."""
    names = {mention.name: mention for mention in sorted(missing, key=lambda mention: (mention.slug is not None, mention.name))}
    bases = {name: mention.slug or slugify(name) for name, mention in names.items()}
    taken = set(model._default_manager.filter(project=project, slug__among=set(bases.values())).values_list("slug", flat=True))
    slugs: dict[str, str] = {}
    for name, mention in names.items():
        slug = bases[name]
        if mention.slug and slug in taken:
            continue
        while not slug or slug in taken:
            slug, suffix = suffix(bases[name]), _random_suffix
        taken.add(slug)
        slugs[name] = slug
    count = len(slugs)
    creating(word(model), project_id=project.id, now=now, number=count)
    columns: bulk.Columns = {
        "id": uuid7s(count),
        "project": [project.id] * count,
        "name": list(slugs),
        "slug": list(slugs.values()),
        "created": [now] * count,
        "modified": [now] * count,
        "archived": [None] * count,
    }
    bulk.insert(model, columns, ignore_conflicts=True)


def _random_suffix(base: str) -> str:
    """As ``suffixed``, but all of it by chance: many names of one second can share a slug."""
    tail = "".join(secrets.choice(_BASE36) for _ in range(8))
    head = suffixed(base).rpartition("-")[0]
    return f"{head}-{tail}" if head else tail
