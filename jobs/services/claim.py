"""A runner claims a job (protocol.md section 8)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, Q, QuerySet

from bencher.core.compiled import Compiled, Slot
from bencher.core.retry import transient
from jobs import actors, notify, scheduling
from jobs.lifecycle import IN_FLIGHT, Action, Failure, Status
from jobs.models import Job
from jobs.output import encode
from jobs.transitions import transit
from outputs.registry.storage.base import StorageError
from outputs.registry.storage.job_outputs import put_job_output
from outputs.registry.tokens import mint_runner_token
from runners.models import RunnerSpec
from runners.protocol import messages
from runners.protocol.errors import Undecodable

logger = logging.getLogger(__name__)

LIMITS_LOCK = 0x62656E63  # any number: one advisory lock for claims that have to count
"""Key of PostgreSQL's advisory lock."""


@dataclass(frozen=True, slots=True)
class Claim:
    """``message``: what the runner is sent, or None. ``specs``: what it may take, as read by a claim that found nothing; empty when it may take nothing.

    ``nothing_pending``: no job of these specs was pending, so that others need not look at once; with limits on there may be one that has to wait.
    """

    message: messages.Job | None
    specs: frozenset[UUID] = frozenset()
    nothing_pending: bool = False


def claim(*, runner_id: UUID, channel: str, now: datetime) -> Claim:
    """Give the runner the first job that it may take; no other runner gets it, and no candidate is lost to a race.

    A job whose config cannot be decoded is failed, and the next one tried.
    """
    while True:
        job = _take(runner_id, channel, now)
        if isinstance(job, frozenset):
            return Claim(None, job, nothing_pending=not _limited())
        try:
            message = _message(job, runner_id, now)
        except Undecodable as fault:
            _quarantine(job, runner_id, fault.reason, now)
        else:
            return Claim(message)


@transient()
def undo(*, job_id: UUID, runner_id: UUID, channel: str, now: datetime) -> bool:
    """The ``job`` message was not delivered: pending again, if the claim is still this channel's."""
    with transaction.atomic():
        job = Job.objects.select_for_update(of=("self",)).filter(pk=job_id, runner_id=runner_id, channel=channel).first()
        if job is None:
            return False
        guards = {"runner_id": runner_id, "channel": channel}
        undone = transit(job, Action.RELEASE, now=now, actor=actors.SYSTEM, guards=guards, reason="the job message could not be delivered")
        if undone:
            notify.pending(job.spec_id)
        return undone


def _limited() -> bool:
    """Must a claim count what others execute?"""
    return bool(settings.BENCHER_TIER_LIMITS) or settings.BENCHER_PROJECT_CONCURRENCY > 0


def _allowed() -> QuerySet[RunnerSpec]:
    return RunnerSpec.objects.filter(runner_id=Slot("runner"), runner__archived__isnull=True)


def _candidates(allowed: QuerySet[RunnerSpec]) -> QuerySet[Job]:
    return Job.objects.filter(status=Status.PENDING, spec_id__in=allowed.values("spec_id"), project__deleted__isnull=True)


def _foremost(candidates: QuerySet[Job]) -> QuerySet[Job]:
    """The first one that nobody else is about to take, held."""
    held = candidates.select_related("spec").select_for_update(skip_locked=True, of=("self",))
    return held.order_by("-priority", "created", "id")[:1]


_FOREMOST = Compiled(lambda: _foremost(_candidates(_allowed())))
_SPECS = Compiled(lambda: _allowed().values_list("spec_id", flat=True))


@transient()
def _take(runner_id: UUID, channel: str, now: datetime) -> Job | frozenset[UUID]:
    """A claimed job with its spec, or, when there is none, the runner's specs."""
    with transaction.atomic():
        limited = _limited()
        if limited and connection.vendor == "postgresql":  # SQLite has one writer anyway
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LIMITS_LOCK])
        if limited:
            allowed = RunnerSpec.objects.filter(runner_id=runner_id, runner__archived__isnull=True)
            job = _foremost(_unblocked(_candidates(allowed), now)).first()
        else:
            job = _FOREMOST.first(runner=runner_id)
        if job is None:
            return frozenset(_SPECS.rows(runner=runner_id))
        changes = {"runner_id": runner_id, "channel": channel}
        if not transit(job, Action.CLAIM, now=now, actor=actors.runner(runner_id), changes=changes):
            raise AssertionError("a locked pending job can be claimed")
        return job


