"""What the overview of a project reads: the latest of everything, in a constant number of queries."""

from __future__ import annotations

from dataclasses import dataclass

from bencher.projects.models import Project
from jobs.models import Job
from jobs.selectors import jobs_of
from outputs.selectors import reports, thresholds
from outputs.serializers.reports import JsonReport, reports_json
from outputs.serializers.thresholds import JsonAlert, alert_json

LATEST = 8


@dataclass(frozen=True, slots=True)
class Overview:
    jobs: list[Job]
    reports: list[JsonReport]
    alerts: list[JsonAlert]
    active_alerts: int


def overview(project: Project) -> Overview:
    listed = reports.listed(project, branch=None, testbed=None, start_time=None, end_time=None, archived=False, direction=None)
    active = thresholds.listed_alerts(project, status="active", archived=False, sort="modified", direction=None)
    return Overview(
        list(jobs_of(project.pk)[:LATEST]),
        reports_json(list(reports.shown(listed)[:LATEST]), expand=False),
        [alert_json(row, row.number) for row in active[:LATEST]],
        active.count(),
    )
