"""The perf query: series of metrics over the versions of a branch (rest.md 5.8). Six to nine queries, however many series and points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Any, NamedTuple
from uuid import UUID

from bencher.core.compiled import Compiled, Slot
from bencher.projects.models import Project
from bencher.specs.models import Spec
from outputs.models import Benchmark, Branch, Head, Measure, Testbed, ThresholdModel
from outputs.selectors.points import Found, Pair, Point, key_of, series_points

LIMIT = 255


@dataclass(frozen=True, slots=True)
class Wanted:
    """The lists of a query. ``heads`` go with ``branches`` and ``specs`` with ``testbeds``, place by place; None means the current head, any spec."""

    branches: Sequence[UUID]
    heads: Sequence[UUID | None]
    testbeds: Sequence[UUID]
    specs: Sequence[UUID | None]
    benchmarks: Sequence[UUID]
    measures: Sequence[UUID]
    start_time: datetime | None = None
    end_time: datetime | None = None


def _known(kind: type[Any], related: tuple[str, ...] | None = None) -> Compiled[Any]:
    rows = kind.objects.filter(project=Slot("project"), id__among=Slot("ids")).order_by("id")
    return Compiled(lambda: rows.select_related(*related) if related else rows)


_KNOWN: dict[type[Any], Compiled[Any]] = {
    Branch: _known(Branch, ("head__start_version",)),
    **{kind: _known(kind) for kind in (Testbed, Benchmark, Measure)},
}
_HEADS = Compiled(lambda: Head.objects.select_related("start_version").filter(id__among=Slot("ids")).order_by("id"))
_SPECS = Compiled(lambda: Spec.objects.filter(id__among=Slot("ids")).order_by("id"))
_MODELS = Compiled(lambda: ThresholdModel.objects.select_related("threshold").filter(id__among=Slot("ids")).order_by("id"))


class Line(NamedTuple):
    """One series. ``spec``: the one that was asked for."""

    branch: Branch
    head: Head
    testbed: Testbed
    spec: Spec | None
    benchmark: Benchmark
    measure: Measure
    points: list[Point]


class _Lists(NamedTuple):
    """What exists of the lists; a place whose UUID names nothing is None, so that positions stay."""

    heads: list[tuple[Branch, Head] | None]
    testbeds: list[tuple[Testbed, Spec | None] | None]
    benchmarks: list[Benchmark | None]
    measures: list[Measure | None]


def perf(project: Project, wanted: Wanted) -> tuple[list[Line], dict[str, ThresholdModel]]:
    """(the series in the order of the lists, the models that judged their points by ``Point.model``)."""
    places = list(_combinations(_lists(project, wanted)))
    if not places:
        return [], {}
    pairs = {pair: number for number, pair in enumerate(dict.fromkeys((place.benchmark.id, place.measure.id) for place in places))}
    found = series_points(
        heads={place.head.id for place in places},
        testbeds={place.testbed.id for place in places},
        pairs=list(pairs),
        start=wanted.start_time,
        end=wanted.end_time,
    )
    lines = [line for place in places if (line := _line(place, found, pairs)).points]
    models = {point.model for line in lines for point in line.points}
    judges = _MODELS.rows(ids=[UUID(key) for key in models if key]) if models - {None} else []
    return lines, {key_of(row.id): row for row in judges}


def _line(line: Line, found: Found, pairs: dict[Pair, int]) -> Line:
    """The same with its points."""
    series = found.get((key_of(line.head.id), key_of(line.testbed.id)), {})
    points = series.get(pairs[line.benchmark.id, line.measure.id], [])
    if line.spec is not None:
        spec = key_of(line.spec.id)
        points = [point for point in points if point.visit.spec == spec]
    return line._replace(points=points)


def _lists(project: Project, wanted: Wanted) -> _Lists:
    def known(model: Any, ids: Sequence[UUID]) -> dict[UUID, Any]:
        return {row.id: row for row in _KNOWN[model].rows(project=project.id, ids=set(ids[:LIMIT]))}

    branches, testbeds = known(Branch, wanted.branches), known(Testbed, wanted.testbeds)
    benchmarks, measures = known(Benchmark, wanted.benchmarks), known(Measure, wanted.measures)
    pairs = list(zip_longest(wanted.branches[:LIMIT], wanted.heads[: len(wanted.branches)][:LIMIT]))
    heads = {branch.head_id: branch.head for branch in branches.values()}
    if others := {head for _, head in pairs if head} - heads.keys():
        heads |= {row.id: row for row in _HEADS.rows(ids=others)}
    places = list(zip_longest(wanted.testbeds[:LIMIT], wanted.specs[: len(wanted.testbeds)][:LIMIT]))
    wanted_specs = {spec for _, spec in places if spec}
    specs = {row.id: row for row in _SPECS.rows(ids=wanted_specs)} if wanted_specs else {}
    return _Lists(
        [_head(branches.get(branch), head, heads) for branch, head in pairs],
        [_place(testbeds.get(testbed), spec, specs) for testbed, spec in places],
        [benchmarks.get(id) for id in wanted.benchmarks[:LIMIT]],
        [measures.get(id) for id in wanted.measures[:LIMIT]],
    )


def _head(branch: Branch | None, head_id: UUID | None, heads: dict[UUID, Head]) -> tuple[Branch, Head] | None:
    if branch is None:
        return None
    head = heads.get(head_id or branch.head_id)  # type: ignore[arg-type]
    return None if head is None or head.branch_id != branch.id else (branch, head)


def _place(testbed: Testbed | None, spec_id: UUID | None, specs: dict[UUID, Spec]) -> tuple[Testbed, Spec | None] | None:
    if testbed is None or (spec_id is not None and spec_id not in specs):
        return None
    return testbed, specs[spec_id] if spec_id else None


def _combinations(lists: _Lists) -> Iterator[Line]:
    """The cross product in order, still without points, up to the first combination whose places (from 1) multiply to more than 255."""
    for first, head in enumerate(lists.heads, 1):
        for second, place in enumerate(lists.testbeds, 1):
            for third, benchmark in enumerate(lists.benchmarks, 1):
                for fourth, measure in enumerate(lists.measures, 1):
                    if first * second * third * fourth > LIMIT:
                        return
                    if head and place and benchmark and measure:
                        yield Line(*head, *place, benchmark, measure, [])
