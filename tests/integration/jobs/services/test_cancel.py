"""A user cancels."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from bencher.core.errors import Clash, Missing
from jobs.actors import user
from jobs.models import Job
from jobs.services.cancel import cancel_job
from tests.jobs_world import NOW, history, make_job, make_runner, make_spec

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(seconds=9)
ANNA = user(uuid4(), "Anna")


@pytest.mark.parametrize("status", ["pending", "claimed", "running"])
def test_at_once(status: str) -> None:
    """... and no sign of life of the runner."""
    spec = make_spec()
    job = make_job(spec=spec, status=status, runner=make_runner(spec))
    liveness = job.liveness
    canceled = cancel_job(job_id=job.pk, actor=ANNA, now=LATER)
    job.refresh_from_db()
    assert (canceled.status, job.status, job.completed, job.liveness, job.failure) == ("canceled", "canceled", LATER, liveness, "")
    event = job.events.get()
    assert (event.source, event.target, event.actor_kind, event.actor_id, event.actor_name, event.created) == (
        status, "canceled", "user", ANNA.id, "Anna", LATER,
    )  # fmt: skip


@pytest.mark.parametrize("status", ["completed", "processed", "failed", "canceled"])
def test_too_late(status: str) -> None:
    spec = make_spec()
    job = make_job(spec=spec, status=status, runner=make_runner(spec))
    before = Job.objects.filter(pk=job.pk).values().get()
    with pytest.raises(Clash, match=status):
        cancel_job(job_id=job.pk, actor=ANNA, now=LATER)
    assert (Job.objects.filter(pk=job.pk).values().get(), history(job)) == (before, [])


def test_no_such_job() -> None:
    with pytest.raises(Missing):
        cancel_job(job_id=uuid4(), actor=ANNA, now=LATER)
