"""``GET /v0/server/stats``: how much there is and how much was done, counted in the database (rest.md 5.9)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec
from django.conf import settings
from django.db import models
from django.db.models import Count, Q

from bencher.core.api import ts
from bencher.core.newtypes import Moment
from bencher.projects.models import Organization, Project, User
from bencher.specs.models import Spec
from jobs.models import STATUSES, Job
from outputs.models import Alert, Report, Threshold
from runners.models import Runner


class JsonCohort(msgspec.Struct):
    """How many were made in the last week, in the last 30 days, and ever."""

    week: int
    month: int
    total: int


class JsonServerStats(msgspec.Struct):
    timestamp: Moment
    version: str
    users: JsonCohort
    organizations: JsonCohort
    unclaimed_organizations: int
    projects: JsonCohort
    private_projects: int
    reports: JsonCohort
    jobs: JsonCohort
    jobs_by_status: dict[str, int]
    thresholds: int
    active_alerts: int
    runners: int
    archived_runners: int
    specs: int


def server_stats(*, now: datetime) -> JsonServerStats:
    """A constant number of counting queries."""
    by_status = dict.fromkeys(STATUSES, 0) | dict(Job.objects.order_by().values_list("status").annotate(Count("id")))
    runners = Runner.objects.aggregate(live=Count("id", filter=Q(archived=None)), archived=Count("id", filter=Q(archived__isnull=False)))
    return JsonServerStats(
        timestamp=ts(now),
        version=settings.BENCHER_API_VERSION,
        users=_cohort(User.objects.all(), now),
        organizations=_cohort(Organization.objects.filter(deleted=None), now),
        unclaimed_organizations=Organization.objects.filter(deleted=None, claimed=None).count(),
        projects=_cohort(Project.objects.filter(deleted=None), now),
        private_projects=Project.objects.filter(deleted=None, visibility="private").count(),
        reports=_cohort(Report.objects.all(), now),
        jobs=_cohort(Job.objects.all(), now),
        jobs_by_status=by_status,
        thresholds=Threshold.objects.count(),
        active_alerts=Alert.objects.filter(status="active").count(),
        runners=runners["live"],
        archived_runners=runners["archived"],
        specs=Spec.objects.filter(archived=None).count(),
    )


def _cohort(rows: models.QuerySet[Any], now: datetime) -> JsonCohort:
    counts = rows.aggregate(
        week=Count("id", filter=Q(created__gte=now - timedelta(days=7))),
        month=Count("id", filter=Q(created__gte=now - timedelta(days=30))),
        total=Count("id"),
    )
    return JsonCohort(**counts)
