"""An organization's priority changed: its waiting jobs move with it (protocol.md section 8)."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from jobs.lifecycle import Status
from jobs.models import Job


def follow_priority(*, organization_id: UUID, priority: int, now: datetime) -> None:
    """Inside the transaction that changes the organization; jobs that a runner has taken keep theirs."""
    Job.objects.filter(organization_id=organization_id, status=Status.PENDING).update(priority=priority, modified=now)
