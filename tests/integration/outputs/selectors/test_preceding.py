"""The report before one: found in the order of the branch's history, at a price that does not grow with it. ``outputs/selectors/preceding.py``."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection

from outputs.models import Benchmark, HeadVersion, Report
from outputs.selectors.history import Series
from outputs.selectors.preceding import CANDIDATES, EARLIER, Preceding, preceding
from tests.results_lab import START, Lab, latency
from tests.results_volume import fill


@pytest.fixture
def lab(db: None) -> Lab:
    return Lab()


def before(report: Report) -> Preceding | None:
    number = HeadVersion.objects.get(head=report.head_id, version=report.version_id).number
    series = Series(report.head_id, report.testbed_id, report.spec_id, number, report.start_time)
    benchmarks = set(report.metrics.values_list("benchmark_id", flat=True))
    return preceding(series, report_id=report.id, benchmarks=benchmarks)


def named(*names: str) -> frozenset[UUID]:
    return frozenset(Benchmark.objects.filter(name__in=names).values_list("id", flat=True))


def test_by_version_then_by_time(lab: Lab) -> None:
    first = lab.report(latency(1.0, "a", "b"), hash="1" * 40)
    second = lab.report(latency(1.0, "a"), hash="2" * 40)
    late = lab.report(latency(1.0, "a", "c"), hash="1" * 40, start_time=START + timedelta(hours=1))
    found = before(second)
    assert found is not None
    assert (found.id, found.start, found.gone) == (late.id, "2026-01-01T01:00:00Z", named("c"))
    found = before(late)
    assert found is not None
    assert (found.id, found.gone) == (first.id, named("b"))
    assert before(first) is None


def test_what_does_not_count(lab: Lab) -> None:
    """Another testbed, reports without metrics, and reports of something else."""
    first = lab.report(latency(1.0, "a"))
    lab.report(latency(1.0, "a"), testbed="other")
    lab.report("{}")
    lab.report(latency(1.0, "z"))
    last = lab.report(latency(1.0, "a"))
    found = before(last)
    assert found is not None
    assert (found.id, found.gone, found.spec_id) == (first.id, frozenset(), None)


def test_only_so_many_reports_are_looked_at(lab: Lab) -> None:
    lab.report(latency(1.0, "a"))
    for _ in range(CANDIDATES):
        lab.report(latency(1.0, "z"))
    assert before(lab.report(latency(1.0, "a"))) is None


def test_a_long_history_is_not_sorted(db: None) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL plans by what the tables hold")
    volume = fill(reports=100, benchmarks=1)
    report = Report.objects.filter(testbed=volume.testbed).first()
    assert report is not None
    with connection.cursor() as cursor:
        sql = EARLIER.format(more="", most=CANDIDATES)
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}", [report.head_id.hex, 50, report.testbed_id.hex, 50, str(START)])
        plan = "\n".join(str(row[-1]) for row in cursor.fetchall())
    assert "head_history" in plan, plan
    assert "USE TEMP B-TREE FOR ORDER BY" not in plan, plan
