"""A user cancels a job: by REST, page, admin or command, always through here."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import transaction

from bencher.core.errors import Clash, Missing
from bencher.core.retry import transient
from jobs import notify
from jobs.actors import Actor
from jobs.lifecycle import Action
from jobs.models import Job
from jobs.transitions import transit


@transient()
def cancel_job(*, job_id: UUID, actor: Actor, now: datetime) -> Job:
    """Canceled at once, in every state that is not final; its runner hears it with its next heartbeat. The job as it is then.

    Raises `Missing`, and `Clash` when it has ended.
    """
    with transaction.atomic():
        job = Job.objects.select_for_update(of=("self",)).filter(pk=job_id).first()
        if job is None:
            raise Missing("There is no such job")
        source = job.status
        if not transit(job, Action.CANCEL, now=now, actor=actor):
            raise Clash(f"The job is {source}: it has ended and cannot be canceled")
        notify.ended(job.pk, job.status)
        return job
