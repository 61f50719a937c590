"""A runner executes: ``running``, and taking an earlier job up again (protocol.md section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import transaction

from bencher.core.compiled import Compiled, Slot
from bencher.core.retry import transient
from jobs import actors, notify, scheduling
from jobs.lifecycle import IN_FLIGHT, Action, Failure, Status
from jobs.models import Job
from jobs.transitions import hold, transit

_OF_RUNNER = Compiled(lambda: Job.objects.select_for_update(of=("self",)).filter(pk=Slot("id"), runner_id=Slot("runner")))


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a job is, as far as its channel has to know. ``held``: by that very channel."""

    status: Status
    due: datetime | None
    held: bool


@dataclass(frozen=True, slots=True)
class Resumption:
    """``job`` goes on; ``due`` as in its row. ``before``: the channel that executed it until now, or an empty text."""

    job: UUID
    due: datetime | None
    before: str


class WasCanceled(Exception):
    """The job that the runner means was canceled meanwhile."""


@transient()
def start(*, job_id: UUID, runner_id: UUID, channel: str, now: datetime) -> Standing | None:
    """``running``: a claimed job runs from now on; of any other nothing changes. None: no job of this runner."""
    with transaction.atomic():
        job = _OF_RUNNER.first(id=job_id, runner=runner_id)
        if job is None:
            return None
        held = job.channel == channel
        if held and transit(job, Action.START, now=now, actor=actors.runner(runner_id), guards={"runner_id": runner_id}):
            notify.started(job)
        return Standing(Status(job.status), job.due, held)


@transient()
def resume(*, runner_id: UUID, channel: str, named: UUID | None, running: bool, now: datetime) -> Resumption | None:
    """The job that the runner works on, in the order of protocol.md section 3 (Idle); it belongs to ``channel`` now.

    None: there is none, or there are several. Raises :class:`WasCanceled`.
    """
    with transaction.atomic():
        job = _candidate(runner_id, channel, named, now)
        if job is None:
            return None
        actor, guards, before = actors.runner(runner_id), {"runner_id": runner_id}, job.channel
        if scheduling.is_over(job.due, now, settings.BENCHER_JOB_TIMEOUT_GRACE_PERIOD):
            transit(job, Action.OVERRUN, now=now, actor=actors.SYSTEM, guards=guards, reason=Failure.JOB_TIMEOUT_EXCEEDED)
        if job.status == Status.CANCELED:
            canceled = True
        else:
            canceled = False
            if job.status == Status.FAILED:
                transit(job, Action.RESUME, now=now, actor=actor, guards=guards)
                notify.started(job)
            elif running and transit(job, Action.START, now=now, actor=actor, guards=guards):
                notify.started(job)
            hold(job, channel=channel, now=now)
    if canceled:
        raise WasCanceled
    return Resumption(job.pk, job.due, before if before != channel else "")


@transient()
def revive(*, job_id: UUID, runner_id: UUID, channel: str, now: datetime) -> datetime | None:
    """A job that failed by silence goes on: ``channel``, which has executed it all the while, hears its runner (recovery.md section 3, failed).

    When the job is due; None, and nothing changes, if it has ended otherwise, is over its limit, or is not the runner's newest.
    """
    with transaction.atomic():
        job = Job.objects.select_for_update(of=("self",)).filter(runner_id=runner_id).order_by("-claimed", "-id").first()
        if job is None or job.pk != job_id or job.status != Status.FAILED or not _may_go_on(job, now):
            return None
        transit(job, Action.RESUME, now=now, actor=actors.runner(runner_id), guards={"runner_id": runner_id})
        notify.started(job)
        hold(job, channel=channel, now=now)
        return job.due


def _candidate(runner_id: UUID, channel: str, named: UUID | None, now: datetime) -> Job | None:
    """Locked. In flight, resumable or canceled; nothing else."""
    rows = Job.objects.select_for_update(of=("self",)).filter(runner_id=runner_id)
    if named is not None:
        job = rows.filter(pk=named).first()
        return job if job is not None and _may_go_on(job, now) else None
    flying = list(rows.filter(status__in=IN_FLIGHT).order_by("claimed", "id"))
    free = [job for job in flying if job.channel in ("", channel)]
    for several in (free, flying):
        if several:
            return several[0] if len(several) == 1 else None
    newest = rows.order_by("-claimed", "-id").first()
    return newest if newest is not None and _may_go_on(newest, now) else None


def _may_go_on(job: Job, now: datetime) -> bool:
    """In flight, canceled (the runner has to hear it), or failed by silence and still within its limit."""
    if job.status in IN_FLIGHT or job.status == Status.CANCELED:
        return True
    over = scheduling.is_over(job.due, now, settings.BENCHER_JOB_TIMEOUT_GRACE_PERIOD)
    return job.status == Status.FAILED and job.failure == Failure.HEARTBEAT_TIMEOUT and not over
