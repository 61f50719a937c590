"""Time is up: silence and hard limits (protocol.md section 5, recovery.md section 2). State-based: each may run twice, late, on any node."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce

from bencher.core.retry import transient
from jobs import actors, notify, scheduling
from jobs.lifecycle import IN_FLIGHT, RULES, Action, Failure, Status
from jobs.models import Job
from jobs.transitions import transit

logger = logging.getLogger(__name__)

PROCESSING_DELAY = timedelta(seconds=5)
"""A completed job that nobody has begun to process for this long is handed out again."""


@dataclass(slots=True)
class Sweep:
    """What a sweep did, or would do: the jobs of each rule, and those whose row could not be handled."""

    canceled: list[UUID] = field(default_factory=list)
    failed: list[UUID] = field(default_factory=list)
    reprocessed: list[UUID] = field(default_factory=list)
    broken: list[UUID] = field(default_factory=list)

    @property
    def total(self) -> int:
        return len(self.canceled) + len(self.failed) + len(self.reprocessed)


# -- one job -------------------------------------------------------------------------------------------------------
@transient()
def overrun(*, job_id: UUID, now: datetime) -> Status | None:
    """Cancel the job if it is over its hard limit, or its project was deleted. Its status then; None when it is no more."""
    with transaction.atomic():
        job = Job.objects.select_for_update(of=("self",)).select_related("project").filter(pk=job_id).first()
        if job is None:
            return None
        if scheduling.is_over(job.due, now, settings.BENCHER_JOB_TIMEOUT_GRACE_PERIOD):
            _end(job, Action.OVERRUN, now)
        elif job.project.deleted is not None and transit(
            job, Action.CANCEL, now=now, actor=actors.SYSTEM, reason="the project was deleted"
        ):
            notify.ended(job.pk, job.status)
        return Status(job.status)


@transient()
def expire(*, job_id: UUID, runner_id: UUID, channel: str, now: datetime) -> Failure:
    """The channel that executes the job was silent for the heartbeat timeout: over its hard limit it is canceled, else failed.

    What the channel's end is put down to. A job that has ended, or gone over to another channel, is left alone.
    """
    with transaction.atomic():
        job = Job.objects.select_for_update(of=("self",)).filter(pk=job_id, runner_id=runner_id).first()
        if job is not None and job.channel == channel:
            over = scheduling.is_over(job.due, now, settings.BENCHER_JOB_TIMEOUT_GRACE_PERIOD)
            _end(job, Action.OVERRUN if over else Action.LOSE, now)
        if job is not None and job.status == Status.CANCELED and job.failure == Failure.JOB_TIMEOUT_EXCEEDED:
            return Failure.JOB_TIMEOUT_EXCEEDED
        return Failure.HEARTBEAT_TIMEOUT


@transient()
def check(*, job_id: UUID, now: datetime) -> Status | None:
    """Both rules for one job, by what is stored. Its status then; None when it is no more."""
    with transaction.atomic():
        job = Job.objects.select_for_update(of=("self",)).filter(pk=job_id).first()
        if job is None:
            return None
        if scheduling.is_over(job.due, now, settings.BENCHER_JOB_TIMEOUT_GRACE_PERIOD):
            _end(job, Action.OVERRUN, now)
        elif job.status in IN_FLIGHT and _is_silent(job, now):
            _end(job, Action.LOSE, now)
        return Status(job.status)


def _is_silent(job: Job, now: datetime) -> bool:
    last = job.liveness or job.claimed or job.created
    return scheduling.is_silent(last, now - scheduling.WRITE_MARGIN, settings.BENCHER_HEARTBEAT_TIMEOUT)


def _end(job: Job, action: Action, now: datetime) -> None:
    failure = Failure.JOB_TIMEOUT_EXCEEDED if action is Action.OVERRUN else Failure.HEARTBEAT_TIMEOUT
    if transit(job, action, now=now, actor=actors.SYSTEM, reason=failure):
        notify.ended(job.pk, job.status)


# -- all of them ---------------------------------------------------------------------------------------------------
def over_limit(now: datetime) -> QuerySet[Job]:
    """With those of deleted projects, which nobody can see or cancel any more."""
    until = scheduling.over_until(now, settings.BENCHER_JOB_TIMEOUT_GRACE_PERIOD)
    over = Q(status__in=IN_FLIGHT, due__lte=until)
    nobodys = Q(status__in=RULES[Action.CANCEL].sources, project__deleted__isnull=False)
    return Job.objects.filter(over | nobodys).order_by("due", "id")


def silent(now: datetime) -> QuerySet[Job]:
    before = scheduling.silent_before(now - scheduling.WRITE_MARGIN, settings.BENCHER_HEARTBEAT_TIMEOUT)
    last = Coalesce("liveness", "claimed", "created")
    return Job.objects.filter(status__in=IN_FLIGHT).annotate(last=last).filter(last__lt=before).order_by("last", "id")


def unprocessed(now: datetime, delay: timedelta = PROCESSING_DELAY) -> QuerySet[Job]:
    """Delivered a while ago, and nobody has a lease on parsing them."""
    idle = Q(processing_until__isnull=True) | Q(processing_until__lt=now)
    return Job.objects.filter(idle, status=Status.COMPLETED, completed__lte=now - delay).order_by("completed", "id")


def sweep(
    *,
    now: datetime,
    dry_run: bool = False,
    delay: timedelta = PROCESSING_DELAY,
    process: Callable[[UUID], object] | None = None,
    settled: bool = True,
) -> Sweep:
    """Phases B1, A, B2 and C of recovery.md, in the order that makes an over-limit job canceled and not failed. Each row in a transaction of its own.

    ``process``: how results are handed out; by default to the workers. ``settled``: may silence be judged (jobs/services/watch.py)?
    """
    process = process or notify.process
    done = Sweep()
    canceled = set(_each(over_limit(now), Status.CANCELED, done, lambda pk: overrun(job_id=pk, now=now), dry_run))
    done.canceled += canceled
    if settled:
        lost = silent(now).exclude(pk__in=canceled) if dry_run else silent(now)
        done.failed += _each(lost, Status.FAILED, done, lambda pk: check(job_id=pk, now=now), dry_run)
    for pk in list(unprocessed(now, delay).values_list("pk", flat=True)):
        try:
            if not dry_run:
                process(pk)
            done.reprocessed.append(pk)
        except Exception:
            logger.exception("job %s cannot be processed", pk)
            done.broken.append(pk)
    return done


def _each(rows: QuerySet[Job], wanted: Status, done: Sweep, act: Callable[[UUID], Status | None], dry_run: bool) -> Iterable[UUID]:
    """Those that ``act`` brought to ``wanted``. A row that cannot be handled is logged and never stops the others."""
    for pk in list(rows.values_list("pk", flat=True)):
        try:
            if dry_run or act(pk) is wanted:
                yield pk
        except Exception:
            logger.exception("job %s cannot be looked after", pk)
            done.broken.append(pk)
