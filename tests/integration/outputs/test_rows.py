"""Points of series as a page's rows and dots."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from outputs.models import Alert, Benchmark, Branch, Measure, Metric
from outputs.models import Testbed as Bed
from outputs.rows import dots, point_rows
from outputs.selectors.perf import Line, Wanted, perf
from tests.results_lab import START, Lab, latency, watching


def lines(lab: Lab) -> list[Line]:
    kinds: tuple[Any, ...] = (Branch, Bed, Benchmark, Measure)
    branches, testbeds, benchmarks, measures = (list(kind.objects.order_by("name").values_list("id", flat=True)) for kind in kinds)
    return perf(lab.project, Wanted(branches, (), testbeds, (), benchmarks, measures))[0]


def test_the_newest_points_of_all_series_come_first(lab: Lab) -> None:
    for day in (2, 1, 3):
        lab.report(
            latency(day, "a", "b"), latency(day + 0.5, "a"), start_time=START + timedelta(days=day), end_time=START + timedelta(days=9)
        )
    found = lines(lab)
    rows = [(row.line.benchmark.name, row.point.value) for row in point_rows(found, 0, 100)]
    days = [[("a", day + 0.5), ("a", day), ("b", day)] for day in (3.0, 2.0, 1.0)]
    assert rows == [row for day in days for row in day]
    assert [(row.line.benchmark.name, row.point.value) for row in point_rows(found, 2, 3)] == rows[2:5]
    assert point_rows(found, 100, 5) == []


@pytest.mark.parametrize("by_version", [False, True])
def test_a_dot_says_what_it_is(lab: Lab, by_version: bool) -> None:
    """Along time or along versions, which need not have the same order."""
    moments = [datetime(2026, 2, 1, 3, 4, 5, tzinfo=UTC), datetime(999, 1, 1, tzinfo=UTC)]
    for moment, value, commit in zip(moments, (1.0, 9.0), ("abcdef0123" * 4, None), strict=True):
        lab.report(latency(value), start_time=moment, end_time=moment, hash=commit, thresholds=watching())
    assert Alert.objects.count() == 1
    Metric.objects.filter(value=9.0).update(lower_limit=0.5)
    [line] = lines(lab)
    shown = dots(line, by_version=by_version)
    first, second = (shown[0], shown[1]) if by_version else (shown[1], shown[0])
    assert (first.note, second.note) == ("2026-02-01 03:04:05, version 0 abcdef0", "0999-01-01 00:00:00, version 1")
    assert (first.x, second.x) == ((0.0, 1.0) if by_version else tuple(moment.timestamp() for moment in moments))
    assert (first.alert, second.alert, second.lower, second.value) == (False, True, 0.5, 9.0)
