"""The JSON of series, byte for byte what the plain serializers say of each metric, one by one (rest.md 5.8)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest
from django.db import connection

from bencher.projects.serializers import project_json
from bencher.specs.models import Spec
from outputs import models
from outputs.models import Alert, Benchmark, Branch, ChangePoint, Head, HeadVersion, Measure, Metric, Report, Threshold
from outputs.requests import StartPoint
from outputs.selectors.metrics import get_metric
from outputs.selectors.perf import Wanted, perf
from outputs.serializers import dimensions
from outputs.serializers.dimensions import JsonVersion, benchmark_json, branch_json, measure_json
from outputs.serializers.metrics import one_metric_json
from outputs.serializers.perf import perf_json
from outputs.services.reports import delete_report
from tests.results_lab import NOW, START, Lab, bmf, latency, make_spec, watching

A, B = "a" * 40, "B" * 40
SHARED = ("report", "iteration", "start_time", "end_time", "metric", "threshold", "boundary", "alert")


def encoded(lab: Lab, wanted: Wanted) -> bytes:
    lines, judges = perf(lab.project, wanted)
    return msgspec.json.encode(perf_json(lab.project, lines, judges, start_time=wanted.start_time, end_time=wanted.end_time))


def plain(lab: Lab, wanted: Wanted) -> bytes:
    """The same from rows of models and the serializer of single metrics."""
    times = [None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ") for moment in (wanted.start_time, wanted.end_time)]
    results = [result for places in combinations(wanted) if (result := series(lab, wanted, *places))["metrics"]]
    return msgspec.json.encode({"project": project_json(lab.project), "start_time": times[0], "end_time": times[1], "results": results})


def combinations(wanted: Wanted) -> Iterator[tuple[Any, ...]]:
    heads = list(wanted.heads) + [None] * len(wanted.branches)
    specs = list(wanted.specs) + [None] * len(wanted.testbeds)
    branches, testbeds = zip(wanted.branches, heads, strict=False), zip(wanted.testbeds, specs, strict=False)
    return itertools.product(branches, testbeds, wanted.benchmarks, wanted.measures)


def series(lab: Lab, wanted: Wanted, branching: Any, place: Any, benchmark: UUID, measure: UUID) -> dict[str, Any]:
    branch = Branch.objects.get(id=branching[0])
    head = Head.objects.get(id=branching[1] or branch.head_id)
    testbed, spec = models.Testbed.objects.get(id=place[0]), place[1]
    rows = Metric.objects.filter(benchmark=benchmark, measure=measure, report__testbed=testbed)
    rows = rows.filter(report__spec=spec) if spec else rows
    rows = rows.filter(report__start_time__gte=wanted.start_time) if wanted.start_time else rows
    rows = rows.filter(report__end_time__lte=wanted.end_time) if wanted.end_time else rows
    numbers = {row.version_id: row.number for row in HeadVersion.objects.filter(head=head)}
    counted = [row for row in rows.select_related("report__version") if row.report.version_id in numbers]
    counted.sort(key=lambda row: (numbers[row.report.version_id], row.report.start_time, row.iteration, row.id.hex))
    points = [(row, JsonVersion(numbers[row.report.version_id], row.report.version.hash)) for row in counted]
    return {
        "branch": branch_json(branch, head, points[-1][1] if points else None),
        "testbed": dimensions.testbed_json(testbed, Spec.objects.get(id=spec) if spec else None),
        "benchmark": benchmark_json(Benchmark.objects.get(id=benchmark)),
        "measure": measure_json(Measure.objects.get(id=measure)),
        "metrics": [one(lab, row, version) for row, version in points],
    }


def one(lab: Lab, row: Metric, version: JsonVersion) -> dict[str, Any]:
    shown = one_metric_json(get_metric(lab.project, row.id))
    parts: dict[str, Any] = {name: getattr(shown, name) for name in SHARED[:4]}
    parts |= {"version": version} | {name: getattr(shown, name) for name in SHARED[4:]}
    return parts if shown.change_point is msgspec.UNSET else parts | {"change_point": shown.change_point}


def everything(lab: Lab, **values: Any) -> Wanted:
    lists = {"branches": Branch, "testbeds": models.Testbed, "benchmarks": Benchmark, "measures": Measure}
    found: dict[str, Sequence[UUID]] = {
        name: list(model.objects.filter(project=lab.project).order_by("name").values_list("id", flat=True)) for name, model in lists.items()
    }
    return Wanted(**{"heads": (), "specs": (), **found, **values})  # type: ignore[arg-type]


@pytest.fixture
def hostile(lab: Lab) -> Lab:
    """Every kind of part that a point may have or lack."""
    names = ('"quoted" \\ back', "日本 🚀 \u2028 \x7f", "<b>&amp;</b>")
    for number in range(4):
        lab.report(latency(1.0 + number / 10, *names), hash=A if number < 2 else None, thresholds=watching(min_sample_size=3))
    lab.report(*[latency(value, *names) for value in range(12)], hash=B, thresholds=watching(upper_boundary=0.5, lower_boundary=0.5))
    lab.report(bmf({names[0]: {"latency": 1e300, "throughput": -0.1}, "sparse": {"Ärger": 5e-324}}), branch="ünï/💥", testbed="other")
    lab.report(latency(3.0, names[1]), branch="next", start_point=StartPoint(branch="main", max_versions=3))
    lab.report(latency(4.0, names[1]), start_point=StartPoint(reset=True))
    alerts = list(Alert.objects.order_by("id"))
    assert len(alerts) > 6
    for status, alert in zip(("active", "dismissed", "silenced"), alerts, strict=False):
        Alert.objects.filter(id=alert.id).update(status=status, modified=NOW + timedelta(microseconds=999_999))
    metrics = list(Metric.objects.filter(report__head__branch__name="main").order_by("id"))
    for metric in (metrics[0], metrics[-1], alerts[0].metric):
        parts = {"before": 0.1 + 0.2, "after": -1e-7, "p_value": 1e-300, "created": NOW}
        ChangePoint.objects.create(threshold=Threshold.objects.all()[0], metric=metric, report=metric.report, **parts)
    strange = (-0.0, 1e16, -1.7976931348623157e308, 5e-324, 123456789.123456789, 1e22, 2.0**53 + 2, math.inf)
    strange = (*strange, math.nan) if connection.vendor == "postgresql" else strange
    for metric, value in zip(metrics, itertools.cycle(strange), strict=False):
        other = None if metric.iteration % 2 else value
        Metric.objects.filter(id=metric.id).update(value=value, lower_value=other, upper_value=value)
    for model in (Branch, models.Testbed, Benchmark, Measure):
        model.objects.filter(project=lab.project, name__in=("main", "bench", names[2], "Latency")).update(archived=NOW)
    return lab


def test_all_parts(hostile: Lab) -> None:
    wanted = everything(hostile)
    found = encoded(hostile, wanted)
    assert found == plain(hostile, wanted)
    for part in (b'"threshold":null', b'"baseline":null', b'"baseline":0', b'"change_point":', b'"status":"silenced"', b'"iteration":11'):
        assert part in found, part
    assert b'"value":null' in found, "an infinite value has no place in JSON"


def test_every_head(hostile: Lab) -> None:
    heads = list(Head.objects.filter(branch__project=hostile.project).order_by("created"))
    assert len(heads) == 4
    wanted = everything(hostile, branches=[head.branch_id for head in heads], heads=[head.id for head in heads])
    assert encoded(hostile, wanted) == plain(hostile, wanted)


def test_start_point_that_is_gone(hostile: Lab) -> None:
    Head.objects.filter(start_version__isnull=False).update(start_version=None)
    wanted = everything(hostile)
    assert encoded(hostile, wanted) == plain(hostile, wanted)


def test_a_list_names_something_twice_or_nothing(hostile: Lab) -> None:
    known = everything(hostile)
    twice = everything(hostile, branches=[*known.branches, known.branches[0]], benchmarks=[known.benchmarks[1], *known.benchmarks])
    assert encoded(hostile, twice) == plain(hostile, twice)
    unknown = everything(hostile, benchmarks=[uuid4(), *known.benchmarks], measures=[*known.measures, uuid4()])
    assert encoded(hostile, unknown) == encoded(hostile, known)


def test_reports_that_are_gone(hostile: Lab) -> None:
    for report in Report.objects.filter(head__branch__name="main")[:2]:
        delete_report(report=report)
    wanted = everything(hostile)
    assert encoded(hostile, wanted) == plain(hostile, wanted)


def test_reports_of_one_version_and_moment(lab: Lab) -> None:
    """Their iterations lie between one another's; fractions of a second count and are not shown."""
    for _ in range(3):
        lab.report(latency(1.0), latency(2.0), latency(3.0), hash=A)
    first, second, third = Report.objects.order_by("id")
    Report.objects.filter(id=third.id).update(start_time=START - timedelta(microseconds=1))
    wanted = everything(lab)
    found = encoded(lab, wanted)
    assert found == plain(lab, wanted)
    shown = msgspec.json.decode(found)["results"][0]["metrics"]
    order = [str(third.id)] * 3 + [str(first.id), str(second.id)] * 3
    assert [point["report"] for point in shown] == order
    assert shown[0]["start_time"] == "2025-12-31T23:59:59Z"


