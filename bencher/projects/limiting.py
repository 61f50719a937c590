"""Counting what callers do against the limits of the setting (``bencher/core/ratelimits.py``)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from bencher.core.client_ip import client_ip
from bencher.core.ratelimits import count, limited
from bencher.projects.authentication import Caller
from bencher.projects.models import Organization


def limit(caller: Caller, what: str, meta: Mapping[str, Any], *, now: datetime) -> None:
    """Count one ``what`` of the caller, told apart by user, project or address (``meta``: of the request). Raises TooMany."""
    if not settings.BENCHER_RATE_LIMITS:
        return
    if caller.user is not None:
        count("user", what, caller.user.pk, now=now)
    elif caller.project_key is not None:
        count("project", what, caller.project_key.project_id, now=now)
    else:
        count("anonymous", what, client_ip(meta), now=now)


def attempt(meta: Mapping[str, Any], email: str, *, now: datetime) -> None:
    """Count one attempt to log in: by address, and by whom it names. Raises TooMany."""
    count("anonymous", "attempts", client_ip(meta), now=now)
    count("user", "attempts", email.strip().lower(), now=now)


def creating(kind: str, *, project_id: UUID, now: datetime, number: int = 1) -> None:
    """Count ``number`` things of that kind that a project is about to get (rest.md 1.7): claimed projects may have more a day. Raises TooMany."""
    if limited("claimed", "creations") or limited("unclaimed", "creations"):
        claimed = Organization.objects.filter(projects=project_id).values_list("claimed", flat=True).first()
        _created(kind, claimed, project_id, now, number)


def creating_project(*, organization: Organization, now: datetime) -> None:
    """Count a project that the organization is about to get. Raises TooMany."""
    _created("project", organization.claimed, organization.pk, now, 1)


def _created(kind: str, claimed: datetime | None, place: UUID, now: datetime, number: int) -> None:
    who = "unclaimed" if claimed is None else "claimed"
    count(who, "creations", f"{kind}.{place}", now=now, number=number)
