"""From parsed results to rows, before the transaction that writes them (recovery.md section 2): dimensions, history, limits, verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import itemgetter
from typing import cast
from uuid import UUID

import msgspec

from bencher.core.compiled import Compiled, Slot
from bencher.core.errors import Invalid
from bencher.core.ids import uuid7s
from bencher.projects.models import Project
from outputs import detection, verdicts
from outputs.adapters.results import Metric as Number
from outputs.adapters.results import Parsed
from outputs.models import Threshold, ThresholdModel
from outputs.selectors.history import Past, Series, past_values
from outputs.selectors.preceding import not_archived, preceding
from outputs.selectors.reports import MetricRow, Named
from outputs.services import resolution
from outputs.services.thresholds import model_in
from outputs.verdicts import Verdict

Iterations = Sequence[tuple[int, Parsed]]
"""``(iteration, results)``, as the parsers give them."""


_THRESHOLDS = Compiled(
    lambda: (
        Threshold.objects.select_related("model")
        .filter(branch_id=Slot("branch"), testbed_id=Slot("testbed"), measure__among=Slot("measures"), model__isnull=False)
        .order_by("id")
    )
)


class Value(msgspec.Struct, frozen=True, gc=False):
    """One metric to come."""

    id: UUID
    iteration: int
    benchmark_id: UUID
    measure_id: UUID
    number: Number
    ignored: bool


@dataclass(slots=True)
class Judged:
    """What thresholds said about a value."""

    model_id: UUID
    limits: detection.Limits
    outlier: str | None
    missing: str | None


@dataclass(slots=True)
class Prepared:
    """Everything that a delivery writes."""

    values: list[Value]
    judged: dict[UUID, Judged]
    """By metric."""
    counts: list[list[int]]
    verdicts: list[Verdict] = field(default_factory=list)
    watched: bool = False
    """A threshold asks for change points: they are looked for afterwards."""
    named: Named | None = None
    """The benchmarks and measures, whole, for an answer that shows them."""

    def rows(self, report_id: UUID) -> list[MetricRow]:
        """The metrics as they are stored."""
        if not self.judged:
            return [(*_measured(value, report_id), None, None, None, None) for value in self.values]
        verdicts = [self.judged.get(value.id) for value in self.values]
        return [
            (*_measured(value, report_id), verdict and verdict.model_id, *(verdict.limits if verdict else (None, None, None)))
            for value, verdict in zip(self.values, verdicts, strict=True)
        ]


def _measured(value: Value, report_id: UUID) -> tuple[UUID, UUID, int, UUID, UUID, float, float | None, float | None]:
    number = value.number
    return value.id, report_id, value.iteration, value.benchmark_id, value.measure_id, number.value, number.lower, number.upper


@dataclass(frozen=True, slots=True)
class Target:
    """Where the results belong. ``report_id`` None: the report is not stored yet, and will be shown."""

    project: Project
    branch_id: UUID
    series: Series
    report_id: UUID | None = None


def prepare(*, target: Target, parsed: Iterations, now: datetime) -> Prepared:
    """Find or make what the results mention and judge them. Raises Invalid (a name, a model) and Missing (a UUID that names nothing)."""
    named = None if target.report_id else Named()
    found = _found(target.project, parsed, now, named)
    values = _values(found)
    thresholds = _thresholds(target, {value.measure_id for value in values})
    judged: dict[UUID, Judged] = {}
    for threshold in thresholds:
        judged |= _judge(target, threshold, [value for value in values if value.measure_id == threshold.measure_id], now)
    prepared = Prepared(values, judged, _counts(found), watched=any(row.change_points for row in thresholds), named=named)
    prepared.verdicts = [*_unseen(parsed, values), *_without_baseline(values, judged), *_compared(target, values)]
    return prepared


# -- which metrics --------------------------------------------------------------------------------------------------
Found = dict[int, dict[int, dict[int, tuple[UUID, UUID, Number, bool]]]]
"""By iteration, benchmark and measure; these two as numbers: a UUID's hash is made by Python each time."""


def _found(project: Project, parsed: Iterations, now: datetime, named: Named | None) -> Found:
    """The metrics. Two spellings of one benchmark or measure are one: what comes later counts."""
    names = {(text, results.name_ids) for _, results in parsed for text in results.benchmarks}
    meant = resolution.benchmarks(project=project, texts=names, now=now, named=named)
    texts = {text for _, results in parsed for metrics in results.benchmarks.values() for text in metrics}
    measures = resolution.measures(project=project, texts=texts, now=now, named=named)
    found: Found = {}
    for iteration, results in parsed:
        rows = found.setdefault(iteration, {})
        for text, metrics in results.benchmarks.items():
            benchmark, ignored = meant[text, results.name_ids]
            row = rows.setdefault(benchmark.int, {})
            for name, number in metrics.items():
                measure = measures[name]
                row[measure.int] = benchmark, measure, number, ignored
    return found


