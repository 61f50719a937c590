"""A delivered output becomes the job's report (rest.md 3.5, recovery.md phase C).

The work is claimed by a lease, so that of any number of workers one does it. Text is parsed in a killable child and limits are computed before the
transaction begins; that one writes metrics, alerts, report times and the status, or nothing. Whoever dies in between leaves ``completed`` and a lease
that runs out. What cannot be read fails the job, so that a better delivery repairs it; what fails for a reason of ours stays for the sweeper.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from bencher.core.compiled import Compiled, Slot
from bencher.core.errors import Busy, Clash, Missing, ServiceError
from bencher.core.retry import TRANSIENT, transient
from jobs import actors, notify
from jobs.leases import Lease
from jobs.lifecycle import Action, Failure, Status
from jobs.models import Job
from jobs.output import CorruptOutput, decode, texts
from jobs.transitions import transit
from outputs.adapters.results import AdapterError
from outputs.models import Report
from outputs.parsing import ParserUnavailable, parsers
from outputs.registry.storage import NotFound, StorageError, get_job_output
from outputs.services import reports
from runners.protocol.errors import Undecodable
from runners.protocol.messages import JobConfig, decode_config

logger = logging.getLogger(__name__)

WAIT = 20.0
"""Seconds for a parsing child to become free."""

INTERNAL_ERROR = "internal error while processing: see the server's log, then reprocess_job"
_OURS = (*TRANSIENT, IntegrityError, StorageError, ParserUnavailable, Busy)
"""Faults that pass."""


_JOB = Compiled(lambda: Job.objects.filter(pk=Slot("id")))
_LEASED = Compiled(lambda: Job.objects.filter(pk=Slot("id"), processing_until=Slot("until")))
_REPORT = Compiled(lambda: Report.objects.select_related("project", "head__branch", "version", "testbed", "spec").filter(pk=Slot("id")))


class Outcome(StrEnum):
    PROCESSED = "processed"
    FAILED = "failed"
    LATER = "later"
    """A fault of ours: the sweeper tries again."""
    NOTHING = "nothing"
    """Not to be processed, or somebody else does it."""


class _Unreadable(Exception):
    """The job has to fail: ``failure`` and a reason for its history."""

    def __init__(self, failure: Failure, reason: str) -> None:
        super().__init__(failure, reason)
        self.failure, self.reason = failure, reason


def process_job(job_id: UUID, *, now: datetime) -> Outcome:
    """Process a ``completed`` job's output, once however often and wherever this is called."""
    lease = Lease(job_id, now)
    try:
        job = _JOB.first(id=job_id) if lease.take() else None
        if job is None:
            return Outcome.NOTHING
        try:
            with lease.kept():
                prepared = _prepare(job, now)
            return _store(lease, job, prepared, now)
        except _Unreadable as fault:
            return _reject(lease, fault, now)
        except _OURS:
            raise
        except Exception:
            # One output that our own code cannot cope with must not come back every few seconds for ever.
            logger.exception("job %s cannot be processed", job_id)
            return _reject(lease, _Unreadable(Failure.UNPARSABLE, INTERNAL_ERROR), now)
    except _OURS as fault:
        logger.warning("job %s is processed later: %s", job_id, type(fault).__name__)
        with suppress(*TRANSIENT):  # else it runs out
            lease.put_off()
        return Outcome.LATER


# -- reading -------------------------------------------------------------------------------------------------------
def _prepare(job: Job, now: datetime) -> tuple[Report, Any, JobConfig]:
    """The report and everything that will be written into it. Raises `_Unreadable`, or a fault of ours."""
    config = _config(job)
    found = _texts(job)
    report = _REPORT.first(id=job.report_id)
    if report is None:
        raise Report.DoesNotExist
    try:
        parsed = parsers.parse(found, adapter=report.adapter, average=config.average, fold=config.fold, wait=WAIT)
        return report, reports.prepare(report=report, parsed=parsed, now=now), config
    except AdapterError as fault:
        raise _Unreadable(Failure.UNPARSABLE, f"{fault.verdict}: {fault}") from None
    except Busy:
        raise
    except ServiceError as fault:
        raise _Unreadable(Failure.UNPARSABLE, fault.message) from None


