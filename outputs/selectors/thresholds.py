"""Thresholds and alerts."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import F, Q, QuerySet

from bencher.core.errors import Missing
from bencher.projects.models import Project
from outputs.models import Alert, Branch, Measure, Testbed, Threshold, ThresholdModel
from outputs.selectors.dimensions import filter_by
from outputs.selectors.reports import number_of


# -- thresholds -----------------------------------------------------------------------------------------------------
def shown_thresholds(project: Project) -> QuerySet[Threshold]:
    """With what their JSON needs."""
    return Threshold.objects.select_related("branch__head__start_version", "testbed__spec", "measure", "model").filter(project=project)


def get_threshold(project: Project, uuid: UUID) -> Threshold:
    row = shown_thresholds(project).filter(id=uuid).first()
    if row is None:
        raise Missing("no such threshold")
    return row


def get_model(threshold: Threshold, uuid: UUID) -> ThresholdModel:
    """One of the threshold's models, past or present."""
    row = ThresholdModel.objects.filter(threshold=threshold, id=uuid).first()
    if row is None:
        raise Missing("no such model of the threshold")
    return row


def listed_thresholds(
    project: Project, *, branch: str | None, testbed: str | None, measure: str | None, archived: bool, sort: str, direction: str | None
) -> QuerySet[Threshold]:
    """In order of creation, or the last modified first."""
    rows = shown_thresholds(project)
    rows = filter_by(rows, "branch", Branch, project, branch)
    rows = filter_by(rows, "testbed", Testbed, project, testbed)
    rows = filter_by(rows, "measure", Measure, project, measure)
    live = Q(branch__archived=None, testbed__archived=None, measure__archived=None)
    down = (direction or ("asc" if sort == "created" else "desc")) == "desc"
    sign = "-" if down else ""
    return rows.filter(~live if archived else live).order_by(f"{sign}{sort}", f"{sign}id")


# -- alerts ---------------------------------------------------------------------------------------------------------
def shown_alerts(project: Project) -> QuerySet[Alert]:
    """With what their JSON needs, and ``number``, of the report's version in its head."""
    related = (
        *("report__head__branch", "report__head__start_version", "report__version", "report__testbed", "report__spec"),
        *("metric__benchmark", "metric__measure", "metric__model__threshold"),
    )
    return Alert.objects.filter(project=project).select_related(*related).annotate(number=number_of("report__head", "report__version"))


def get_alert(project: Project, uuid: UUID) -> Any:
    row = shown_alerts(project).filter(id=uuid).first()
    if row is None:
        raise Missing("no such alert")
    return row


def listed_alerts(project: Project, *, status: str | None, archived: bool, sort: str, direction: str | None) -> QuerySet[Any]:
    """Active ones first; within a status the last modified first, or by the start of their reports."""
    rows = shown_alerts(project)
    if status is not None:
        rows = rows.filter(status=status)
    live = Q(
        report__head__branch__archived=None,
        report__testbed__archived=None,
        metric__measure__archived=None,
        metric__benchmark__archived=None,
    )
    rows = rows.filter(~live if archived else live)
    down = (direction or ("desc" if sort == "modified" else "asc")) == "desc"
    keys = [F("modified") if sort == "modified" else F("report__start_time"), F("id")]
    return rows.order_by("status", *(key.desc() if down else key.asc() for key in keys))
