"""What an organization used (rest.md 1.5)."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet, Sum

from outputs.models import Metric, Report


def _reports(organization_id: UUID, since: datetime, until: datetime) -> QuerySet[Report]:
    return Report.objects.filter(project__organization_id=organization_id, created__gte=since, created__lte=until)


def metrics_count(*, organization_id: UUID, since: datetime, until: datetime) -> int:
    """Metrics that were reported in that time."""
    return _reports(organization_id, since, until).aggregate(total=Sum("size"))["total"] or 0


def active_series(*, organization_id: UUID, since: datetime, until: datetime) -> int:
    """Combinations of branch, testbed, benchmark and measure that were reported in that time."""
    reports = _reports(organization_id, since, until).filter(size__gt=0)
    series = Metric.objects.filter(report__in=reports.values("id")).order_by()
    return series.values("report__head__branch", "report__testbed", "benchmark", "measure").distinct().count()
