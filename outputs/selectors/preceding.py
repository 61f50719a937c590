"""The report before one, on the same head and testbed: what it measured, and on what."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections

from bencher.core.api import ts
from bencher.core.statements import Statement, moment_out, stored, stored_all, uuid_out
from outputs.models import Benchmark
from outputs.selectors.history import Series
from outputs.verdicts import Verdict, load

CANDIDATES = 8
"""So many reports back it is looked for: suites that take turns on one branch and testbed are told apart by what they measure."""


@dataclass(frozen=True, slots=True)
class Preceding:
    """``gone``: the benchmarks that it measured and the later report does not."""

    id: UUID
    start: str
    """RFC 3339."""
    spec_id: UUID | None
    verdicts: list[Verdict]
    gone: frozenset[UUID]


# SQLite joins in the order in which a CROSS JOIN is written; PostgreSQL chooses by itself. The head's versions come in order: eight reports end the search.
EARLIER = """
SELECT r.id, r.spec_id, r.start_time, r.verdicts FROM outputs_headversion hv CROSS JOIN outputs_report r
WHERE hv.head_id = %s AND hv.number <= %s AND r.version_id = hv.version_id AND r.testbed_id = %s AND r.size > 0
  AND (hv.number < %s OR r.start_time <= %s) {more}
ORDER BY hv.number DESC, r.start_time DESC, r.id DESC LIMIT {most}
"""
LOOKS = (1, CANDIDATES)
"""Rows of a first look, which finds it nearly always, and of a second."""
_EARLIER = {most: Statement(EARLIER.format(more="", most=most)) for most in LOOKS}
_EARLIER_THAN_STORED = {most: Statement(EARLIER.format(more="AND r.id <> %s", most=most)) for most in LOOKS}
_MEASURED = Statement("SELECT DISTINCT benchmark_id FROM outputs_metric WHERE report_id = %s")


def preceding(series: Series, *, report_id: UUID | None, benchmarks: Collection[UUID]) -> Preceding | None:
    """The newest earlier report with metrics of one of the benchmarks. Costs the same after any number of reports."""
    db = connections[DEFAULT_DB_ALIAS]
    place = [stored(value, db) for value in (series.head_id, series.number, series.testbed_id, series.number, series.start)]
    statements = _EARLIER_THAN_STORED if report_id else _EARLIER
    parameters = [*place, stored(report_id, db)] if report_id else place
    present, seen = set(stored_all(benchmarks, db)), 0
    for most in LOOKS:
        earlier = statements[most].rows(parameters, db)
        for id, spec_id, start, verdicts in earlier[seen:]:
            measured = {key for (key,) in _MEASURED.rows([id], db)}
            if not measured.isdisjoint(present):
                gone = frozenset(map(uuid_out, measured - present))
                spec = None if spec_id is None else uuid_out(spec_id)
                return Preceding(uuid_out(id), ts(moment_out(start)), spec, load(json.loads(verdicts)), gone)
        if len(earlier) < most:
            break
        seen = most
    return None


def not_archived(benchmarks: Sequence[UUID]) -> list[UUID]:
    """Those that are in use: an archived benchmark is not missed."""
    return list(Benchmark.objects.filter(id__among=benchmarks, archived=None).order_by("name", "id").values_list("id", flat=True))
