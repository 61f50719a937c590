"""A runner delivers: ``completed``, ``failed``, ``canceled`` (protocol.md section 4). Always safe to repeat."""

from __future__ import annotations

import logging
from datetime import datetime
from uuid import UUID

from django.db import transaction

from bencher.core.compiled import Compiled, Slot
from bencher.core.retry import transient
from jobs import actors, notify
from jobs.lifecycle import DELIVERIES, Action, Delivery, Keep, Status
from jobs.models import Job
from jobs.output import encode
from jobs.transitions import keep_output, transit
from outputs.registry.storage.job_outputs import put_job_output
from runners.protocol.messages import Canceled, Completed, Failed

logger = logging.getLogger(__name__)
Terminal = Completed | Failed | Canceled

_JOB = Compiled(lambda: Job.objects.filter(pk=Slot("id")))
_HELD = Compiled(lambda: Job.objects.select_for_update(of=("self",)).filter(pk=Slot("id")))
_EVENTS = {Completed: "completed", Failed: "failed", Canceled: "canceled"}


def deliver(*, message: Terminal, runner_id: UUID, now: datetime) -> None:
    """Apply a terminal message to its job. On return whatever there was to store is on disk and committed, and may be acknowledged.

    An unknown job, another runner's, or one that nobody has claimed: nothing changes. Raises `StorageError` and Django's database errors when the fault is ours;
    then nothing may be acknowledged, and the runner sends it again.
    """
    stored: str | None = None
    while True:  # anew when the job changed between our look and our lock: statuses only go forward, or the claim is undone, so this ends
        job = _JOB.first(id=message.job)
        if job is None or job.runner_id != runner_id:
            logger.warning("runner %s delivered %s for a job that is not its own: %s", runner_id, _EVENTS[type(message)], message.job)
            return
        delivery = DELIVERIES[_EVENTS[type(message)], Status(job.status)]
        keep = delivery.keep is Keep.ALWAYS or (delivery.keep is Keep.IF_NONE and not job.output)
        if not keep and not delivery.actions:
            return
        if keep and stored is None and not isinstance(message, Canceled):
            stored = _store(job, message)
        if _apply(message, runner_id, delivery, stored if keep else None, now):
            return


def _store(job: Job, message: Completed | Failed) -> str:
    return put_job_output(job.project_id, job.pk, encode(message.results, message.error if isinstance(message, Failed) else None))


@transient()
def _apply(message: Terminal, runner_id: UUID, delivery: Delivery, stored: str | None, now: datetime) -> bool:
    """All of ``delivery`` in one transaction, or False and nothing: it is not what the row asks for any more."""
    with transaction.atomic():
        job = _HELD.first(id=message.job)
        if job is None:
            raise Job.DoesNotExist
        if job.runner_id != runner_id or DELIVERIES[_EVENTS[type(message)], Status(job.status)] != delivery:
            return False
        if not delivery.actions:
            keep_output(job, output=stored or "", now=now)
            return True
        for action in delivery.actions:
            changes = {"output": stored} if stored is not None and action in (Action.COMPLETE, Action.FAIL) else None
            reason = message.error if isinstance(message, Failed) else ""
            transit(job, action, now=now, actor=actors.runner(runner_id), guards={"runner_id": runner_id}, changes=changes, reason=reason)
        notify.ended(job.pk, job.status)
        return True
