"""Pinned plots: made, changed, put in order (rest.md 5.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from django.db import transaction

from bencher.core.errors import Missing
from bencher.projects.limiting import creating
from bencher.projects.models import Project
from outputs.models import Benchmark, Branch, Measure, Plot, Testbed
from outputs.models.reports import Dimension
from outputs.requests import NewPlot, PlotChange

LISTS: Mapping[str, type[Dimension]] = {"branches": Branch, "testbeds": Testbed, "benchmarks": Benchmark, "measures": Measure}
GAP = 1 << 20
"""Between neighbours' ranks: a plot is put between two others without touching them, until a gap is used up."""


def create_plot(*, project: Project, new: NewPlot, now: datetime) -> Plot:
    """A new plot, in front of the others unless ``index`` says otherwise. Missing when a UUID is none of the project's."""
    lists = {name: _known(project, name, getattr(new, name)) for name in LISTS}
    creating("plot", project_id=project.pk, now=now)
    with transaction.atomic():
        return Plot.objects.create(
            project=project,
            rank=_rank(project, new.index or 0),
            title=new.title,
            lower_value=new.lower_value,
            upper_value=new.upper_value,
            lower_boundary=new.lower_boundary,
            upper_boundary=new.upper_boundary,
            x_axis=new.x_axis,
            y_axis=new.y_axis or "auto",
            window=new.window,
            created=now,
            modified=now,
            **lists,
        )


def change_plot(*, plot: Plot, change: PlotChange, now: datetime) -> None:
    """What is named changes; lists are replaced."""
    values: dict[str, Any] = {}
    for name in change.__struct_fields__:
        value = getattr(change, name)
        if name == "index" or value is msgspec.UNSET or (value is None and name != "title"):
            continue
        values[name] = _known(plot.project, name, value) if name in LISTS else value
    with transaction.atomic():
        if change.index is not None:
            values["rank"] = _rank(plot.project, change.index, moved=plot)
        if not values:
            return
        for name, value in {**values, "modified": now}.items():
            setattr(plot, name, value)
        plot.save(update_fields=[*values, "modified"])


def delete_plot(*, plot: Plot) -> None:
    plot.delete()


def _known(project: Project, name: str, uuids: Sequence[UUID]) -> list[str]:
    """The list without repeats, all of it the project's."""
    distinct = list(dict.fromkeys(uuids))
    found = set(LISTS[name]._default_manager.filter(project=project, id__among=distinct).values_list("id", flat=True))
    if unknown := [uuid for uuid in distinct if uuid not in found]:
        raise Missing(f"{name}: there is no {unknown[0]} in this project")
    return [str(uuid) for uuid in distinct]


def _rank(project: Project, index: int, moved: Plot | None = None) -> int:
    """A rank that puts a plot at ``index`` among the others, which are spread anew when there is no room."""
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)  # two plots must not get one rank
    others = Plot.objects.filter(project=project).order_by("rank", "id")
    rows = list(others.exclude(pk=moved.pk) if moved else others)
    place = min(index, len(rows))
    before = rows[place - 1].rank if place else None
    after = rows[place].rank if place < len(rows) else None
    if before is None or after is None:
        return 0 if before is after else after - GAP if after is not None else (before or 0) + GAP
    if after - before > 1:
        return (before + after) // 2
    for position, row in enumerate(rows):
        row.rank = (position + (position >= place)) * GAP
    Plot.objects.bulk_update(rows, ["rank"])
    return place * GAP
