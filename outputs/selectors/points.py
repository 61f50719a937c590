"""The points of perf's series: one or two queries, two more when there are alerts or changes of level, and one tuple a point.

What a report's metrics share (times, version, texts of UUIDs) is read and written once a report; a metric costs one row of plain columns. On SQLite
each column of a row costs as much as a table that is joined: what few metrics have (alerts, changes) is asked for on its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from functools import cache
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import numpy as np
from django.db import connection

from bencher.core.statements import Statement, stored

T = TypeVar("T")


class Visit(NamedTuple):
    """A report among the versions of a head: what its points there share. Moments are texts as JSON shows them: RFC 3339 in UTC, whole seconds."""

    rank: int
    """Of version and start: equal for reports of one version that started at one moment."""
    report_id: str
    spec: str | None
    """As ``key_of`` makes it."""
    start_time: str
    end_time: str
    number: int
    hash: str | None


class Alerted(NamedTuple):
    id: str
    limit: str
    status: str
    modified: str


class Changed(NamedTuple):
    before: float
    after: float
    p_value: float


class Point(NamedTuple):
    """One metric of a series. Points sort by version, start, iteration, metric."""

    rank: int
    iteration: int
    metric_id: str
    visit: Visit
    value: float
    lower_value: float | None
    upper_value: float | None
    model: str | None
    """As ``key_of`` makes it."""
    baseline: float | None
    lower_limit: float | None
    upper_limit: float | None
    alert: Alerted | None
    change: Changed | None

    @property
    def report_id(self) -> str:
        return self.visit.report_id

    @property
    def start_time(self) -> str:
        return self.visit.start_time

    @property
    def number(self) -> int:
        return self.visit.number

    @property
    def hash(self) -> str | None:
        return self.visit.hash


Place = tuple[str, str]
"""Head and testbed: ``key_of`` each."""
Pair = tuple[UUID, UUID]
"""Benchmark and measure."""
Found = dict[Place, dict[int, list[Point]]]
"""Points by place and by the pair's position."""

_METRIC = """{key[m.report_id]}, {position}, m.iteration, {key[m.id]},
  m.value, m.lower_value, m.upper_value, {key[m.model_id]}, m.baseline, m.lower_limit, m.upper_limit"""
_REPORT = """{key[r.spec_id]}, {moment[r.start_time]}, {moment[r.end_time]}, hv.number, v.hash,
  EXISTS (SELECT 1 FROM outputs_alert a WHERE a.report_id = r.id), EXISTS (SELECT 1 FROM outputs_changepoint){place}"""
_PLACE = ", {key[hv.head_id]}, {key[r.testbed_id]}"
_OF_PAIRS = "m.benchmark_id = {benchmark} AND m.measure_id = {measure} AND r.id = m.report_id AND r.testbed_id {among} {start} {end}"
_OF_HEADS = "hv.version_id = r.version_id AND hv.head_id {among}"
# SQLite joins in the order in which a CROSS JOIN is written; PostgreSQL chooses by itself.
METRICS = f"""
SELECT {_METRIC} FROM {{pairs}} CROSS JOIN outputs_metric m CROSS JOIN outputs_report r
WHERE {_OF_PAIRS} AND EXISTS (SELECT 1 FROM outputs_headversion hv WHERE {_OF_HEADS})
"""
REPORTS = f"""
SELECT {{key[r.id]}}, {_REPORT} FROM {{rows}} CROSS JOIN outputs_report r CROSS JOIN outputs_version v CROSS JOIN outputs_headversion hv
WHERE r.id = rows.value AND v.id = r.version_id AND {_OF_HEADS}
"""
BOTH = f"""
SELECT {_METRIC}, {_REPORT}
FROM {{pairs}} CROSS JOIN outputs_metric m CROSS JOIN outputs_report r CROSS JOIN outputs_version v CROSS JOIN outputs_headversion hv
WHERE {_OF_PAIRS} AND v.id = r.version_id AND {_OF_HEADS}
"""
FEW = 3
"""Up to so many pairs ``BOTH`` is cheaper than asking for each report once."""
ALERTS = """
SELECT {key[a.metric_id]}, {key[a.id]}, a."limit", a.status, {moment[a.modified]}
FROM {rows} CROSS JOIN outputs_alert a WHERE a.metric_id = rows.value
"""
CHANGES = (
    "SELECT {key[c.metric_id]}, c.before, c.after, c.p_value FROM {rows} CROSS JOIN outputs_changepoint c WHERE c.metric_id = rows.value"
)


class _Texts(dict[str, str]):
    """Column -> SQL that makes it a text, which takes a fraction of the time that an object in Python does."""

    def __init__(self, template: str) -> None:
        super().__init__()
        self._template = template

    def __missing__(self, column: str) -> str:
        return self._template.replace("?", column)


DIALECTS: dict[str, dict[str, Any]] = {
    "postgresql": {
        "key": _Texts("?::text"),
        "moment": _Texts("(? AT TIME ZONE 'UTC')::text"),
        "among": "= ANY(%s::uuid[])",
        "rows": "unnest(%s::uuid[]) AS rows(value)",
        "pairs": "unnest(%s::text[]) WITH ORDINALITY AS pairs(value, key)",
        "position": "pairs.key - 1",
        "benchmark": "substr(pairs.value, 1, 32)::uuid",
        "measure": "substr(pairs.value, 33)::uuid",
    },
    "sqlite": {
        "key": _Texts("?"),
        "moment": _Texts("+?"),
        "among": "IN (SELECT value FROM json_each(%s))",
        "rows": "json_each(%s) rows",
        "pairs": "json_each(%s) pairs",
        "position": "pairs.key",
        "benchmark": "substr(pairs.value, 1, 32)",
        "measure": "substr(pairs.value, 33)",
    },
}
"""``key``: what equals ``key_of``; ``moment``: ``2026-01-31 12:00:00`` in UTC, with or without a fraction (SQLite's plus hides the column's type, of which the driver would make an object)."""


