"""The points of perf's series: two queries, and one tuple a point.

What a report's metrics share (times, hash, texts of UUIDs) is read and written once a report; a metric costs one row of plain columns.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from bencher.core.compiled import stored


class Point(NamedTuple):
    """One metric of a series. UUIDs and moments are texts as JSON shows them, but for those that are looked up."""

    report_id: str
    spec_id: UUID | None
    start_time: str
    end_time: str
    hash: str | None
    number: int
    iteration: int
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


Key = tuple[str, str, str, str]
"""Head, testbed, benchmark, measure: ``key_of`` each."""


# SQLite joins in the order in which a CROSS JOIN is written; PostgreSQL chooses by itself.
METRICS = """
SELECT {key[hv.head_id]}, {key[r.testbed_id]}, {key[m.benchmark_id]}, {key[m.measure_id]}, {key[m.report_id]},
  hv.number, m.iteration, {uuid[m.id]}, m.value, m.lower_value, m.upper_value, {key[m.model_id]}, m.baseline, m.lower_limit, m.upper_limit,
  {uuid[a.id]}, a."limit", a.status, {moment[a.modified]}, c.before, c.after, c.p_value
FROM outputs_metric m CROSS JOIN outputs_report r CROSS JOIN outputs_headversion hv
  LEFT JOIN outputs_alert a ON a.metric_id = m.id LEFT JOIN outputs_changepoint c ON c.metric_id = m.id
WHERE m.benchmark_id {among} AND m.measure_id {among} AND r.id = m.report_id AND r.testbed_id {among}
  AND hv.version_id = r.version_id AND hv.head_id {among} {start} {end}
ORDER BY hv.number, r.start_time, m.iteration, m.id
"""
REPORTS = """
SELECT {key[r.id]}, {uuid[r.id]}, {key[r.spec_id]}, {moment[r.start_time]}, {moment[r.end_time]}, v.hash
FROM outputs_report r JOIN outputs_version v ON v.id = r.version_id WHERE r.id {among}
"""


class _Texts(dict[str, str]):
    """Column -> SQL that makes it a text, which takes a fraction of the time that an object in Python does."""

    def __init__(self, template: str) -> None:
        super().__init__()
        self._template = template

    def __missing__(self, column: str) -> str:
        return self._template.replace("?", column)


_PARTS = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
DIALECTS: dict[str, dict[str, Any]] = {
    "postgresql": {
        "key": _Texts("?::text"),
        "uuid": _Texts("?::text"),
        "moment": _Texts("""to_char(? AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')"""),
        "among": "= ANY(%s::uuid[])",
    },
    "sqlite": {
        "key": _Texts("?"),
        "uuid": _Texts(" || '-' || ".join(f"substr(?, {start}, {length})" for start, length in _PARTS)),
        "moment": _Texts("substr(?, 1, 10) || 'T' || substr(?, 12, 8) || 'Z'"),
        "among": "IN (SELECT value FROM json_each(%s))",
    },
}
"""``key``: what equals ``key_of``; ``uuid`` and ``moment``: what JSON shows, RFC 3339 in UTC with whole seconds."""


def key_of(uuid: UUID) -> str:
    """A UUID as the keys of the series have it."""
    return str(uuid) if connection.vendor == "postgresql" else uuid.hex


def series_points(
    *,
    heads: Collection[UUID],
    testbeds: Collection[UUID],
    benchmarks: Collection[UUID],
    measures: Collection[UUID],
    start: datetime | None,
    end: datetime | None,
) -> dict[Key, list[Point]]:
    """The points of every series, in order of version, start, iteration."""
    rows = _fetch(
        METRICS,
        [benchmarks, measures, testbeds, heads, *(moment for moment in (start, end) if moment is not None)],
        start="" if start is None else "AND r.start_time >= %s",
        end="" if end is None else "AND r.end_time <= %s",
    )
    reports = _reports({row[4] for row in rows})
    models = {key: key and UUID(key) for key in {row[11] for row in rows}}
    made = tuple.__new__
    found: dict[Key, list[Point]] = {}
    for row in rows:
        point = made(Point, (*reports[row[4]], *row[5:11], models[row[11]], *row[12:]))
        if (series := found.get(row[:4])) is None:
            series = found[row[:4]] = []
        series.append(point)
    return found


def _reports(keys: set[str]) -> dict[str, tuple[Any, ...]]:
    """The first columns of a point, by the key of its report."""
    rows = _fetch(REPORTS, [keys]) if keys else []
    return {key: (id, spec and UUID(spec), start, end, hash) for key, id, spec, start, end, hash in rows}


def _fetch(query: str, parameters: list[Any], **parts: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(query.format(**DIALECTS[connection.vendor], **parts), [stored(item, connection) for item in parameters])
        rows: list[Any] = cursor.fetchall()
    return rows
