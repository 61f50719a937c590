"""``__among`` and bulk inserts: lists of any length, on both databases."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

from django.db import connection
from django.test.utils import CaptureQueriesContext

from bencher.core.ids import uuid7
from outputs.models import Benchmark
from outputs.services import bulk
from tests.results_lab import NOW, Lab


def fill(lab: Lab, count: int, *, ignore_conflicts: bool = False) -> None:
    columns: bulk.Columns = {
        "id": [uuid7() for _ in range(count)],
        "project": [lab.project.id] * count,
        "name": [f"näme {number} '\"\\" for number in range(count)],
        "slug": [f"slug-{number}" for number in range(count)],
        "created": [NOW] * count,
        "modified": [datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)] * count,
        "archived": [None if number % 2 else NOW for number in range(count)],
    }
    bulk.insert(Benchmark, columns, ignore_conflicts=ignore_conflicts)


def test_long_lists(lab: Lab) -> None:
    fill(lab, 40_000)
    names = list(Benchmark.objects.values_list("name", flat=True))
    ids = list(Benchmark.objects.values_list("id", flat=True))
    with CaptureQueriesContext(connection) as queries:
        assert Benchmark.objects.filter(name__among=names).count() == 40_000
        assert Benchmark.objects.filter(id__among=[*ids, uuid4()]).count() == 40_000
    assert len(queries) == 2


def test_nothing_is_among_nothing(lab: Lab) -> None:
    fill(lab, 2)
    assert not Benchmark.objects.filter(id__among=[]).exists()


def test_foreign_keys_too(lab: Lab) -> None:
    fill(lab, 3)
    assert Benchmark.objects.filter(project__among=[lab.project.id]).count() == 3
    assert Benchmark.objects.exclude(project__among={lab.project.id}).count() == 0


def test_rows_read_back_as_they_were_written(lab: Lab) -> None:
    fill(lab, 2)
    even, odd = Benchmark.objects.order_by("slug")
    assert (even.name, even.archived, odd.archived) == ("näme 0 '\"\\", NOW, None)
    assert even.modified == datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert even.project_id == lab.project.id


def test_conflicts_are_left_out_on_request(lab: Lab) -> None:
    fill(lab, 2)
    fill(lab, 4, ignore_conflicts=True)
    assert Benchmark.objects.count() == 4


def test_no_rows_no_statement(lab: Lab) -> None:
    with CaptureQueriesContext(connection) as queries:
        fill(lab, 0)
    assert len(queries) == 0
