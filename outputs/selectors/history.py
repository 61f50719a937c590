"""The earlier values that a new one is judged by (rest.md 5.6), for all benchmarks of a measure at once.

At most two queries a measure, whatever the number of benchmarks. With a ``max_sample_size`` of k the first looks at the newest k reports only, where
a benchmark that is measured every time has its k values; the second looks further back for those that are not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from bencher.core.statements import json_list
from outputs.models import Metric

COUNTED = """
  hv.head_id = %(head)s AND r.version_id = hv.version_id AND r.testbed_id = %(testbed)s
  AND m.report_id = r.id AND m.measure_id = %(measure)s AND m.benchmark_id {among}
  {spec} {window} {numbers}
"""
FIELDS = """
  m.benchmark_id, m.value, m.iteration,
  CASE WHEN hv.number < %(number)s THEN 0 WHEN hv.number > %(number)s THEN 2
       WHEN r.start_time < %(start)s THEN 0 WHEN r.start_time > %(start)s THEN 2 ELSE 1 END
"""
ORDER = "ORDER BY hv.number DESC, r.start_time DESC, m.iteration DESC"
# SQLite joins in the order in which a CROSS JOIN is written; PostgreSQL chooses by itself.
BY_REPORT = f"SELECT {FIELDS} FROM outputs_headversion hv CROSS JOIN outputs_report r CROSS JOIN outputs_metric m WHERE {COUNTED} {ORDER}"
BY_METRIC = f"SELECT {FIELDS} FROM outputs_metric m CROSS JOIN outputs_report r CROSS JOIN outputs_headversion hv WHERE {COUNTED} {ORDER}"
NEWEST = """
SELECT hv.number FROM outputs_headversion hv CROSS JOIN outputs_report r
WHERE hv.head_id = %(head)s AND r.version_id = hv.version_id AND r.testbed_id = %(testbed)s {spec} {window}
ORDER BY hv.number DESC LIMIT 1 OFFSET %(skip)s
"""
AMONG = {"postgresql": "= ANY(%(benchmarks)s::uuid[])", "sqlite": "IN (SELECT value FROM json_each(%(benchmarks)s))"}
Row = tuple[Any, float, int, int]
"""Benchmark, value, iteration; 0: before the judged report's place, 1: at it, 2: after it."""


@dataclass(slots=True)
class Past:
    """Values of one benchmark and measure, newest first, before and after the place of the report that is judged.

    ``newer`` is empty unless the report repeats an older version, ``level`` unless it repeats a version in the second of another report:
    these are ``(iteration, value)``, and the report's own iterations stand among them.
    """

    newer: list[float]
    level: list[tuple[int, float]]
    older: list[float]

    def __len__(self) -> int:
        return len(self.newer) + len(self.level) + len(self.older)


@dataclass(frozen=True, slots=True)
class Series:
    """Whose history: that of a head on a testbed, of one spec if the report has one. ``number`` and ``start``: the judged report's own place."""

    head_id: UUID
    testbed_id: UUID
    spec_id: UUID | None
    number: int
    start: datetime


def past_values(
    series: Series, *, measure_id: UUID, benchmarks: Collection[UUID], most: int | None, window: int | None, now: datetime
) -> dict[UUID, Past]:
    """The newest values, at least ``most`` where there are so many, of reports that started within ``window`` seconds; by benchmark."""
    ids = {_stored(benchmark): benchmark for benchmark in benchmarks}
    found = {key: Past([], [], []) for key in ids}
    parameters = _parameters(series, window, now) | {"measure": _stored(measure_id), "benchmarks": _list(benchmarks)}
    oldest = None if most is None else _number_of_newest(series, parameters, window, most)
    if most is None or oldest is None:
        _collect(found, _rows(BY_METRIC if most is None else BY_REPORT, series, window, "", parameters))
    else:
        _collect(found, _rows(BY_REPORT, series, window, "AND hv.number >= %(oldest)s", {**parameters, "oldest": oldest}))
        short = [ids[key] for key, past in found.items() if len(past) < most]
        if short:
            parameters |= {"oldest": oldest, "benchmarks": _list(short)}
            _collect(found, _rows(BY_METRIC, series, window, "AND hv.number < %(oldest)s", parameters))
    return {ids[key]: past for key, past in found.items()}


def newest_points(series: Series, *, measure_id: UUID, benchmarks: Collection[UUID], most: int) -> dict[UUID, list[tuple[UUID, float]]]:
    """(metric, value) of the newest ``most`` reports of a series, oldest first, by benchmark."""
    conditions: dict[str, Any] = {
        "measure_id": measure_id,
        "benchmark__among": benchmarks,
        "report__testbed_id": series.testbed_id,
        "report__version__head_versions__head_id": series.head_id,
    }
    if series.spec_id:
        conditions["report__spec_id"] = series.spec_id
    if (oldest := _number_of_newest(series, _parameters(series, None, series.start), None, most)) is not None:
        conditions["report__version__head_versions__number__gte"] = oldest
    rows = Metric.objects.filter(**conditions)
    found: dict[UUID, list[tuple[UUID, float]]] = {}
    columns = rows.order_by("report__version__head_versions__number", "report__start_time", "iteration", "id")
    for benchmark, metric, value in columns.values_list("benchmark_id", "id", "value"):
        found.setdefault(benchmark, []).append((metric, value))
    return found


def _number_of_newest(series: Series, parameters: dict[str, Any], window: int | None, count: int) -> int | None:
    """The version number of the ``count``-th newest report; None when there are fewer."""
    with connection.cursor() as cursor:
        cursor.execute(NEWEST.format(**_conditions(series, window)), {**parameters, "skip": count - 1})
        row = cursor.fetchone()
    return None if row is None else int(row[0])


def _rows(query: str, series: Series, window: int | None, numbers: str, parameters: dict[str, Any]) -> Iterable[Row]:
    with connection.cursor() as cursor:
        cursor.execute(query.format(among=AMONG[connection.vendor], numbers=numbers, **_conditions(series, window)), parameters)
        while chunk := cursor.fetchmany(5000):
            yield from chunk


def _collect(found: dict[Any, Past], rows: Iterable[Row]) -> None:
    for key, value, iteration, side in rows:
        past = found[key]
        if side == 0:
            past.older.append(value)
        elif side == 2:
            past.newer.append(value)
        else:
            past.level.append((iteration, value))


def _conditions(series: Series, window: int | None) -> dict[str, str]:
    return {
        "spec": "AND r.spec_id = %(spec)s" if series.spec_id else "",
        "window": "AND r.start_time >= %(since)s" if window else "",
    }


def _parameters(series: Series, window: int | None, now: datetime) -> dict[str, Any]:
    since = _since(window, now)
    return {
        "head": _stored(series.head_id),
        "testbed": _stored(series.testbed_id),
        "spec": _stored(series.spec_id) if series.spec_id else None,
        "number": series.number,
        "start": connection.ops.adapt_datetimefield_value(series.start),
        "since": connection.ops.adapt_datetimefield_value(since) if since else None,
    }


def _since(window: int | None, now: datetime) -> datetime | None:
    return None if window is None else now - timedelta(seconds=window)


def _stored(uuid: UUID) -> Any:
    return uuid if connection.vendor == "postgresql" else uuid.hex


def _list(uuids: Collection[UUID]) -> Any:
    return list(uuids) if connection.vendor == "postgresql" else json_list(uuids)
