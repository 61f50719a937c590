"""A pending job, its report and its version, in one transaction (rest.md 2.5)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from bencher.core.compiled import Compiled, Slot, create
from bencher.core.errors import Invalid, Missing
from bencher.core.ids import as_uuid, uuid7
from bencher.core.retry import transient
from bencher.projects.models import Organization, Project, User
from bencher.specs.models import Spec
from jobs import actors, image_reference, notify, policy, scheduling
from jobs.image_reference import ImageReference
from jobs.lifecycle import Status
from jobs.models import Job
from jobs.run.config import encode, job_config
from jobs.run.request import RunJob, RunRequest
from jobs.transitions import record
from outputs.models import Report, Testbed
from outputs.registry.selectors import resolve_tag
from outputs.selectors import dimensions
from outputs.services.reports import create_report

_ORGANIZATION = Compiled(lambda: Organization.objects.filter(pk=Slot("id")))
_SPEC_BY_ID = Compiled(lambda: Spec.objects.filter(archived__isnull=True, id=Slot("id")))
_SPEC_BY_SLUG = Compiled(lambda: Spec.objects.filter(archived__isnull=True, slug=Slot("slug")))
_FALLBACK = Compiled(lambda: Spec.objects.filter(fallback__isnull=False, archived__isnull=True).order_by("-fallback", "id")[:1])


@dataclass(frozen=True, slots=True)
class Place:
    """On which hardware a job runs, and under which testbed (name or id) its results are kept."""

    spec: Spec
    testbed: str


def submit(
    *, project: Project, user: User | None, actor: actors.Actor, request: RunRequest, image: ImageReference, source_ip: str, now: datetime
) -> Report:
    """Queue the run's job; its report, empty yet. Raises Missing (spec, branch, testbed), Invalid (no spec, image), IntegrityError (idempotency key)."""
    if request.job is None:
        raise ValueError("the run has no job")
    place = choose_place(project, request.job, request.testbed)
    digest = resolve_image(project, image)
    return _insert(project, user, actor, request, place, digest, source_ip, now)


@transient()
def _insert(
    project: Project, user: User | None, actor: actors.Actor, request: RunRequest, place: Place, digest: str, source_ip: str, now: datetime
) -> Report:
    wanted: Any = request.job
    with transaction.atomic():
        organization = _ORGANIZATION.first(id=project.organization_id)
        if organization is None:
            raise Missing("the project was deleted meanwhile")
        job_id = uuid7()
        report = create_report(
            project=project,
            user=user,
            branch=request.branch_name,
            hash=request.commit,
            start_point=request.start_point,
            testbed=place.testbed,
            spec=place.spec,
            thresholds=request.thresholds,
            start_time=request.start_time,
            end_time=request.end_time,
            adapter=request.settings.adapter if request.settings else None,
            idempotency_key=request.idempotency_key,
            job=job_id,
            now=now,
        )
        timeout = timeout_of(wanted.timeout, organization)
        config = job_config(request, registry=settings.BENCHER_REGISTRY_URL, project=project.pk, digest=digest, timeout=timeout)
        queue(
            job_id=job_id,
            report=report,
            organization=organization,
            spec=place.spec,
            config=encode(config),
            timeout=timeout,
            priority=wanted.priority,
            source_ip=source_ip,
            actor=actor,
            now=now,
        )
    return report


def queue(
    *,
    job_id: UUID,
    report: Report,
    organization: Organization,
    spec: Spec,
    config: str,
    timeout: int,
    priority: int | None,
    source_ip: str | None,
    actor: actors.Actor,
    now: datetime,
    reason: str = "",
) -> Job:
    """A pending job, its first event and, once it is committed, the wake-up. Inside the caller's transaction."""
    job = create(
        Job,
        id=job_id,
        project_id=report.project_id,
        organization=organization,
        report=report,
        spec=spec,
        config=config,
        timeout=timeout,
        priority=scheduling.job_priority(organization=organization.priority, claimed=organization.claimed is not None, asked=priority),
        source_ip=source_ip,
        created=now,
        modified=now,
    )
    record(job.pk, "submit", None, Status.PENDING, now=now, actor=actor, reason=reason)
    notify.pending(spec.pk)
    return job


def timeout_of(asked: int | None, organization: Organization) -> int:
    """Seconds."""
    tier = policy.tier(claimed=organization.claimed is not None, priority=organization.priority)
    return policy.effective_timeout(asked, tier, limits=settings.BENCHER_TIER_LIMITS)


def choose_place(project: Project, job: RunJob, testbed: str | None) -> Place:
    """The table of rest.md 2.5: the spec that is asked for, the one the testbed remembers, the server's fallback; a testbed that is not named is the spec's."""
    if job.spec is not None:
        pk = as_uuid(job.spec)
        spec = _SPEC_BY_SLUG.first(slug=job.spec) if pk is None else _SPEC_BY_ID.first(id=pk)
        if spec is None:
            raise Missing("job.spec: there is no such spec")
        return Place(spec, testbed if testbed is not None else spec.name)
    if testbed is not None:
        known = dimensions.find(Testbed, project, dimensions.read(Testbed, testbed))
        if known is not None and known.spec is not None:
            return Place(known.spec, testbed)
    fallback = _FALLBACK.first()
    if fallback is None:
        raise Invalid("job.spec: none is given, the testbed has none, and the server has no fallback")
    return Place(fallback, testbed if testbed is not None else fallback.name)


def resolve_image(project: Project, image: ImageReference) -> str:
    """The image's digest: a tag is looked up in the project, whatever repository the reference names, and frozen. Raises Invalid."""
    try:
        image_reference.check(image, registry_url=settings.BENCHER_REGISTRY_URL)
    except image_reference.InvalidImage as fault:
        raise Invalid(f"job.image: {fault}") from None
    if image.digest is not None:
        return image.digest
    digest = resolve_tag(project_id=project.pk, tag=image.tag or image_reference.DEFAULT_TAG)
    if digest is None:
        raise Invalid(f"job.image: the project has no image with the tag {image.tag}: push it first")
    if not image_reference.is_runnable(digest):
        raise Invalid(f"job.image: the tag {image.tag} names an image by another digest than sha256, which runners do not know")
    return digest
