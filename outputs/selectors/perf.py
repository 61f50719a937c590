"""The perf query: series of metrics over the versions of a branch (rest.md 5.8). Six queries, however many series and points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import F

from bencher.projects.models import Project
from bencher.specs.models import Spec
from outputs.models import Benchmark, Branch, Head, Measure, Metric, Testbed, ThresholdModel
from outputs.selectors.reports import in_bulk
from outputs.selectors.texts import MomentText, UuidText

LIMIT = 255


class Point(NamedTuple):
    """One metric of a series, as columns of one query. UUIDs and moments are texts, as JSON shows them."""

    head_id: str
    testbed_id: str
    benchmark_id: str
    measure_id: str
    spec_id: UUID | None
    report_id: str
    iteration: int
    start_time: str
    end_time: str
    number: int
    hash: str | None
    metric_id: str
    value: float
    lower_value: float | None
    upper_value: float | None
    model_id: UUID | None
    baseline: float | None
    lower_limit: float | None
    upper_limit: float | None
    alert_id: str | None
    alert_limit: str | None
    alert_status: str | None
    alert_modified: str | None
    change_before: float | None
    change_after: float | None
    change_p_value: float | None


COLUMNS: tuple[Any, ...] = (
    *(UuidText("report__version__head_versions__head_id"), UuidText("report__testbed_id"), UuidText("benchmark_id")),
    *(UuidText("measure_id"), F("report__spec_id"), UuidText("report_id"), F("iteration")),
    *(MomentText("report__start_time"), MomentText("report__end_time")),
    *map(F, ("report__version__head_versions__number", "report__version__hash")),
    UuidText("id"),
    *map(F, ("value", "lower_value", "upper_value", "model_id", "baseline", "lower_limit", "upper_limit")),
    *(UuidText("alert__id"), F("alert__limit"), F("alert__status"), MomentText("alert__modified")),
    *map(F, ("change_point__before", "change_point__after", "change_point__p_value")),
)
ORDER = ("report__version__head_versions__number", "report__start_time", "iteration", "id")
Key = tuple[str, str, str, str]
"""Head, testbed, benchmark, measure."""


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


class Line(NamedTuple):
    """One series that has points. ``spec``: the one that was asked for."""

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


def perf(project: Project, wanted: Wanted) -> tuple[list[Line], dict[UUID, ThresholdModel]]:
    """(the series in the order of the lists, the models that judged their points)."""
    lists = _lists(project, wanted)
    if not all(any(item is not None for item in items) for items in lists):
        return [], {}
    points: dict[Key, list[Point]] = {}
    for row in _points(lists, wanted):
        points.setdefault(row[:4], []).append(row)
    lines = [line for line in _combine(lists, points) if line.points]
    models = {point.model_id for line in lines for point in line.points if point.model_id}
    return lines, in_bulk(ThresholdModel.objects.select_related("threshold"), models)


def _lists(project: Project, wanted: Wanted) -> _Lists:
    def known(model: Any, ids: Sequence[UUID]) -> dict[UUID, Any]:
        return in_bulk(model.objects.filter(project=project), set(ids[:LIMIT]))

    branches, testbeds = known(Branch, wanted.branches), known(Testbed, wanted.testbeds)
    benchmarks, measures = known(Benchmark, wanted.benchmarks), known(Measure, wanted.measures)
    pairs = list(zip_longest(wanted.branches[:LIMIT], wanted.heads[: len(wanted.branches)][:LIMIT]))
    heads = in_bulk(
        Head.objects.select_related("start_version"),
        {head or branches[branch].head_id for branch, head in pairs if branch in branches},
    )
    places = list(zip_longest(wanted.testbeds[:LIMIT], wanted.specs[: len(wanted.testbeds)][:LIMIT]))
    specs = in_bulk(Spec.objects.all(), {spec for _, spec in places if spec})
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


def _points(lists: _Lists, wanted: Wanted) -> Iterator[Point]:
    rows = Metric.objects.filter(
        benchmark__among={row.id for row in lists.benchmarks if row},
        measure__among={row.id for row in lists.measures if row},
        report__testbed__among={pair[0].id for pair in lists.testbeds if pair},
        report__version__head_versions__head__among={pair[1].id for pair in lists.heads if pair},
    )
    if wanted.start_time is not None:
        rows = rows.filter(report__start_time__gte=wanted.start_time)
    if wanted.end_time is not None:
        rows = rows.filter(report__end_time__lte=wanted.end_time)
    return map(Point._make, rows.order_by(*ORDER).values_list(*COLUMNS))


def _combine(lists: _Lists, points: dict[Key, list[Point]]) -> Iterator[Line]:
    """The cross product in order, up to the first combination whose places (from 1) multiply to more than 255."""
    for first, head in enumerate(lists.heads, 1):
        for second, place in enumerate(lists.testbeds, 1):
            for third, benchmark in enumerate(lists.benchmarks, 1):
                for fourth, measure in enumerate(lists.measures, 1):
                    if first * second * third * fourth > LIMIT:
                        return
                    if head and place and benchmark and measure:
                        (branch, shown), (testbed, spec) = head, place
                        found = points.get((str(shown.id), str(testbed.id), str(benchmark.id), str(measure.id)), [])
                        yield Line(branch, shown, testbed, spec, benchmark, measure, _of_spec(found, spec))


def _of_spec(points: list[Point], spec: Spec | None) -> list[Point]:
    return points if spec is None else [point for point in points if point.spec_id == spec.id]
