"""The perf query (rest.md 5.8): few queries, the right index, the right order."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from outputs import models
from outputs.models import Alert, Benchmark, Branch, ChangePoint, Measure, Threshold
from outputs.requests import StartPoint
from outputs.selectors.perf import LIMIT, Line, Wanted, perf
from outputs.selectors.points import FEW
from tests.results_lab import Lab, bmf, latency, watching
from tests.results_volume import fill


def ids(model: Any, lab: Lab) -> list[UUID]:
    return list(model.objects.filter(project=lab.project).order_by("name").values_list("id", flat=True))


def wanted(lab: Lab, **values: Any) -> Wanted:
    lists = {"branches": Branch, "testbeds": models.Testbed, "benchmarks": Benchmark, "measures": Measure}
    defaults: dict[str, Any] = {key: ids(model, lab) for key, model in lists.items()}
    return Wanted(**{"heads": (), "specs": (), **defaults, **values})


def values(lines: list[Line]) -> list[list[float]]:
    return [[point.value for point in line.points] for line in lines]


def queries_of(lab: Lab, query: Wanted) -> int:
    with CaptureQueriesContext(connection) as queries:
        perf(lab.project, query)
    return len(queries)


def test_queries_are_constant(lab: Lab) -> None:
    """Few series are read together with their reports, more of them apart: one query more, and never another."""
    names, counted = "abcdefgh", []
    for reports in (3, 6):
        for _ in range(reports):
            lab.report(latency(1.0, *names), thresholds=watching())
        known = wanted(lab)
        for few in (1, FEW, FEW + 1, len(names)):
            lines, judges = perf(lab.project, query := wanted(lab, benchmarks=known.benchmarks[:few]))
            assert len(lines) == few
            assert len(judges) == 1
            counted.append(queries_of(lab, query))
    assert counted == [6, 6, 7, 7] * 2


def test_alerts_and_changes_are_two_queries_more(lab: Lab) -> None:
    names = "abcdefgh"
    for value in (1.0, 1.0, 9.0, 9.0):
        report = lab.report(latency(value, *names), thresholds=watching())
    query = wanted(lab)
    assert Alert.objects.count() > len(names)
    assert queries_of(lab, query) == 8
    metric = report.metrics.latest("id")
    parts = {"before": 1.0, "after": 9.0, "p_value": 0.0, "created": report.created}
    ChangePoint.objects.create(threshold=Threshold.objects.get(), metric=metric, report=report, **parts)
    assert queries_of(lab, query) == 9
    lines, _ = perf(lab.project, query)
    assert [point.change for line in lines for point in line.points if point.change] == [(1.0, 9.0, 0.0)]
    assert sum(point.alert is not None for line in lines for point in line.points) == Alert.objects.count()


def test_series_have_their_own_points(lab: Lab) -> None:
    lab.report(bmf({"a": {"latency": 1, "throughput": 2}, "b": {"latency": 3}}))
    lab.report(bmf({"a": {"latency": 4}}), testbed="other")
    lines, _ = perf(lab.project, wanted(lab))
    shown = {(line.testbed.name, line.benchmark.name, line.measure.name): [point.value for point in line.points] for line in lines}
    assert shown == {
        ("bench", "a", "Latency"): [1.0],
        ("bench", "a", "Throughput"): [2.0],
        ("bench", "b", "Latency"): [3.0],
        ("other", "a", "Latency"): [4.0],
    }


def test_head_of_another_branch_is_nothing(lab: Lab) -> None:
    other = lab.report(latency(1.0), branch="other")
    main = lab.report(latency(2.0))
    query = wanted(lab, branches=[main.head.branch_id], heads=[other.head_id])
    assert perf(lab.project, query) == ([], {})


def test_one_branch_with_two_heads(lab: Lab) -> None:
    first = lab.report(latency(1.0))
    second = lab.report(latency(2.0), start_point=StartPoint(reset=True))
    branch = first.head.branch_id
    lines, _ = perf(lab.project, wanted(lab, branches=[branch, branch], heads=[second.head_id, first.head_id]))
    assert values(lines) == [[2.0], [1.0]]


def test_unknown_things_keep_their_places(lab: Lab) -> None:
    """Beyond the limit the product of list positions decides, and an unknown UUID has a position."""
    lab.report(latency(1.0))
    known = wanted(lab)
    assert len(perf(lab.project, wanted(lab, benchmarks=[uuid4()] * (LIMIT - 1) + list(known.benchmarks)))[0]) == 1
    assert perf(lab.project, wanted(lab, benchmarks=[uuid4()] * LIMIT + list(known.benchmarks)))[0] == []


@pytest.mark.parametrize(("few", "benchmarks"), [(1, 100), (FEW + 1, 400)])
def test_series_are_found_by_index(db: None, few: int, benchmarks: int) -> None:
    """No plan reads the table of metrics from end to end. (PostgreSQL would, for a large part of a small table.)"""
    volume = fill(reports=100, benchmarks=benchmarks)
    query = Wanted([volume.branch.id], (), [volume.testbed.id], (), volume.benchmarks[:few], [volume.measure.id])
    with CaptureQueriesContext(connection) as queries:
        lines, _ = perf(volume.project, query)
    assert [len(line.points) for line in lines] == [100] * few
    [sql] = [row["sql"] for row in queries if "outputs_metric" in row["sql"]]
    with connection.cursor() as cursor:
        cursor.execute(f"{'EXPLAIN QUERY PLAN' if connection.vendor == 'sqlite' else 'EXPLAIN'} {sql}")
        plan = "\n".join(str(row[-1]) for row in cursor.fetchall())
    assert "metric_series" in plan, plan
    assert "SCAN outputs_metric" not in plan, plan
    assert not re.search(r"^SCAN m\b", plan, re.MULTILINE), plan
    assert "Seq Scan on outputs_metric" not in plan, plan
