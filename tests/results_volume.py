"""Many stored results, written in bulk: what years of reports leave behind."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import connection

from bencher.core.ids import uuid7
from bencher.projects.models import Project
from outputs import models
from outputs.services import bulk, thresholds
from tests.results_lab import NOW, START, make_project, watching

CHUNK = 100
"""Reports a statement."""


@dataclass(frozen=True)
class Volume:
    project: Project
    branch: models.Branch
    testbed: models.Testbed
    measure: models.Measure
    benchmarks: list[UUID]


def fill(*, reports: int, benchmarks: int) -> Volume:
    """``reports`` versions of one branch on one testbed, ``benchmarks`` metrics in each, all of them judged."""
    project = make_project()
    stamps = {"created": NOW, "modified": NOW}
    branch = models.Branch.objects.create(project=project, name="main", slug="main", **stamps)
    branch.head = models.Head.objects.create(branch=branch, created=NOW)
    branch.save()
    testbed = models.Testbed.objects.create(project=project, name="bench", slug="bench", **stamps)
    measure = models.Measure.objects.create(project=project, name="Latency", slug="latency", units="ns", **stamps)
    thresholds.apply(project=project, branch=branch, testbed=testbed, thresholds=watching(), now=NOW)
    model = models.ThresholdModel.objects.get(threshold__branch=branch).id
    ids = [uuid7() for _ in range(benchmarks)]
    names = [f"suite::bench {number:05}" for number in range(benchmarks)]
    columns: bulk.Columns = {
        "id": ids,
        "project": [project.id] * benchmarks,
        "name": names,
        "slug": [f"suite-bench-{number:05}" for number in range(benchmarks)],
        "created": [NOW] * benchmarks,
        "modified": [NOW] * benchmarks,
        "archived": [None] * benchmarks,
    }
    bulk.insert(models.Benchmark, columns)
    for first in range(0, reports, CHUNK):
        _reports(project, branch.current_head, testbed, range(first, min(first + CHUNK, reports)), measure.id, ids, model)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return Volume(project, branch, testbed, measure, ids)


def _reports(
    project: Project, head: models.Head, testbed: models.Testbed, numbers: range, measure: UUID, benchmarks: list[UUID], model: UUID
) -> None:
    count, size = len(numbers), len(benchmarks)
    versions, reports = [uuid7() for _ in numbers], [uuid7() for _ in numbers]
    times = [START + timedelta(minutes=number) for number in numbers]
    bulk.insert(models.Version, {"id": versions, "project": [project.id] * count, "hash": [None] * count})
    bulk.insert(models.HeadVersion, {"head": [head.id] * count, "version": versions, "number": list(numbers)})
    columns: bulk.Columns = {
        "id": reports,
        **{name: [None] * count for name in ("user", "idempotency_key", "spec", "job")},
        "project": [project.id] * count,
        "head": [head.id] * count,
        "version": versions,
        "testbed": [testbed.id] * count,
        "adapter": ["json"] * count,
        "size": [size] * count,
        "counts": [f"[[{size}, 1]]"] * count,
        "verdicts": ["[]"] * count,
        **dict.fromkeys(("start_time", "end_time", "created"), times),
    }
    bulk.insert(models.Report, columns)
    total = count * size
    metrics: bulk.Columns = {
        "id": [uuid7() for _ in range(total)],
        "report": [report for report in reports for _ in benchmarks],
        "iteration": [0] * total,
        "benchmark": benchmarks * count,
        "measure": [measure] * total,
        "value": [100.0 + number % 7 for number in numbers for _ in benchmarks],
        "lower_value": [None] * total,
        "upper_value": [None] * total,
        "model": [model] * total,
        "baseline": [103.0] * total,
        "lower_limit": [None] * total,
        "upper_limit": [113.3] * total,
    }
    bulk.insert(models.Metric, metrics)