def key_of(uuid: UUID) -> str:
    """A UUID as the keys of the series have it."""
    return str(uuid) if connection.vendor == "postgresql" else uuid.hex


@cache
def _statement(vendor: str, query: str, start: bool, end: bool, place: bool) -> Statement:
    parts = DIALECTS[vendor]
    return Statement(
        query.format(
            **parts,
            start="AND r.start_time >= %s" if start else "",
            end="AND r.end_time <= %s" if end else "",
            place=_PLACE.format(**parts) if place else "",
        )
    )


def _rows(query: str, *parameters: Any, start: datetime | None = None, end: datetime | None = None, place: bool = False) -> list[Any]:
    statement = _statement(connection.vendor, query, start is not None, end is not None, place)
    return statement.rows([stored(item, connection) for item in parameters])


def _list(keys: Iterable[str]) -> Any:
    """Keys as a parameter: PostgreSQL's driver takes the text of an array at a tenth of the array's price."""
    return f"{{{','.join(keys)}}}" if connection.vendor == "postgresql" else list(keys)


def _hyphened(keys: list[str]) -> list[str]:
    """Keys as JSON shows UUIDs."""
    if connection.vendor == "postgresql":
        return keys
    if not keys:
        return []
    digits = np.frombuffer("".join(keys).encode(), np.uint8).reshape(len(keys), 32)
    shown = np.full((len(keys), 37), ord("-"), np.uint8)
    for place, (first, last) in enumerate(pairwise(HYPHENS)):
        shown[:, first + place : last + place] = digits[:, first:last]
    shown[:, 36] = ord(" ")
    return shown.tobytes().decode().split()


HYPHENS = (0, 8, 12, 16, 20, 32)
"""Between which digits of a UUID they stand."""


def series_points(
    *, heads: Collection[UUID], testbeds: Collection[UUID], pairs: Sequence[Pair], start: datetime | None, end: datetime | None
) -> Found:
    """The points of every pair in every head and testbed, in order."""
    only = (key_of(*heads), key_of(*testbeds)) if len(heads) == len(testbeds) == 1 else None
    rows, reports, first = _both(heads, testbeds, pairs, start, end, place=only is None)
    found, visits = _visits(reports, first, only)
    alerted = {report[0] for report in reports if report[first + 5]}
    alerts = _marks(ALERTS, (row[3] for row in rows if row[0] in alerted), _alerted) if alerted else {}
    changes = _marks(CHANGES, (row[3] for row in rows), Changed._make) if reports and reports[0][first + 6] else {}
    made = tuple.__new__
    for row, metric_id in zip(rows, _hyphened([row[3] for row in rows]), strict=True):
        marks = alerts.get(row[3]), changes.get(row[3])
        for series, visit in visits[row[0]]:
            series[row[1]].append(made(Point, (visit.rank, row[2], metric_id, visit, *row[4:11], *marks)))
    for by_pair in found.values():
        for points in by_pair.values():
            points.sort()
    return found


def _both(
    heads: Collection[UUID],
    testbeds: Collection[UUID],
    pairs: Sequence[Pair],
    start: datetime | None,
    end: datetime | None,
    *,
    place: bool,
) -> tuple[list[Any], list[Any], int]:
    """Rows of metrics; rows of their reports, one for each head that counts the report; where in these the report's own columns begin.

    ``place``: of which head and testbed they are.
    """
    texts = [benchmark.hex + measure.hex for benchmark, measure in pairs]
    parameters = (texts, testbeds, *(moment for moment in (start, end) if moment is not None), heads)
    if len(pairs) <= FEW and len(heads) == 1:
        rows = _rows(BOTH, *parameters, start=start, end=end, place=place)
        return rows, list({row[0]: row for row in rows}.values()), 11
    rows = _rows(METRICS, *parameters, start=start, end=end)
    return rows, _rows(REPORTS, _list(dict.fromkeys(row[0] for row in rows)), heads, place=place) if rows else [], 1


def _visits(reports: list[Any], first: int, only: Place | None) -> tuple[Found, dict[str, list[tuple[dict[int, list[Point]], Visit]]]]:
    """(the series of every place, still empty; for every report where its points go, and with what).

    The columns of ``_REPORT`` begin at ``first``. ``only``: the place of all of them.
    """
    found: Found = defaultdict(lambda: defaultdict(list))
    visits: dict[str, list[tuple[dict[int, list[Point]], Visit]]] = defaultdict(list)
    reports.sort(key=itemgetter(first + 3, first + 1))
    rank, before, made = 0, None, tuple.__new__
    for report, report_id in zip(reports, _hyphened([report[0] for report in reports]), strict=True):
        key = report[0]
        spec, start, end, number, hash = report[first : first + 5]
        if (number, start) != before:
            rank, before = rank + 1, (number, start)
        visit = made(Visit, (rank, report_id, spec, f"{start[:10]}T{start[11:19]}Z", f"{end[:10]}T{end[11:19]}Z", number, hash))
        visits[key].append((found[only or report[first + 7 :]], visit))
    return found, visits


def _marks(query: str, metrics: Iterable[str], make: Callable[[Sequence[Any]], T]) -> dict[str, T]:
    """What some of the metrics have, by metric."""
    return {key: make(values) for key, *values in _rows(query, _list(metrics))}


def _alerted(values: Sequence[Any]) -> Alerted:
    id, limit, status, modified = values
    return Alerted(_hyphened([id])[0], limit, status, f"{modified[:10]}T{modified[11:19]}Z")