def test_specs_and_times(lab: Lab) -> None:
    specs = [make_spec(), make_spec()]
    for number in range(6):
        start = START + timedelta(days=number)
        report = lab.report(latency(float(number)), start_time=start, end_time=start + timedelta(hours=1))
        Report.objects.filter(id=report.id).update(spec=(*specs, None)[number % 3])
    testbed = models.Testbed.objects.get()
    times = {"start_time": START + timedelta(days=1), "end_time": START + timedelta(days=4, hours=1)}
    for more, count in (({}, 2), (times, 1), ({"start_time": times["start_time"]}, 1), ({"end_time": times["end_time"]}, 2)):
        wanted = everything(lab, testbeds=[testbed.id], specs=[specs[0].id], **more)
        found = encoded(lab, wanted)
        assert found == plain(lab, wanted)
        assert found.count(b'"iteration"') == count
    both = everything(lab, testbeds=[testbed.id] * 3, specs=[specs[1].id, None, specs[0].id])
    assert encoded(lab, both) == plain(lab, both)


def test_years_of_any_size(lab: Lab) -> None:
    for year in (1, 999, 9999):
        moment = datetime(year, 12, 31, 23, 59, 59, tzinfo=UTC)
        lab.report(latency(float(year)), start_time=moment, end_time=moment)
    wanted = everything(lab)
    found = encoded(lab, wanted)
    assert found == plain(lab, wanted)
    assert b'"0001-12-31T23:59:59Z"' in found
