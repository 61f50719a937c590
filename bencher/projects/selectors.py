"""Reads of people and places: always ordered, down to the key."""

from __future__ import annotations

from uuid import UUID

from bencher.core.errors import Missing
from bencher.core.ids import as_uuid
from bencher.projects.models import Organization, Project, User


def by_id(text: str) -> dict[str, object]:
    """The filter of a ResourceId: by UUID, else by slug."""
    value = as_uuid(text)
    return {"slug": text} if value is None else {"id": value}


def find_project(resource_id: str) -> Project | None:
    """The project of that UUID or slug, with its organization, deleted ones left out."""
    return Project.objects.select_related("organization").filter(deleted=None, organization__deleted=None, **by_id(resource_id)).first()


def find_organization(resource_id: str) -> Organization | None:
    return Organization.objects.filter(deleted=None, **by_id(resource_id)).first()


def find_user(resource_id: str) -> User | None:
    return User.objects.filter(**by_id(resource_id)).first()


def get_user(resource_id: str) -> User:
    if (user := find_user(resource_id)) is None:
        raise Missing("no such user")
    return user


def project_by_uuid(pk: UUID) -> Project | None:
    return Project.objects.select_related("organization").filter(deleted=None, organization__deleted=None, id=pk).first()
