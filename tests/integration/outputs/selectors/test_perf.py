"""The perf query (rest.md 5.8): few queries, the right index, the right order."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from django.db import connection
from django.test.utils import CaptureQueriesContext

from outputs import models
from outputs.models import Benchmark, Branch, Measure
from outputs.requests import StartPoint
from outputs.selectors.perf import LIMIT, Line, Wanted, perf
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


def test_queries_are_constant(lab: Lab) -> None:
    counted = []
    for names in (("a",), ("a", "b", "c", "d")):
        for _ in range(3):
            lab.report(latency(1.0, *names), thresholds=watching())
        with CaptureQueriesContext(connection) as queries:
            lines, judges = perf(lab.project, wanted(lab))
        assert len(lines) == len(names)
        assert len(judges) == 1
        counted.append(len(queries) - 4)  # ids() of the test itself
    assert counted[0] == counted[1] <= 7


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


def test_series_are_found_by_index(db: None) -> None:
    """No plan reads the table of metrics from end to end."""
    volume = fill(reports=100, benchmarks=100)
    query = Wanted([volume.branch.id], (), [volume.testbed.id], (), volume.benchmarks[:1], [volume.measure.id])
    with CaptureQueriesContext(connection) as queries:
        [line], _ = perf(volume.project, query)
    assert len(line.points) == 100
    [sql] = [row["sql"] for row in queries if "outputs_alert" in row["sql"]]
    with connection.cursor() as cursor:
        cursor.execute(f"{'EXPLAIN QUERY PLAN' if connection.vendor == 'sqlite' else 'EXPLAIN'} {sql}")
        plan = "\n".join(str(row[-1]) for row in cursor.fetchall())
    assert "metric_series" in plan, plan
    assert "SCAN outputs_metric" not in plan, plan
    assert "Seq Scan on outputs_metric" not in plan, plan
