"""Testbeds, benchmarks and measures: made on demand or by hand, renamed, archived, deleted (rest.md 5.2)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar

from django.db import IntegrityError, transaction

from bencher.core import saving
from bencher.core.errors import Clash, Missing
from bencher.core.slugs import create_with_slug
from bencher.projects.limiting import creating
from bencher.projects.models import Project
from outputs.adapters.measures import builtin
from outputs.models import Benchmark, Measure, Metric, Plot, Report, Testbed, Threshold
from outputs.models.reports import Dimension
from outputs.names import Mention
from outputs.selectors.dimensions import find, read, word

D = TypeVar("D", bound=Dimension)
UNITS = "Measure (units)"


# -- on demand ------------------------------------------------------------------------------------------------------
def resolve(model: type[D], *, project: Project, text: str, now: datetime, **values: Any) -> D:
    """The thing that ``text`` names, made when it is missing, taken out of the archive.

    Safe under competition: whoever loses the race to make it gets the winner's row.
    """
    said = read(model, text)
    row = find(model, project, said)
    if row is None:
        if said.uuid is not None:
            raise Missing(f"no such {word(model)}: {said.uuid}")
        row = make(model, project=project, name=said.name, slug=said.slug, now=now, **values)
    revive(row, now=now)
    return row


def make(model: type[D], *, project: Project, name: str, slug: str | None, now: datetime, **values: Any) -> D:
    """A new row, or the one that somebody else made meanwhile."""
    creating(word(model), project_id=project.pk, now=now)
    try:
        return create_with_slug(model, slug=slug, scope={"project": project}, name=name, created=now, modified=now, **values)
    except IntegrityError:
        row = find(model, project, Mention(None, slug, name))
        if row is None:
            raise
        return row


def revive(row: Dimension, *, now: datetime) -> None:
    """What a report mentions is not archived any more."""
    if row.archived is not None:
        row.archived, row.modified = None, now
        row.save(update_fields=["archived", "modified"])


def resolve_testbed(*, project: Project, name: str, now: datetime) -> Testbed:
    return resolve(Testbed, project=project, text=name, now=now)


def resolve_measure(*, project: Project, text: str, now: datetime) -> Measure:
    """A measure that is known by one of its built-in names gets its built-in name, slug and units (rest.md 6.3)."""
    known = builtin(text)
    if known is None:
        return resolve(Measure, project=project, text=text, now=now, units=UNITS)
    row = find(Measure, project, Mention(None, known.slug, known.name))
    if row is None:
        row = make(Measure, project=project, name=known.name, slug=known.slug, now=now, units=known.units)
    revive(row, now=now)
    return row


def set_testbed_spec(*, testbed: Testbed, spec_id: Any, now: datetime) -> None:
    """The spec that the testbed remembers; None forgets it."""
    if testbed.spec_id != spec_id:
        testbed.spec_id = spec_id
        testbed.modified = now
        testbed.save(update_fields=["spec", "modified"])


def forget_spec(*, spec_id: Any, now: datetime) -> None:
    """A spec was archived: no testbed stores it any longer (rest.md 4.2)."""
    Testbed.objects.filter(spec_id=spec_id).update(spec=None, modified=now)


# -- by hand --------------------------------------------------------------------------------------------------------
def create(model: type[D], *, project: Project, name: str, slug: str | None, now: datetime, **values: Any) -> D:
    """A new thing of that name; Clash when there is one. A slug that is taken gets a suffix."""
    if model._default_manager.filter(project=project, name=name).exists():
        raise Clash(f"there is a {word(model)} of that name already")
    creating(word(model), project_id=project.pk, now=now)
    try:
        return create_with_slug(model, slug=slug, scope={"project": project}, name=name, created=now, modified=now, **values)
    except IntegrityError:
        raise Clash(f"there is a {word(model)} of that name already") from None


def change(
    row: Dimension, *, name: str | None, slug: str | None, archived: bool | None, now: datetime, values: dict[str, Any] | None = None
) -> None:
    """Rename, archive or unarchive, and set other columns. Clash for a name or slug that is taken."""
    wanted: dict[str, Any] = dict(values or {})
    wanted |= {key: value for key, value in (("name", name), ("slug", slug)) if value is not None}
    if archived is not None and archived != (row.archived is not None):
        wanted["archived"] = now if archived else None
    saving.change(row, wanted, now=now, clash=f"name or slug is taken by another {word(type(row))}")


def delete(row: Dimension) -> None:
    """Delete what nothing refers to; Clash otherwise. Pinned plots lose it."""
    with transaction.atomic():
        users = [
            name
            for name, used in (
                ("report", isinstance(row, Testbed) and Report.objects.filter(testbed=row).exists()),
                ("report", isinstance(row, Benchmark) and Metric.objects.filter(benchmark=row).exists()),
                ("report", isinstance(row, Measure) and Metric.objects.filter(measure=row).exists()),
                ("threshold", isinstance(row, Testbed) and Threshold.objects.filter(testbed=row).exists()),
                ("threshold", isinstance(row, Measure) and Threshold.objects.filter(measure=row).exists()),
            )
            if used
        ]
        if users:
            raise Clash(f"the {word(type(row))} is used by a {users[0]}: archive it, or delete what uses it first")
        unpin(row)
        row.delete()


PLOT_LISTS = {"branch": "branches", "testbed": "testbeds", "benchmark": "benchmarks", "measure": "measures"}


def unpin(row: Dimension) -> None:
    """Take it out of the project's plots."""
    column, uuid = PLOT_LISTS[word(type(row))], str(row.id)
    for plot in Plot.objects.select_for_update().filter(project_id=row.project_id).order_by("id"):
        if uuid in (kept := getattr(plot, column)):
            setattr(plot, column, [item for item in kept if item != uuid])
            plot.save(update_fields=[column])


__all__ = [
    "change",
    "create",
    "delete",
    "forget_spec",
    "make",
    "resolve",
    "resolve_measure",
    "resolve_testbed",
    "revive",
    "set_testbed_spec",
    "unpin",
]
