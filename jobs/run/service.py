"""``POST /v0/run`` as a use case: into which project, already there, local or remote (rest.md section 2)."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import IntegrityError

from bencher.core.errors import Busy, Invalid, NotAllowed
from bencher.projects.authentication import Caller
from bencher.projects.models import Project
from bencher.projects.services.resolve import project_for_run
from jobs import actors, image_reference
from jobs.image_reference import ImageReference
from jobs.run.request import RunRequest
from jobs.run.submit import submit
from outputs.models import Branch, Report, Testbed
from outputs.selectors import dimensions
from outputs.services.reports import run_local


def run(*, caller: Caller, request: RunRequest, source_ip: str, now: datetime) -> Report:
    """The run's report: complete for local results, empty for a job. A repeat of an idempotency key gives the report that is there.

    Raises the refusals of rest.md 2.3 and 2.5, and Busy where a repeat meets its own original.
    """
    if request.job is not None and request.job.priority is not None and not caller.is_admin:
        raise NotAllowed("job.priority: only a server administrator may set it")
    image = _image(request)
    dimensions.read(Branch, request.branch_name)  # a run that names nothing possible makes no project either
    dimensions.read(Testbed, request.local_testbed)
    project = project_for_run(
        caller=caller, project=request.project, image_repository=image.project if image else None, context=request.context, now=now
    )
    if (earlier := _earlier(project, request.idempotency_key)) is not None:
        return earlier
    try:
        return _new(caller, project, request, image, source_ip, now)
    except IntegrityError:
        if (earlier := _earlier(project, request.idempotency_key)) is not None:
            return earlier
        raise Busy("the same was being made by somebody else: try again") from None


def _new(caller: Caller, project: Project, request: RunRequest, image: ImageReference | None, source_ip: str, now: datetime) -> Report:
    if image is None:
        return run_local(project=project, user=caller.user, request=request, now=now)
    return submit(project=project, user=caller.user, actor=actor_of(caller), request=request, image=image, source_ip=source_ip, now=now)


def _image(request: RunRequest) -> ImageReference | None:
    if request.job is None:
        return None
    try:
        return image_reference.parse(request.job.image)
    except image_reference.InvalidImage as fault:
        raise Invalid(f"job.image: {fault}") from None


def _earlier(project: Project, key: UUID | None) -> Report | None:
    return None if key is None else Report.objects.filter(project=project, idempotency_key=key).first()


def actor_of(caller: Caller) -> actors.Actor:
    """Who a job's history names: the user, else the project's key, else nobody."""
    if caller.user is not None:
        return actors.user(caller.user.pk, caller.user.name)
    if caller.project_key is not None:
        return actors.user(caller.project_key.pk, caller.project_key.name)
    return actors.Actor("user")
