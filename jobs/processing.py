"""A delivered output becomes the job's report (rest.md 3.5, recovery.md phase C).

The work is claimed by a lease, so that of any number of workers one does it. Text is parsed in a killable child and limits are computed before the
transaction begins; that one writes metrics, alerts, report times and the status, or nothing. Whoever dies in between leaves ``completed`` and a lease
that runs out. What cannot be read fails the job, so that a better delivery repairs it; what fails for a reason of ours stays for the sweeper.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q

from bencher.core.errors import Busy, Clash, Missing, ServiceError
from bencher.core.retry import TRANSIENT, transient
from jobs import actors, notify
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

LEASE = timedelta(seconds=90)
"""Longer than a parse may wait and take; a worker that was killed holds its job up for this long."""
WAIT = 20.0
"""Seconds for a parsing child to become free; with the parse itself, and its repetition when a child dies, that is less than the lease."""
PAUSE = timedelta(seconds=5)
"""Until the next attempt, after a fault of ours."""


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
    """Process a ``completed`` job's output, once however often and wherever this is called. Raises nothing but programming errors of its own."""
    try:
        job = _claim(job_id, now)
        if job is None:
            return Outcome.NOTHING
        try:
            prepared = _prepare(job, now)
        except _Unreadable as fault:
            return _reject(job, fault, now)
        return _store(job, prepared, now)
    except (*TRANSIENT, IntegrityError, StorageError, ParserUnavailable, Busy) as fault:
        logger.warning("job %s is processed later: %s", job_id, type(fault).__name__)
        _put_off(job_id, now)
        return Outcome.LATER


@transient()
def _claim(job_id: UUID, now: datetime) -> Job | None:
    """The job with a lease of ours on it, or None when there is nothing to do."""
    free = Q(processing_until__isnull=True) | Q(processing_until__lte=now)
    if not Job.objects.filter(free, pk=job_id, status=Status.COMPLETED).update(processing_until=now + LEASE):
        return None
    return Job.objects.filter(pk=job_id, status=Status.COMPLETED, processing_until=now + LEASE).first()


def _put_off(job_id: UUID, now: datetime) -> None:
    try:
        Job.objects.filter(pk=job_id, status=Status.COMPLETED, processing_until=now + LEASE).update(processing_until=now + PAUSE)
    except TRANSIENT:
        logger.warning("job %s keeps its lease until it runs out", job_id)


# -- reading -------------------------------------------------------------------------------------------------------
def _prepare(job: Job, now: datetime) -> tuple[Report, Any, JobConfig]:
    """The report and everything that will be written into it. Raises `_Unreadable`, or a fault of ours."""
    config = _config(job)
    found = _texts(job)
    report = Report.objects.select_related("project", "head__branch", "version", "testbed", "spec").get(pk=job.report_id)
    try:
        parsed = parsers.parse(found, adapter=report.adapter, average=config.average, fold=config.fold, wait=WAIT)
        return report, reports.prepare(report=report, parsed=parsed, now=now), config
    except AdapterError as fault:
        raise _Unreadable(Failure.UNPARSABLE, f"{fault.verdict}: {fault}") from None
    except (*TRANSIENT, ParserUnavailable, Busy):
        raise
    except ServiceError as fault:
        raise _Unreadable(Failure.UNPARSABLE, fault.message) from None
    except Exception:
        # One output that our own code cannot cope with must not come back every few seconds for ever.
        logger.exception("job %s cannot be processed", job.pk)
        raise _Unreadable(Failure.UNPARSABLE, "internal error while processing: see the server's log, then reprocess_job") from None


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
def _store(job: Job, prepared: tuple[Report, Any, JobConfig], now: datetime) -> Outcome:
    report, contents, config = prepared
    start, end = report_times(job, config, now)
    with transaction.atomic():
        if not _finish(job, Action.PROCESS, now):
            return Outcome.NOTHING
        reports.deliver(report=report, prepared=contents, start_time=start, end_time=end, now=now)
        notify.ended(job.pk, Status.PROCESSED)
    return Outcome.PROCESSED


@transient()
def _reject(job: Job, fault: _Unreadable, now: datetime) -> Outcome:
    with transaction.atomic():
        if not _finish(job, Action.REJECT, now, changes={"failure": fault.failure}, reason=fault.reason):
            return Outcome.NOTHING
        notify.ended(job.pk, Status.FAILED)
    return Outcome.FAILED


def _finish(job: Job, action: Action, now: datetime, changes: dict[str, Any] | None = None, reason: str = "") -> bool:
    """The transition, as long as the lease is ours. ``job`` is asked anew: after a rollback it may show what was not committed."""
    mine = Job.objects.filter(pk=job.pk, status=Status.COMPLETED, processing_until=now + LEASE).first()
    if mine is None:
        return False
    guards = {"processing_until": now + LEASE}
    return transit(mine, action, now=now, actor=actors.SYSTEM, guards=guards, changes=changes, reason=_storable(reason))


def _storable(text: str) -> str:
    return text.replace("\x00", "\N{SYMBOL FOR NULL}").encode("utf-8", "replace").decode()


def report_times(job: Job, config: JobConfig, now: datetime) -> tuple[datetime, datetime]:
    """Start and end of the job's report: from its start to its delivery; with ``backdate`` from then on, for as long (rest.md 3.5)."""
    end = job.completed or now
    start = job.started or end
    if config.backdate is not None:
        return config.backdate, config.backdate + max(end - start, timedelta())
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
