"""Reads of specs."""

from __future__ import annotations

from bencher.core.errors import Missing
from bencher.core.ids import as_uuid
from bencher.specs.models import Spec


def find_spec(resource_id: str) -> Spec | None:
    """The spec of that UUID or slug, archived or not."""
    value = as_uuid(resource_id)
    return Spec.objects.filter(**({"slug": resource_id} if value is None else {"id": value})).first()


def get_spec(resource_id: str) -> Spec:
    if (found := find_spec(resource_id)) is None:
        raise Missing("no such spec")
    return found


def fallback_spec() -> Spec | None:
    """The spec that serves jobs which name none."""
    return Spec.objects.filter(fallback__isnull=False, archived=None).order_by("-fallback", "id").first()
