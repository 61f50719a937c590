"""Reads of jobs: always ordered, down to the key."""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from bencher.core.compiled import Compiled, Slot
from jobs.lifecycle import FINAL, IN_FLIGHT, Status
from jobs.models import Job, JobEvent
from jobs.output import CorruptOutput, JobOutput, decode
from outputs.registry.storage import NotFound, StorageError, get_job_output

logger = logging.getLogger(__name__)
ENDED = FINAL | {Status.COMPLETED, Status.FAILED}
"""Statuses in which a job shows its output (rest.md 3.2)."""


def jobs_of(project_id: UUID, *, status: str | None = None, ascending: bool = False) -> QuerySet[Job]:
    """The project's jobs by creation, with what a list shows of them; never the configuration, which one bad row could spoil."""
    rows = Job.objects.filter(project_id=project_id, **({"status": status} if status else {}))
    order = ("created", "id") if ascending else ("-created", "-id")
    return rows.select_related("spec").defer("config").order_by(*order)


def find_job(project_id: UUID, job_id: UUID) -> Job | None:
    """The job, if it is one of that project's."""
    return _ONE.first(project=project_id, id=job_id)


_ONE = Compiled(lambda: Job.objects.filter(project_id=Slot("project"), pk=Slot("id")).select_related("spec").defer("config"))


def events_of(job_id: UUID, *, ascending: bool = True) -> QuerySet[JobEvent]:
    """The job's history, oldest first."""
    return JobEvent.objects.filter(job_id=job_id).order_by("id" if ascending else "-id")


def output_of(job: Job) -> JobOutput | None:
    """What an ended job delivered; None when there is nothing, or nothing that can be read."""
    if not job.output or job.status not in ENDED:
        return None
    try:
        return decode(get_job_output(job.project_id, job.pk, job.output))
    except (NotFound, StorageError, CorruptOutput) as fault:
        logger.warning("the output of job %s cannot be shown: %s", job.pk, type(fault).__name__)
        return None


def runner_minutes(*, organization_id: UUID, since: datetime, until: datetime) -> int:
    """Begun minutes of the organization's processed jobs whose report ended in that time, both ends included (rest.md 1.5)."""
    rows = Job.objects.filter(organization_id=organization_id, status=Status.PROCESSED, report__end_time__range=(since, until))
    spans = rows.order_by("id").values_list("started", "completed").iterator(chunk_size=5000)
    return sum(_begun_minutes(started, completed) for started, completed in spans)


def _begun_minutes(started: datetime | None, completed: datetime | None) -> int:
    """Whole seconds between two moments, as minutes of which each begun one counts."""
    if started is None or completed is None:
        return 0
    seconds = int((completed.replace(microsecond=0) - started.replace(microsecond=0)).total_seconds())
    return -(-max(seconds, 0) // 60)


def busy_runners(*, runner_ids: Collection[UUID]) -> set[UUID]:
    """Those of these runners that hold a job in flight."""
    return set(Job.objects.filter(runner_id__in=runner_ids, status__in=IN_FLIGHT).order_by().values_list("runner_id", flat=True))


def spec_has_jobs(*, spec_id: UUID) -> bool:
    return Job.objects.filter(spec_id=spec_id).exists()
