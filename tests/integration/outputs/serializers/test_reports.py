"""What is shown of reports: constant queries, order, extensions that do not get in the way (rest.md 2.8)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from outputs.models import Report
from outputs.selectors.reports import shown
from outputs.selectors.usage import active_series, metrics_count
from outputs.serializers.reports import report_json, reports_json
from tests.results_lab import Lab, bmf, latency, watching


def queries_of(work: Any) -> int:
    with CaptureQueriesContext(connection) as queries:
        work()
    return len(queries)


def test_queries_are_constant(lab: Lab) -> None:
    counted = []
    for names in (("a",), tuple("abcdefgh")):
        lab.report(latency(1.0, *names), thresholds=watching())
        lab.report(latency(9.0, *names), latency(1.0, *names))
        rows = list(shown(Report.objects.all()))
        counted.append(
            (queries_of(lambda rows=rows: reports_json(rows, expand=True)), queries_of(lambda rows=rows: reports_json(rows, expand=False)))
        )  # type: ignore[misc]
    assert counted[0] == counted[1]
    assert counted[0] <= (5, 1)


def test_names_sort_by_code_point(lab: Lab) -> None:
    report = lab.run(bmf({name: {"throughput": 1.0, "Ärger": 1.0, "latency": 1.0} for name in ("b1", "B2", "ä3", "a4", "Z5", "_6")}))
    [rows] = report.results  # type: ignore[misc]
    assert [row.benchmark.name for row in rows] == ["B2", "Z5", "_6", "a4", "b1", "ä3"]
    assert [item.measure.name for item in rows[0].measures] == ["Latency", "Throughput", "Ärger"]


def test_optional_keys_are_absent(lab: Lab) -> None:
    report = lab.report(latency(1.0))
    plain = msgspec.to_builtins(report_json(report))
    assert {"verdicts", "job"}.isdisjoint(plain)
    short = msgspec.to_builtins(report_json(report, expand=False))
    assert {"results", "alerts"}.isdisjoint(short)
    assert short["counts"] == plain["counts"]


@pytest.mark.parametrize("thresholds", [None, watching()], ids=["plain", "judged"])
def test_the_answer_is_what_is_read_later(lab: Lab, thresholds: Any) -> None:
    """An answer is made of what was written, not of what is read back."""
    texts = [
        bmf({"b": {"latency": 1, "throughput": 0.1}, "ä": {"latency": 1e300}}),
        bmf({"b": {"latency": -2.5}, "new-one": {"Ärger": 3.0}}),
    ]
    for value in (1.0, 9.0):
        report = lab.report(*texts, latency(value, "b"), thresholds=thresholds, hash="a" * 40)
        stored = shown(Report.objects.filter(pk=report.pk)).get()
        assert msgspec.json.encode(report_json(report)) == msgspec.json.encode(report_json(stored))
        assert msgspec.json.encode(report_json(report, expand=False)) == msgspec.json.encode(report_json(stored, expand=False))


def test_alert_is_the_same_in_report_and_list(lab: Lab) -> None:
    from outputs.selectors.thresholds import listed_alerts
    from outputs.serializers.thresholds import alert_json

    lab.report(latency(1.0), thresholds=watching())
    report = lab.run(latency(9.0), hash="a" * 40)
    [row] = listed_alerts(lab.project, status=None, archived=False, sort="modified", direction=None)
    assert [alert_json(row, row.number)] == report.alerts
    assert report.alerts[0].threshold.branch.head.version == report.branch.head.version  # type: ignore[index, union-attr]


def test_usage_counts_metrics_and_series(lab: Lab) -> None:
    since = lab.now
    lab.report(bmf({"a": {"latency": 1.0, "throughput": 1.0}}))
    lab.report(bmf({"a": {"latency": 1.0}}), bmf({"a": {"latency": 1.0}}))
    lab.report(latency(1.0, "a"), branch="other")
    span = {"organization_id": lab.project.organization_id, "since": since, "until": lab.now}
    assert (metrics_count(**span), active_series(**span)) == (5, 3)
    span["since"] = lab.now + timedelta(hours=1)
    assert (metrics_count(**span), active_series(**span)) == (0, 0)
