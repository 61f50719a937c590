"""Pages of results: perf, reports, alerts, thresholds, and what they are measured in. The links of the command line lead here (rest.md 8.6)."""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict

from bencher.core.errors import Invalid
from bencher.core.paging import ROWS, Paged, page_number, paged
from bencher.projects.browsing import ProjectPage
from bencher.projects.permissions import Permission
from outputs.drawing import draw
from outputs.rows import by_measure, dots, label, metrics_in, perf_query, point_rows, result_rows, varied
from outputs.selectors import browse, dimensions, reports, thresholds
from outputs.selectors.browse import KINDS
from outputs.selectors.perf import Line
from outputs.serializers.dimensions import branch_json
from outputs.serializers.reports import reports_json
from outputs.serializers.thresholds import alert_json, threshold_json
from outputs.services.alerts import change_alert
from outputs.views.queries import (
    AlertList,
    DimensionList,
    OneBranchQuery,
    OneTestbedQuery,
    OneThresholdQuery,
    PerfQuery,
    ReportList,
    ThresholdList,
    wanted,
)

PLOTS = 6
"""Measures that are drawn; the table has all."""
ALERTS = 20
"""Of a report, on its own page."""
ONE_OF: dict[str, str] = {"branches": "branch", "testbeds": "testbed", "benchmarks": "benchmark", "measures": "measure"}


class PerfPageQuery(PerfQuery, kw_only=True):
    """The perf query of REST (rest.md 5.8), and how it is drawn."""

    report: UUID | None = None
    lower_boundary: bool = False
    upper_boundary: bool = False
    x_axis: Literal["date_time", "version"] = "date_time"
    y_axis: Literal["auto", "linear", "log"] = "auto"


class Perf(ProjectPage):
    """Series of metrics: a plot for each measure, a table of the points, and a choice of what to look at."""

    template = "results/perf.html"

    def get(self, request: HttpRequest, project: str) -> HttpResponse:
        found = self.project()
        if canonical := _joined(request.GET):
            return HttpResponseRedirect(f"{request.path}?{canonical}")
        complete = all(request.GET.get(kind) for kind in KINDS)
        query = self.query(PerfPageQuery) if complete else None
        chosen = {kind: _uuids(kind, request.GET.get(kind, "")) for kind in KINDS}
        searches = {kind: request.GET.get(f"find_{kind}", "").replace("\x00", "")[:64] for kind in KINDS}
        seen = browse.perf_page(found, wanted(query) if query else None, chosen, searches)
        number, total = page_number(request.GET.get("page")), sum(len(line.points) for line in seen.lines)
        rows = point_rows(seen.lines, (number - 1) * ROWS, ROWS)
        kept = {name: text for name, text in self.parameters.items() if name != "page"}
        return self.show(
            query=query,
            chosen_some=any(chosen.values()),
            complete=complete,
            plots=[_plot(measure, lines, query) for measure, lines in list(by_measure(seen.lines))[:PLOTS]] if query else [],
            series=len(seen.lines),
            varied=varied(seen.lines),
            page=Paged(rows, total, number, ROWS, urlencode(kept)),
            models=seen.models,
            choices=seen.choices,
            image=urlencode({name: kept[name] for name in (*KINDS, "heads", "specs", "start_time", "end_time") if kept.get(name)}),
            highlighted=str(query.report) if query and query.report else "",
        )


def _plot(measure: Any, lines: list[Line], query: PerfPageQuery) -> dict[str, Any]:
    by_version = query.x_axis == "version"
    series = [(label(line, lines), dots(line, by_version=by_version)) for line in lines]
    drawing = draw(series, by_version=by_version, y_axis=query.y_axis, lower=query.lower_boundary, upper=query.upper_boundary)
    return {"measure": measure, "drawing": drawing}


def _joined(query: QueryDict) -> str:
    """The same query with lists between commas, when a form sent them one by one; else nothing."""
    if not any(name in KINDS and len(texts) > 1 for name, texts in query.lists()):
        return ""
    return urlencode([(name, ",".join(texts) if name in KINDS else texts[-1]) for name, texts in query.lists() if any(texts)])


def _uuids(kind: str, text: str) -> list[UUID]:
    try:
        return [UUID(item) for item in text.split(",") if item]
    except ValueError:
        raise Invalid(f"{kind}: expected UUIDs between commas") from None


# -- reports --------------------------------------------------------------------------------------------------------
class Reports(ProjectPage):
    template = "results/reports.html"

    def get(self, request: HttpRequest, project: str) -> HttpResponse:
        found, query = self.project(), self.query(ReportList)
        listed = query.listed(found)
        page = paged(reports.shown(listed), self.parameters, total=listed.count())
        return self.show(page=page, rows=reports_json(page.rows, expand=False), query=query)