def _unblocked(candidates: QuerySet[Job], now: datetime) -> QuerySet[Job]:
    """Without jobs that share their one place with a live job in flight."""
    live = now - timedelta(seconds=settings.BENCHER_HEARTBEAT_TIMEOUT) - scheduling.WRITE_MARGIN
    flying = Job.objects.filter(status__in=IN_FLIGHT, liveness__gte=live)
    if settings.BENCHER_TIER_LIMITS:
        nobodys = Q(organization__claimed__isnull=True) | Q(organization__priority__lt=scheduling.FREE)
        free = Q(organization__claimed__isnull=False, organization__priority__range=(scheduling.FREE, scheduling.PLUS - 1))
        organizations = list(flying.filter(free).values_list("organization_id", flat=True).distinct())
        addresses = list(flying.filter(nobodys).values_list("source_ip", flat=True).distinct())
        candidates = candidates.exclude(free & Q(organization_id__in=organizations)).exclude(nobodys & Q(source_ip__in=addresses))
    if settings.BENCHER_PROJECT_CONCURRENCY:
        counts = flying.values("project_id").annotate(count=Count("id")).filter(count__gte=settings.BENCHER_PROJECT_CONCURRENCY)
        candidates = candidates.exclude(project_id__in=[row["project_id"] for row in counts.order_by("project_id")])
    return candidates


def _message(job: Job, runner_id: UUID, now: datetime) -> messages.Job:
    """Raises `Undecodable`."""
    config = messages.decode_config(job.config)
    return messages.Job(
        uuid=job.pk,
        spec=_spec(job),
        config=config,
        oci_token=mint_runner_token(runner_id=runner_id, project_id=job.project_id, now=now),
        timeout=config.timeout,
        created=scheduling.whole(job.created),
    )


def _spec(job: Job) -> messages.Spec:
    spec = job.spec
    moments = {
        name: getattr(spec, name) and scheduling.whole(getattr(spec, name)) for name in ("fallback", "created", "modified", "archived")
    }
    return messages.Spec(
        uuid=spec.pk,
        name=spec.name,
        slug=spec.slug,
        os=spec.os,  # type: ignore[arg-type]
        architecture=spec.architecture,  # type: ignore[arg-type]
        sandbox=spec.sandbox,  # type: ignore[arg-type]
        cpu=spec.cpu,
        memory=spec.memory,
        disk=spec.disk,
        network=spec.network,
        **moments,
    )


def _quarantine(job: Job, runner_id: UUID, problem: str, now: datetime) -> None:
    """Failed, with a text that says why: it must not block what is behind it."""
    text = f"the job's configuration cannot be decoded: {problem}"
    logger.error("job %s: %s", job.pk, text)
    changes: dict[str, Any] = {"failure": Failure.BAD_CONFIG}
    try:
        changes["output"] = put_job_output(job.project_id, job.pk, encode([], text))
    except StorageError as fault:
        logger.warning("job %s: its error text cannot be stored: %s", job.pk, fault)
    with transaction.atomic():
        guards = {"runner_id": runner_id}
        transit(job, Action.FAIL, now=now, actor=actors.SYSTEM, guards=guards, changes=changes, reason=text)
        notify.ended(job.pk, job.status)


_wanted = Compiled(lambda: Job.objects.filter(status=Status.PENDING).order_by().values_list("spec_id", flat=True).distinct())


def waiting_work(*, runner_ids: Sequence[UUID]) -> dict[UUID, UUID]:
    """Specs that have a pending job and a runner among these, each with one such runner: the safety net for lost wake-ups, one or two queries for a whole
    process."""
    wanted = _wanted.rows()
    if not wanted:
        return {}
    found = RunnerSpec.objects.filter(spec_id__in=wanted, runner_id__in=runner_ids, runner__archived__isnull=True)
    return dict(found.order_by("id").values_list("spec_id", "runner_id"))
