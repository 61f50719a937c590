"""Making, changing and deleting projects (rest.md 5.1)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from bencher.core import hooks
from bencher.core.errors import Clash, NotAllowed
from bencher.core.saving import change
from bencher.core.slugs import create_with_slug
from bencher.projects.limiting import creating_project
from bencher.projects.models import Organization, Project, ProjectRole, User
from bencher.projects.services.organizations import tombstone

TAKEN = "this name or slug is used already"


def create_project(
    *, organization: Organization, name: str, slug: str | None, url: str | None, visibility: str, creator: User, now: datetime
) -> Project:
    """An empty project; its creator becomes maintainer. Clash when the organization has a project of that name; TooMany."""
    creating_project(organization=organization, now=now)
    try:
        with transaction.atomic():
            project = create_with_slug(
                Project, slug=slug, name=name, organization=organization, url=url, visibility=visibility, created=now, modified=now
            )
            ProjectRole.objects.create(project=project, user=creator, role="maintainer", created=now, modified=now)
    except IntegrityError:
        raise Clash("the organization has a project of that name already") from None
    return project


def change_project(*, project: Project, values: dict[str, Any], now: datetime) -> Project:
    """Change ``name``, ``slug``, ``url``, ``visibility``."""
    change(project, values, now=now, clash=TAKEN)
    return project


def delete_project(*, project: Project, hard: bool, by: User, now: datetime) -> None:
    """Soft: the row stays under another name, its slug is free again. Hard, for administrators: everything of it is erased."""
    if hard and not by.admin:
        raise NotAllowed("hard deletion is for server administrators")
    if not hard:
        change(project, tombstone(project.pk, now), now=now, clash="")
        return
    with transaction.atomic():
        hooks.erase_jobs(project_id=project.pk)
        hooks.erase_results(project_id=project.pk)
        project.delete()
