"""Single metrics."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from bencher.core.errors import Missing
from bencher.projects.models import Project
from outputs.models import Metric
from outputs.selectors.reports import number_of


def get_metric(project: Project, uuid: UUID) -> Any:
    """With all that its JSON needs, and ``number``, of the report's version in its head."""
    related = (
        *("report__head__branch", "report__head__start_version", "report__version", "report__testbed", "report__spec"),
        *("benchmark", "measure", "model__threshold", "alert", "change_point"),
    )
    rows = Metric.objects.filter(report__project=project, id=uuid).select_related(*related)
    row = rows.annotate(number=number_of("report__head", "report__version")).first()
    if row is None:
        raise Missing("no such metric")
    return row