def _values(found: Found) -> list[Value]:
    """In order of iteration."""
    ordered = [(iteration, *value) for iteration in sorted(found) for row in found[iteration].values() for value in row.values()]
    return [Value(id, *rest) for id, rest in zip(uuid7s(len(ordered)), ordered, strict=True)]


def _counts(found: Found) -> list[list[int]]:
    """Of benchmarks and measures, by iteration with metrics."""
    measured = ([row for row in found[iteration].values() if row] for iteration in sorted(found))
    return [[len(rows), len(set().union(*rows))] for rows in measured if rows]


# -- what thresholds say --------------------------------------------------------------------------------------------
def _thresholds(target: Target, measures: set[UUID]) -> list[Threshold]:
    if not measures:
        return []
    return _THRESHOLDS.rows(branch=target.branch_id, testbed=target.series.testbed_id, measures=measures)


def _judge(target: Target, threshold: Threshold, values: Sequence[Value], now: datetime) -> dict[UUID, Judged]:
    row = cast(ThresholdModel, threshold.model)
    model = _usable(row)
    past = past_values(
        target.series,
        measure_id=threshold.measure_id,
        benchmarks={value.benchmark_id for value in values},
        most=model.max_sample_size,
        window=model.window,
        now=now,
    )
    judged = {}
    counts = model.window is None or target.series.start >= now - timedelta(seconds=model.window)
    for value, history in _with_history(values, past, counts):
        verdict = detection.evaluate(model, history, value.number.value)
        outlier = None if value.ignored else verdict.outlier
        judged[value.id] = Judged(row.id, verdict.limits, outlier, verdict.missing)
    return judged


def _usable(row: ThresholdModel) -> detection.Model:
    """The stored model; those that came with a run were not judged when they came (rest.md 2.7)."""
    model = model_in(row)
    try:
        if model.lower_boundary is not None or model.upper_boundary is not None:
            detection.validate(model)
    except detection.ModelError as fault:
        raise Invalid(f"thresholds: {model.test}: {fault}") from None
    return model


def _with_history(values: Sequence[Value], past: dict[UUID, Past], counts: bool) -> Iterator[tuple[Value, list[float]]]:
    """Each value with what came before it, newest first: earlier iterations of the same report, if it ``counts``, are history for the later ones."""
    own: dict[UUID, list[tuple[int, float]]] = {}
    for value in values:
        known = past[value.benchmark_id]
        earlier = own.setdefault(value.benchmark_id, [])
        if earlier or known.newer or known.level:
            level = sorted([*earlier, *known.level], key=_iteration, reverse=True)
            yield value, [*known.newer, *(number for _, number in level), *known.older]
        else:
            yield value, known.older
        if counts:
            earlier.append((value.iteration, value.number.value))


_iteration: Callable[[tuple[int, float]], int] = itemgetter(0)


# -- verdicts -------------------------------------------------------------------------------------------------------
def _unseen(parsed: Iterations, values: Sequence[Value]) -> list[Verdict]:
    seen = {value.iteration for value in values}
    return verdicts.nothing_parsed([iteration for iteration, _ in parsed if iteration not in seen], none=not seen)


def _without_baseline(values: Sequence[Value], judged: dict[UUID, Judged]) -> list[Verdict]:
    found: dict[tuple[str, UUID], list[UUID]] = {}
    for value in values if judged else ():
        verdict = judged.get(value.id)
        if verdict is not None and verdict.missing in (verdicts.NO_BASELINE, verdicts.NO_SPREAD):
            found.setdefault((verdict.missing, value.measure_id), []).append(value.benchmark_id)
    return [verdicts.without_baseline(kind, measure, benchmarks) for (kind, measure), benchmarks in found.items()]


def _compared(target: Target, values: Sequence[Value]) -> list[Verdict]:
    """With the report before this one that measured some of the same."""
    present = {value.benchmark_id.int: value.benchmark_id for value in values}.values()
    before = preceding(target.series, report_id=target.report_id, benchmarks=present) if present else None
    if before is None:
        return []
    gone: dict[verdicts.LastSeen, list[UUID]] = {}
    if before.gone or before.verdicts:
        gone = verdicts.missing(before.verdicts, before.gone, set(present), report=before.id, since=before.start)
        gone = {key: benchmarks for key, found in gone.items() if (benchmarks := not_archived(found))}
    changed = verdicts.spec_changed(before.spec_id, target.series.spec_id, report=before.id)
    return [*verdicts.missing_since(gone), *changed]
