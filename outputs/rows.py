"""Results as rows of a page's tables, with the links that belong to them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from outputs.drawing import Dot
from outputs.selectors.perf import Line
from outputs.serializers.reports import JsonReport
from outputs.serializers.thresholds import JsonAlert, JsonBoundary

BEFORE = timedelta(days=30)
"""How far back the plot of a report's or alert's series reaches, as in the links of the command line (rest.md 8.6)."""


def milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def perf_query(
    *, branch: Any, testbed: Any, benchmark: Any, measure: Any, start: str | datetime, end: str | datetime, report: Any, boundary: Any
) -> str:
    """The query string of the perf page for one series around a report (rest.md 8.6). Branch, testbed and so on: their JSON."""
    first, last = (_moment(value) for value in (start, end))
    limits = {f"{side}_boundary": "true" for side in ("lower", "upper") if boundary and getattr(boundary, f"{side}_limit") is not None}
    values = {
        "branches": branch.uuid,
        "heads": branch.head.uuid,
        "testbeds": testbed.uuid,
        "specs": testbed.spec.uuid if testbed.spec else "",
        "benchmarks": benchmark.uuid,
        "measures": measure.uuid,
        "start_time": milliseconds(first - BEFORE),
        "end_time": milliseconds(last),
        "report": report,
        **limits,
    }
    return urlencode(values)


def _moment(value: str | datetime) -> datetime:
    return datetime.fromisoformat(value) if isinstance(value, str) else value


# -- one report -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class ResultRow:
    """One metric of a report. ``perf``: the query string of its series' plot."""

    iteration: int
    benchmark: Any
    measure: Any
    metric: Any
    boundary: JsonBoundary | None
    threshold: Any
    alert: JsonAlert | None
    perf: str


def result_rows(report: JsonReport, start: int, count: int) -> list[ResultRow]:
    """``count`` metrics of the report from the one at ``start``, by iteration, benchmark and measure."""
    alerts = {alert.metric.uuid: alert for alert in report.alerts or ()}
    cells = [(result, cell) for results in report.results or () for result in results for cell in result.measures]
    return [
        ResultRow(
            result.iteration,
            result.benchmark,
            cell.measure,
            cell.metric,
            cell.boundary,
            cell.threshold,
            alerts.get(cell.metric.uuid),
            perf_query(
                branch=report.branch,
                testbed=report.testbed,
                benchmark=result.benchmark,
                measure=cell.measure,
                start=str(report.start_time),
                end=str(report.end_time),
                report=report.uuid,
                boundary=cell.boundary,
            ),
        )
        for result, cell in cells[start : start + count]
    ]


def metrics_in(report: JsonReport) -> int:
    return sum(len(result.measures) for results in report.results or () for result in results)


# -- series ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class PointRow:
    line: Line
    point: Any
    """A point of the perf query."""


def point_rows(lines: Sequence[Line], start: int, count: int) -> list[PointRow]:
    """``count`` points of all series from the one at ``start``, the newest report first."""
    every = [(line, point) for line in lines for point in line.points]
    every.sort(key=lambda pair: (pair[1].visit.start_time, pair[1].visit.number, pair[1].iteration), reverse=True)
    return [PointRow(*pair) for pair in every[start : start + count]]


def varied(lines: Sequence[Line]) -> set[str]:
    """Of ``branch``, ``testbed`` and ``measure`` those in which the series differ: columns worth their room."""
    return {kind for kind in ("branch", "testbed", "measure") if len({getattr(line, kind).id for line in lines}) > 1}


def by_measure(lines: Sequence[Line]) -> Iterator[tuple[Any, list[Line]]]:
    """The series of each measure: values of different units share no axis."""
    grouped: dict[Any, list[Line]] = {}
    for line in lines:
        grouped.setdefault(line.measure, []).append(line)
    yield from grouped.items()


def label(line: Line, lines: Sequence[Line]) -> str:
    """What tells the series from the others of its plot: the benchmark, and branch or testbed where there are several."""
    parts = [line.benchmark.name]
    if len({(other.branch.id, other.head.id) for other in lines}) > 1:
        parts.append(line.branch.name)
    if len({other.testbed.id for other in lines}) > 1:
        parts.append(line.testbed.name)
    return " · ".join(parts)


def dots(line: Line, *, by_version: bool) -> list[Dot]:
    found = [_dot(point, by_version) for point in line.points]
    found.sort(key=lambda dot: dot.x)
    return found


def _dot(point: Any, by_version: bool) -> Dot:
    visit, alert = point.visit, point.alert
    commit = f" {visit.hash[:7]}" if visit.hash else ""
    note = f"{visit.start_time[:10]} {visit.start_time[11:19]}, version {visit.number}{commit}"
    x = float(visit.number) if by_version else datetime.fromisoformat(visit.start_time).timestamp()
    return Dot(x, point.value, point.lower_limit, point.upper_limit, alert is not None and alert.status == "active", note)