def _config(job: Job) -> JobConfig:
    try:
        return decode_config(job.config)
    except Undecodable as fault:
        raise _Unreadable(Failure.BAD_CONFIG, fault.reason) from None


def _texts(job: Job) -> list[str]:
    if not job.output:
        raise _Unreadable(Failure.OUTPUT_LOST, "no output is stored")
    try:
        return texts(decode(get_job_output(job.project_id, job.pk, job.output)))
    except NotFound:
        raise _Unreadable(Failure.OUTPUT_LOST, "the stored output is missing") from None
    except CorruptOutput as fault:
        raise _Unreadable(Failure.OUTPUT_LOST, f"the stored output is corrupt: {fault}") from None


# -- writing -------------------------------------------------------------------------------------------------------
@transient()
def _store(lease: Lease, job: Job, prepared: tuple[Report, Any, JobConfig], now: datetime) -> Outcome:
    report, contents, config = prepared
    start, end = report_times(job, config, now)
    with transaction.atomic():
        if not _finish(lease, Action.PROCESS, now):
            return Outcome.NOTHING
        reports.deliver(report=report, prepared=contents, start_time=start, end_time=end, now=now)
    return Outcome.PROCESSED


@transient()
def _reject(lease: Lease, fault: _Unreadable, now: datetime) -> Outcome:
    with transaction.atomic():
        if not _finish(lease, Action.REJECT, now, changes={"failure": fault.failure}, reason=fault.reason):
            return Outcome.NOTHING
    return Outcome.FAILED


def _finish(lease: Lease, action: Action, now: datetime, changes: dict[str, Any] | None = None, reason: str = "") -> bool:
    """The transition, as long as the lease is ours."""
    job = _LEASED.first(id=lease.job_id, until=lease.until)
    if job is None:
        return False
    guards = {"processing_until": lease.until}
    if not transit(job, action, now=now, actor=actors.SYSTEM, guards=guards, changes=changes, reason=reason):
        return False
    notify.ended(job.pk, job.status)
    return True


LAST = datetime.max.replace(tzinfo=UTC)


def report_times(job: Job, config: JobConfig, now: datetime) -> tuple[datetime, datetime]:
    """Start and end of the job's report: from its start to its delivery; with ``backdate`` from then on, for as long (rest.md 3.5)."""
    end = job.completed or now
    start = job.started or end
    if config.backdate is not None:
        return config.backdate, config.backdate + min(max(end - start, timedelta()), LAST - config.backdate)
    return start, end


# -- by hand -------------------------------------------------------------------------------------------------------
def reprocess_job(*, job_id: UUID, actor: actors.Actor, now: datetime) -> Outcome:
    """Process a job's stored output at once: one that waits for it, or that failed because its output could not be read.

    Raises Missing, or Clash when there is nothing to process.
    """
    job = Job.objects.filter(pk=job_id).first()
    if job is None:
        raise Missing(f"there is no job {job_id}")
    if job.status == Status.COMPLETED:
        Job.objects.filter(pk=job_id, status=Status.COMPLETED).update(processing_until=None)
    elif not _reopen(job, actor, now):
        raise Clash(f"the job is {job.status}: only a completed one, or one whose output could not be read, can be processed")
    return process_job(job_id, now=now)


_REPAIRABLE = (Failure.UNPARSABLE, Failure.OUTPUT_LOST)


@transient()
def _reopen(job: Job, actor: actors.Actor, now: datetime) -> bool:
    if job.status != Status.FAILED or job.failure not in _REPAIRABLE or not job.output:
        return False
    with transaction.atomic():
        kept = {"completed": job.completed}  # the time of the delivery
        return transit(
            job, Action.COMPLETE, now=now, actor=actor, guards={"output": job.output}, changes=kept, reason="processed again by hand"
        )
