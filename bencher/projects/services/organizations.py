"""Making, changing, claiming and deleting organizations (rest.md 1.4, 5.1)."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from bencher.core.errors import NotAuthenticated
from bencher.core.hooks import priority_changed
from bencher.core.saving import change
from bencher.core.slugs import create_with_slug
from bencher.projects.models import DEFAULT_PRIORITY, UNCLAIMED_PRIORITY, Membership, Organization, Project, User


def create_organization(*, name: str, slug: str | None, leader: User, now: datetime, pk: UUID | None = None) -> Organization:
    """A claimed organization, led by ``leader``."""
    with transaction.atomic():
        values: dict[str, Any] = {} if pk is None else {"id": pk}
        organization = create_with_slug(
            Organization, slug=slug, name=name, priority=DEFAULT_PRIORITY, claimed=now, created=now, modified=now, **values
        )
        Membership.objects.create(organization=organization, user=leader, role="leader", created=now, modified=now)
    return organization


def personal_organization(*, user: User, now: datetime) -> Organization:
    """The organization of the user's own: the one of the same UUID, else the first that the user leads, else a new one."""
    led = Organization.objects.filter(deleted=None, memberships__user=user, memberships__role="leader").order_by("created", "id")
    found = led.filter(pk=user.pk).first() or led.first()
    if found is not None:
        return found
    taken = Organization.objects.filter(pk=user.pk).exists()
    return create_organization(name=user.name, slug=user.slug, leader=user, now=now, pk=None if taken else user.pk)


def change_organization(*, organization: Organization, values: dict[str, Any], now: datetime) -> Organization:
    """Change ``name``, ``slug``, ``license``, ``priority``; pending jobs follow the priority."""
    with transaction.atomic():
        change(organization, values, now=now, clash="this slug is used already")
        if "priority" in values:
            priority_changed(organization_id=organization.id, priority=values["priority"], now=now)
    return organization


def claim_organization(*, organization: Organization, user: User, now: datetime) -> Organization:
    """Make ``user`` the leader of an organization without members; raises NotAuthenticated when somebody was faster (rest.md 5.1: 401)."""
    with transaction.atomic():
        free = Organization.objects.filter(pk=organization.pk, claimed=None, deleted=None)
        if free.update(claimed=now, priority=DEFAULT_PRIORITY, modified=now) == 0:
            raise NotAuthenticated("this organization is claimed already")
        Membership.objects.create(organization=organization, user=user, role="leader", created=now, modified=now)
        priority_changed(organization_id=organization.pk, priority=DEFAULT_PRIORITY, now=now)
    organization.claimed, organization.priority, organization.modified = now, DEFAULT_PRIORITY, now
    return organization


def abandon_if_empty(*, organization: Organization, now: datetime) -> None:
    """Without members an organization is unclaimed again. Inside the transaction that removed one."""
    if Membership.objects.filter(organization=organization).exists():
        return
    change(organization, {"claimed": None, "priority": UNCLAIMED_PRIORITY}, now=now, clash="")
    priority_changed(organization_id=organization.pk, priority=UNCLAIMED_PRIORITY, now=now)


def delete_organization(*, organization: Organization, now: datetime) -> None:
    """Gone for everybody, with its projects; the rows stay, slugs become free."""
    with transaction.atomic():
        for project in Project.objects.filter(organization=organization, deleted=None):
            change(project, tombstone(project.pk, now), now=now, clash="")
        change(organization, tombstone(organization.pk, now), now=now, clash="")


def tombstone(pk: UUID, now: datetime) -> dict[str, Any]:
    """Name, slug and mark of a deleted project or organization (rest.md 5.1)."""
    return {"name": f"Deleted {pk}", "slug": f"deleted-{pk}", "deleted": now}