class OneReport(ProjectPage):
    template = "results/report.html"

    def get(self, request: HttpRequest, project: str, report: str) -> HttpResponse:
        found = self.project()
        shown = reports_json([reports.get_report(found, self.uuid("report"))], expand=True)[0]
        number, total = page_number(request.GET.get("page")), metrics_in(shown)
        rows = result_rows(shown, (number - 1) * ROWS, ROWS)
        alerts = shown.alerts or []
        active = [alert for alert in alerts if alert.status == "active"]
        return self.show(
            report=shown,
            page=Paged(rows, total, number, ROWS, ""),
            alerts=[*active, *(alert for alert in alerts if alert.status != "active")][:ALERTS],
            more_alerts=max(0, len(alerts) - ALERTS),
        )


# -- alerts and thresholds ------------------------------------------------------------------------------------------
class Alerts(ProjectPage):
    template = "results/alerts.html"

    def get(self, request: HttpRequest, project: str) -> HttpResponse:
        found, query = self.project(), self.query(AlertList)
        page = paged(query.listed(found), self.parameters)
        return self.show(
            page=page, rows=[alert_json(row, row.number) for row in page.rows], query=query, statuses=("active", "dismissed", "silenced")
        )


class OneAlert(ProjectPage):
    template = "results/alert.html"

    def get(self, request: HttpRequest, project: str, alert: str) -> HttpResponse:
        row = thresholds.get_alert(self.project(), self.uuid("alert"))
        shown = alert_json(row, row.number)
        link = perf_query(
            branch=shown.threshold.branch,
            testbed=shown.threshold.testbed,
            benchmark=shown.benchmark,
            measure=shown.threshold.measure,
            start=row.report.start_time,
            end=row.report.end_time,
            report=shown.report,
            boundary=shown.boundary,
        )
        return self.show(alert=shown, perf_query=link, may_triage=self.may(Permission.TRIAGE) and shown.status != "silenced")

    def post(self, request: HttpRequest, project: str, alert: str) -> HttpResponse:
        """Dismiss or reactivate."""
        row = thresholds.get_alert(self.project(Permission.TRIAGE), self.uuid("alert"))
        if (status := request.POST.get("status")) not in ("active", "dismissed"):
            raise Invalid("status: expected active or dismissed")
        change_alert(alert=row, status=status, now=self.now)
        return self.back(f"/alerts/{row.pk}")


class Thresholds(ProjectPage):
    template = "results/thresholds.html"

    def get(self, request: HttpRequest, project: str) -> HttpResponse:
        found, query = self.project(), self.query(ThresholdList)
        page = paged(query.listed(found), self.parameters)
        return self.show(page=page, rows=[threshold_json(row, row.model) for row in page.rows], query=query)


class OneThreshold(ProjectPage):
    """With its current model, or the one that ``?model=`` names."""

    template = "results/threshold.html"

    def get(self, request: HttpRequest, project: str, threshold: str) -> HttpResponse:
        found, query = self.project(), self.query(OneThresholdQuery)
        row = thresholds.get_threshold(found, self.uuid("threshold"))
        return self.show(threshold=threshold_json(row, thresholds.get_model(row, query.model) if query.model else row.model))


# -- branches, testbeds, benchmarks, measures -----------------------------------------------------------------------
class Things(ProjectPage):
    """Things of one kind. ``kind`` of the path is one of ``KINDS``."""

    template = "results/things.html"

    def get(self, request: HttpRequest, project: str, kind: str) -> HttpResponse:
        found, query = self.project(), self.query(DimensionList)
        rows = browse.listed(kind, found, search=query.search, name=query.name, archived=query.archived, direction=query.direction)
        return self.show(page=paged(rows, self.parameters), kind=kind, one=ONE_OF[kind], query=query)


class OneThing(ProjectPage):
    template = "results/thing.html"

    def get(self, request: HttpRequest, project: str, kind: str, resource: str) -> HttpResponse:
        row: Any = dimensions.get(KINDS[kind], self.project(), self.resource_id("resource"))
        branch = spec = None
        if kind == "branches":
            head = self.query(OneBranchQuery).head
            branch = branch_json(row, dimensions.get_head(row, head) if head else None)
        if kind == "testbeds":
            other = self.query(OneTestbedQuery).spec
            spec = dimensions.get_any_spec(other) if other else row.spec
        return self.show(thing=row, kind=kind, one=ONE_OF[kind], branch=branch, spec=spec)
