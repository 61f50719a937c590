"""Into which project a run or a push goes, and when one is made for it (rest.md 2.3, registry.md 1.5)."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import IntegrityError, transaction

from bencher.core.errors import Busy, Invalid, Missing, NotAllowed, NotAuthenticated
from bencher.core.ids import as_uuid, is_slug, slugify
from bencher.projects.authentication import Caller
from bencher.projects.limiting import creating_project
from bencher.projects.models import Organization, Project, ProjectRole, User
from bencher.projects.naming import project_name, unused_name
from bencher.projects.permissions import Permission, may
from bencher.projects.selectors import find_project
from bencher.projects.services.organizations import claim_organization, personal_organization

REPOSITORY, COMMIT, MACHINE = "bencher.dev/v0/repo/name", "bencher.dev/v0/repo/hash", "bencher.dev/v0/testbed/fingerprint"
NEEDS_CREDENTIAL = "this project belongs to somebody: send the credential of a member or of the project"
_ATTEMPTS = 5


def project_for_run(
    *, caller: Caller, project: str | None, image_repository: str | None, context: dict[str, str] | None, now: datetime
) -> Project:
    """The project of a run, made if need be, with its organization loaded; whoever runs into an unclaimed one as a user claims it.

    ``project``: the explicit UUID or slug; ``image_repository``: the *project repository* of the image (rest.md 7.3), tried next; ``context``: of the
    request, for a derived slug and the name of a new project. Raises Invalid, Missing, NotAuthenticated or NotAllowed as the tables say.
    """
    refuse_anonymous(caller)
    named = project or (image_repository if image_repository and _is_resource_id(image_repository) else None)
    if named is None:
        if caller.project_key is not None:
            return caller.project_key.project
        named = derived_slug(context)
    found = find_project(named)
    if found is not None:
        return _admitted(found, caller, now)
    if as_uuid(named) is not None:
        raise Missing("no such project")
    if caller.project_key is not None:
        if project:
            raise Missing("no such project: a project key makes none")
        return caller.project_key.project
    if context is None:
        raise Invalid("context: it is needed to make the project; send it, or name a project that exists")
    return _made(named, project_name(context.get(REPOSITORY)), caller, now)


def project_for_push(*, caller: Caller, name: str, now: datetime) -> Project:
    """The project of an image that is pushed, made if need be under the name of its slug.

    Raises Invalid for a name that is neither UUID nor slug, Missing for an unknown UUID, NotAuthenticated or NotAllowed for want of rights.
    """
    refuse_anonymous(caller)
    if not _is_resource_id(name):
        raise Invalid("the repository must be the UUID or slug of a project")
    found = find_project(name)
    if found is not None:
        return _admitted(found, caller, now)
    if as_uuid(name) is not None or caller.project_key is not None:
        raise Missing("no such project")
    return _made(name, name, caller, now)


def refuse_anonymous(caller: Caller) -> None:
    """With BENCHER_ALLOW_ANONYMOUS_RUNS=0 nobody runs or pushes without a credential."""
    if caller.is_anonymous and not settings.BENCHER_ALLOW_ANONYMOUS_RUNS:
        raise NotAuthenticated("this server takes no anonymous runs: send a user key, a project key or a token")


def derived_slug(context: dict[str, str] | None) -> str:
    """The slug of a project that nobody named: repository, first commit, machine."""
    context = context or {}
    parts = [context.get(REPOSITORY, "")[:42], context.get(COMMIT, "")[:7], context.get(MACHINE, "")[:13]]
    slug = slugify(" ".join(part for part in parts if part))
    if not slug:
        raise Invalid("project: name one, or send a context with the repository to derive it from")
    return slug


def _is_resource_id(text: str) -> bool:
    return as_uuid(text) is not None or is_slug(text)


def _admitted(project: Project, caller: Caller, now: datetime) -> Project:
    """The existing project, if the caller may run into it; a user who runs into an unclaimed one claims it."""
    if caller.project_key is not None:
        if caller.project_key.project_id != project.id:
            raise NotAuthenticated("this project key is for another project")
        return project
    if project.organization.claimed is None:
        if caller.user is not None:
            _claim(project, caller.user, now)
        return project
    return _authorized(project, caller)


def _authorized(project: Project, caller: Caller) -> Project:
    if caller.user is None:
        raise NotAuthenticated(NEEDS_CREDENTIAL)
    if not may(caller, Permission.CREATE, project):
        raise NotAllowed("no right to run in this project")
    return project


def _claim(project: Project, user: User, now: datetime) -> None:
    try:
        claim_organization(organization=project.organization, user=user, now=now)
    except NotAuthenticated:  # somebody was faster: perhaps a colleague, perhaps the same user in another request
        project.organization.refresh_from_db()
        _authorized(project, Caller("user", user))


def _made(slug: str, name: str, caller: Caller, now: datetime) -> Project:
    """A new public project of that slug; when another request makes it at the same moment, that one."""
    for _ in range(_ATTEMPTS):
        try:
            with transaction.atomic():
                return _unclaimed(slug, name, now) if caller.user is None else _owned(slug, name, caller.user, now)
        except IntegrityError:
            if (found := find_project(slug)) is not None:
                return _admitted(found, caller, now)
    raise Busy("the project is being made by somebody else, try again")


def _unclaimed(slug: str, name: str, now: datetime) -> Project:
    organization = Organization.objects.filter(slug=slug, deleted=None).first()
    if organization is not None and organization.claimed is not None:
        raise NotAuthenticated(NEEDS_CREDENTIAL)
    if organization is None:
        organization = Organization.objects.create(name=name, slug=slug, created=now, modified=now)
    creating_project(organization=organization, now=now)
    pk = {} if Project.objects.filter(pk=organization.pk).exists() else {"id": organization.pk}
    name = unused_name(name, _names(organization))
    return Project.objects.create(organization=organization, name=name, slug=slug, created=now, modified=now, **pk)


def _owned(slug: str, name: str, user: User, now: datetime) -> Project:
    organization = personal_organization(user=user, now=now)
    creating_project(organization=organization, now=now)
    name = unused_name(name, _names(organization))
    project = Project.objects.create(organization=organization, name=name, slug=slug, created=now, modified=now)
    ProjectRole.objects.create(project=project, user=user, role="maintainer", created=now, modified=now)
    return project


def _names(organization: Organization) -> set[str]:
    return set(Project.objects.filter(organization=organization).values_list("name", flat=True))
