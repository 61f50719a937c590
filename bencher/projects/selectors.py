"""Reads of people and places: always ordered, down to the key."""

from __future__ import annotations

from typing import TypeVar
from uuid import UUID

from django.db.models import Q, QuerySet

from bencher.core.compiled import Compiled, Slot
from bencher.core.errors import Missing
from bencher.core.ids import as_uuid
from bencher.projects.authentication import Caller
from bencher.projects.models import Credential, Membership, Organization, Project, ProjectRole, User

K = TypeVar("K", bound=Credential)
_LIVE = {"deleted": None, "organization__deleted": None}
_PROJECT_BY_ID = Compiled(lambda: Project.objects.select_related("organization").filter(**_LIVE, id=Slot("id")))
_PROJECT_BY_SLUG = Compiled(lambda: Project.objects.select_related("organization").filter(**_LIVE, slug=Slot("slug")))


def by_id(text: str) -> dict[str, object]:
    """The filter of a ResourceId: by UUID, else by slug."""
    value = as_uuid(text)
    return {"slug": text} if value is None else {"id": value}


def find_project(resource_id: str) -> Project | None:
    """The project of that UUID or slug, with its organization, deleted ones left out."""
    pk = as_uuid(resource_id)
    return _PROJECT_BY_SLUG.first(slug=resource_id) if pk is None else _PROJECT_BY_ID.first(id=pk)


def find_organization(resource_id: str) -> Organization | None:
    return Organization.objects.filter(deleted=None, **by_id(resource_id)).first()


def find_user(resource_id: str) -> User | None:
    return User.objects.filter(**by_id(resource_id)).first()


def get_user(resource_id: str) -> User:
    if (user := find_user(resource_id)) is None:
        raise Missing("no such user")
    return user


def project_by_uuid(pk: UUID) -> Project | None:
    return _PROJECT_BY_ID.first(id=pk)


def visible_projects(caller: Caller) -> QuerySet[Project]:
    """Public projects and those that the caller may view; a project key sees its own only (rest.md 5.1)."""
    rows = Project.objects.select_related("organization").filter(deleted=None, organization__deleted=None)
    if caller.project_key is not None:
        return rows.filter(pk=caller.project_key.project_id)
    if caller.is_admin:
        return rows
    seen = Q(visibility="public")
    if caller.user is not None:
        seen |= Q(organization__in=Membership.objects.filter(user=caller.user).values("organization"))
        seen |= Q(pk__in=ProjectRole.objects.filter(user=caller.user).values("project"))
    return rows.filter(seen)


def find_credential(rows: QuerySet[K], pk: UUID) -> K:
    if (found := rows.filter(pk=pk).first()) is None:
        raise Missing("no such key")
    return found
