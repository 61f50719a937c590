"""``…/reports`` and ``…/metrics`` (rest.md 2.9, 5.3, 5.4)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from bencher.core.api import Reply, no_content
from bencher.core.newtypes import ResourceId
from bencher.core.schema import documented
from bencher.projects.endpoints import Access, ApiView
from bencher.projects.permissions import Permission
from outputs.requests import NewReport
from outputs.selectors import metrics, reports
from outputs.serializers.metrics import JsonOneMetric, one_metric_json
from outputs.serializers.reports import JsonReport, report_json, reports_json
from outputs.services.reports import delete_report, run_local
from outputs.views.queries import ReportList


class Reports(ApiView):
    access = Access.ACTOR
    path_shapes = {"project": ResourceId}

    @documented(query=ReportList, returns=list[JsonReport])
    def get(self, request: Any, project: str) -> Reply:
        """Reports, the newest first; ``expand`` adds results and alerts."""
        query = self.query(ReportList)
        listed = query.listed(self.project())
        page, total = query.cut(reports.shown(listed))
        return Reply(reports_json(page, expand=query.expand), total=total)

    @documented(body=NewReport, returns=JsonReport, status=201)
    def post(self, request: Any, project: str) -> Reply:
        """Report local results."""
        self.limit("runs")
        body, found = self.body(NewReport), self.project(Permission.CREATE)
        return Reply(report_json(run_local(project=found, user=self.caller.user, request=body, now=self.now)), 201)


class OneReport(ApiView):
    access = {"GET": Access.ACTOR, "DELETE": Access.USER}
    path_shapes = {"project": ResourceId, "report": UUID}

    @documented(returns=JsonReport)
    def get(self, request: Any, project: str, report: str) -> Reply:
        """One report, whole."""
        uuid = self.uuid("report")
        return Reply(reports_json([reports.get_report(self.project(), uuid)], expand=True)[0])

    @documented(status=204)
    def delete(self, request: Any, project: str, report: str) -> Reply:
        """Delete a report with its metrics and alerts."""
        uuid = self.uuid("report")
        delete_report(report=reports.get_report(self.project(Permission.DELETE), uuid))
        return no_content()


class OneMetric(ApiView):
    access = Access.ACTOR
    path_shapes = {"project": ResourceId, "metric": UUID}

    @documented(returns=JsonOneMetric)
    def get(self, request: Any, project: str, metric: str) -> Reply:
        """One metric with everything around it."""
        uuid = self.uuid("metric")
        return Reply(one_metric_json(metrics.get_metric(self.project(), uuid)))
