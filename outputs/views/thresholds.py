"""``…/thresholds`` and ``…/alerts`` (rest.md 5.5, 5.7)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from bencher.core.api import Reply, no_content
from bencher.core.newtypes import ResourceId
from bencher.core.schema import documented
from bencher.projects.endpoints import Access, ApiView
from bencher.projects.permissions import Permission
from outputs.requests import AlertChange, NewThreshold, ThresholdChange
from outputs.selectors import thresholds as selectors
from outputs.serializers.thresholds import JsonAlert, JsonThreshold, alert_json, threshold_json
from outputs.services import alerts, thresholds
from outputs.views.queries import AlertList, OneThresholdQuery, ThresholdList


class Thresholds(ApiView):
    access = Access.ACTOR
    path_shapes = {"project": ResourceId}

    @documented(query=ThresholdList, returns=list[JsonThreshold])
    def get(self, request: Any, project: str) -> Reply:
        """Thresholds in order of creation; by modification the last first."""
        query = self.query(ThresholdList)
        page, total = query.cut(query.listed(self.project()))
        return Reply([threshold_json(row, row.model) for row in page], total=total)

    @documented(body=NewThreshold, returns=JsonThreshold, status=201)
    def post(self, request: Any, project: str) -> Reply:
        """Watch a measure on a branch and testbed."""
        body, found = self.body(NewThreshold), self.project(Permission.CREATE)
        row = thresholds.create_threshold(project=found, new=body, now=self.now)
        return Reply(threshold_json(row, row.model), 201)


class OneThreshold(ApiView):
    access = {"GET": Access.ACTOR, "PUT": Access.ACTOR, "DELETE": Access.USER}
    path_shapes = {"project": ResourceId, "threshold": UUID}

    @documented(query=OneThresholdQuery, returns=JsonThreshold)
    def get(self, request: Any, project: str, threshold: str) -> Reply:
        """One threshold; ``model`` shows an earlier model of it."""
        uuid, query = self.uuid("threshold"), self.query(OneThresholdQuery)
        row = selectors.get_threshold(self.project(), uuid)
        return Reply(threshold_json(row, selectors.get_model(row, query.model) if query.model else row.model))

    @documented(body=ThresholdChange, returns=JsonThreshold)
    def put(self, request: Any, project: str, threshold: str) -> Reply:
        """Replace the model, or remove it with ``{"test": null}``."""
        uuid = self.uuid("threshold")
        found = self.project(Permission.MODEL)
        body = self.body(ThresholdChange)
        thresholds.put_threshold(threshold=selectors.get_threshold(found, uuid), change=body, now=self.now)
        row = selectors.get_threshold(found, uuid)
        return Reply(threshold_json(row, row.model))

    @documented(status=204)
    def delete(self, request: Any, project: str, threshold: str) -> Reply:
        """Delete a threshold that no stored boundary refers to."""
        uuid = self.uuid("threshold")
        thresholds.delete_threshold(threshold=selectors.get_threshold(self.project(Permission.DELETE), uuid))
        return no_content()


class Alerts(ApiView):
    access = Access.ACTOR
    path_shapes = {"project": ResourceId}

    @documented(query=AlertList, returns=list[JsonAlert])
    def get(self, request: Any, project: str) -> Reply:
        """Alerts, active ones first."""
        query = self.query(AlertList)
        page, total = query.cut(query.listed(self.project()))
        return Reply([alert_json(row, row.number) for row in page], total=total)


class OneAlert(ApiView):
    access = Access.ACTOR
    path_shapes = {"project": ResourceId, "alert": UUID}

    @documented(returns=JsonAlert)
    def get(self, request: Any, project: str, alert: str) -> Reply:
        """One alert."""
        uuid = self.uuid("alert")
        row = selectors.get_alert(self.project(), uuid)
        return Reply(alert_json(row, row.number))

    @documented(body=AlertChange, returns=JsonAlert)
    def patch(self, request: Any, project: str, alert: str) -> Reply:
        """Dismiss an alert, or make it active again."""
        uuid = self.uuid("alert")
        found = self.project(Permission.TRIAGE)
        body = self.body(AlertChange)
        row = selectors.get_alert(found, uuid)
        alerts.change_alert(alert=row, status=body.status, now=self.now)
        return Reply(alert_json(row, row.number))
