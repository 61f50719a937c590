"""The same again: a new pending job with an old one's configuration (rest.md 3.1, an extension)."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import transaction

from bencher.core.errors import Missing
from bencher.core.ids import uuid7
from bencher.core.retry import transient
from bencher.projects.models import User
from jobs import actors
from jobs.models import Job
from jobs.run.submit import queue
from outputs.models import Report
from outputs.services.reports import create_report


@transient()
def resubmit_job(
    *, job_id: UUID, user: User | None, actor: actors.Actor, source_ip: str | None, now: datetime, priority: int | None = None
) -> Job:
    """A new job with the configuration, spec and organization of ``job_id``, whatever became of that, on a new report of the same branch, hash and testbed.

    ``source_ip`` None: the old job's. Raises Missing.
    """
    with transaction.atomic():
        old = Job.objects.select_related("organization", "spec", "project__organization").filter(pk=job_id).first()
        if old is None:
            raise Missing(f"there is no job {job_id}")
        report = Report.objects.select_related("head", "version").get(pk=old.report_id)
        new_id = uuid7()
        again = create_report(
            project=old.project,
            user=user,
            branch=str(report.head.branch_id),
            hash=report.version.hash,
            start_point=None,
            testbed=str(report.testbed_id),
            spec=old.spec,
            thresholds=None,
            start_time=now,
            end_time=now,
            adapter=report.adapter,
            job=new_id,
            now=now,
        )
        return queue(
            job_id=new_id,
            report=again,
            organization=old.organization,
            spec=old.spec,
            config=old.config,
            timeout=old.timeout,
            priority=priority,
            source_ip=source_ip or old.source_ip,
            actor=actor,
            now=now,
            reason=f"the same as job {job_id}",
        )
