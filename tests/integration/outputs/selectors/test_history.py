"""Which values count as history (rest.md 5.6): the two queries against a plain reading of the rule."""

from __future__ import annotations

import random
from datetime import timedelta
from itertools import chain, product
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from outputs.models import Benchmark, HeadVersion, Measure, Metric, Report
from outputs.selectors.history import Series, newest_points, past_values
from tests.results_lab import NOW, START, Lab, bmf

NAMES = [f"bench {number}" for number in range(6)]


@pytest.fixture
def filled(lab: Lab) -> Lab:
    """Forty reports of two branches and testbeds, with repeated versions, iterations, gaps and times out of order."""
    dice = random.Random(5)
    for number in range(40):
        texts = [
            bmf({name: {"latency": number * 100 + place + iteration * 10} for place, name in enumerate(NAMES) if dice.random() < 0.6})
            for iteration in range(dice.choice((1, 1, 2)))
        ]
        lab.report(
            *texts,
            branch=dice.choice(("main", "main", "other")),
            testbed=dice.choice(("bench", "bench", "other")),
            hash=dice.choice((None, "a" * 40, "b" * 40)),
            start_time=START + timedelta(hours=dice.randrange(1000)),
        )
    return lab


def by_the_rule(series: Series, benchmark: UUID, measure: UUID, most: int | None, window: int | None) -> list[list[float]]:
    """The values newer than the series' own place, at it, and older."""
    numbers = dict(HeadVersion.objects.filter(head_id=series.head_id).values_list("version_id", "number"))
    rows = []
    for metric in Metric.objects.select_related("report").filter(benchmark_id=benchmark, measure_id=measure):
        report = metric.report
        if report.testbed_id != series.testbed_id or report.version_id not in numbers:
            continue
        if window is not None and report.start_time < NOW - timedelta(seconds=window):
            continue
        rows.append((numbers[report.version_id], report.start_time, metric.iteration, metric.value))
    rows.sort(reverse=True)
    own = (series.number, series.start)
    rows = rows[:most]
    return [
        [row[3] for row in rows if row[:2] > own],
        [row[3] for row in rows if row[:2] == own],
        [row[3] for row in rows if row[:2] < own],
    ]


def test_the_queries_follow_the_rule(filled: Lab) -> None:
    last = Report.objects.filter(head__branch__name="main", testbed__name="bench").order_by("created").last()
    assert last is not None
    measure = Measure.objects.get(slug="latency").id
    ids = list(Benchmark.objects.filter(name__in=NAMES[:4]).values_list("id", flat=True))
    own = (HeadVersion.objects.get(head_id=last.head_id, version_id=last.version_id).number, last.start_time)
    places = [own, *((number, START + timedelta(hours=500)) for number in (0, 5, 2**31 - 1))]
    for (number, start), most, window in product(places, (None, 1, 3, 8, 1000), (None, 3600 * 24 * 45, 1)):
        series = Series(last.head_id, last.testbed_id, None, number, start)
        found = past_values(series, measure_id=measure, benchmarks=ids, most=most, window=window, now=NOW)
        assert found.keys() == set(ids)
        for benchmark, past in found.items():
            expected = by_the_rule(series, benchmark, measure, most, window)
            level = [value for _, value in past.level]
            assert [*past.newer, *level, *past.older][: most or None] == [*chain(*expected)], (number, most, window)
            if most is None:
                assert [past.newer, level, past.older] == expected, (number, most, window)


@pytest.mark.parametrize(("most", "queries"), [(None, 1), (8, 3)])
def test_the_number_of_queries_does_not_depend_on_the_number_of_benchmarks(filled: Lab, most: int | None, queries: int) -> None:
    last: Any = Report.objects.filter(head__branch__name="main").order_by("created").last()
    series = Series(last.head_id, last.testbed_id, None, 100, START)
    ids = list(Benchmark.objects.values_list("id", flat=True))
    for count in (1, len(ids)):
        with CaptureQueriesContext(connection) as captured:
            past_values(series, measure_id=Measure.objects.get().id, benchmarks=ids[:count], most=most, window=None, now=NOW)
        assert len(captured) <= queries + 1


def test_newest_points_are_oldest_first(filled: Lab) -> None:
    last: Any = Report.objects.filter(head__branch__name="main", testbed__name="bench").order_by("created").last()
    series = Series(last.head_id, last.testbed_id, None, 2**31 - 1, START)
    benchmark = Benchmark.objects.get(name=NAMES[0]).id
    measure = Measure.objects.get().id
    newest = [*chain(*by_the_rule(series, benchmark, measure, None, None))]
    points = newest_points(series, measure_id=measure, benchmarks=[benchmark], most=1000)[benchmark]
    assert [value for _, value in points] == newest[::-1]
    assert all(Metric.objects.get(pk=metric).value == value for metric, value in points)
    few = newest_points(series, measure_id=measure, benchmarks=[benchmark], most=3).get(benchmark, [])
    assert few == points[len(points) - len(few) :]
    assert len(few) < len(points)
