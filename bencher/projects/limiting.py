"""Counting what callers do against the limits of the setting (``bencher/core/ratelimits.py``)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.conf import settings

from bencher.core.client_ip import client_ip
from bencher.core.ratelimits import count
from bencher.projects.authentication import Caller


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
