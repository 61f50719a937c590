"""The report before one, on the same head and testbed: what it measured, and on what."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import F, Q, QuerySet

from bencher.core.api import ts
from bencher.core.compiled import Compiled, Slot
from outputs.models import Benchmark, Metric, Report
from outputs.selectors.history import Series
from outputs.verdicts import Verdict, load

CANDIDATES = 8
"""So many reports back it is looked for: suites that take turns on one branch and testbed are told apart by what they measure."""


@dataclass(frozen=True, slots=True)
class Preceding:
    id: UUID
    start: str
    """RFC 3339."""
    spec_id: UUID | None
    verdicts: list[Verdict]
    benchmarks: frozenset[UUID]


def preceding(series: Series, *, report_id: UUID | None, benchmarks: Collection[UUID]) -> Preceding | None:
    """The newest earlier report with metrics of one of the benchmarks."""
    place = {"head": series.head_id, "testbed": series.testbed_id, "number": series.number, "start": series.start}
    rows = _EARLIER_THAN_STORED.rows(**place, report=report_id) if report_id else _EARLIER.rows(**place)
    for row in rows:
        measured = frozenset(_MEASURED.rows(report=row.id))
        if not measured.isdisjoint(benchmarks):
            return Preceding(row.id, ts(row.start_time), row.spec_id, load(row.verdicts), measured)
    return None


def _earlier() -> QuerySet[Report]:
    number = F("version__head_versions__number")
    place = Q(version__head_versions__number__lt=Slot("number")) | Q(
        version__head_versions__number=Slot("number"), start_time__lte=Slot("start")
    )
    return (
        Report.objects.filter(Q(version__head_versions__head_id=Slot("head")) & place, testbed_id=Slot("testbed"), size__gt=0)
        .annotate(number=number)
        .order_by("-number", "-start_time", "-id")
        .only("id", "spec_id", "start_time", "verdicts")
    )


_EARLIER = Compiled(lambda: _earlier()[:CANDIDATES])
_EARLIER_THAN_STORED = Compiled(lambda: _earlier().exclude(id=Slot("report"))[:CANDIDATES])
_MEASURED = Compiled(lambda: Metric.objects.filter(report=Slot("report")).order_by().values_list("benchmark_id", flat=True).distinct())


def not_archived(benchmarks: Sequence[UUID]) -> list[UUID]:
    """Those that are in use: an archived benchmark is not missed."""
    return list(Benchmark.objects.filter(id__among=benchmarks, archived=None).order_by("name", "id").values_list("id", flat=True))
