"""Making, changing and deleting specs; at most one is the fallback (rest.md 4.2)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import ProtectedError

from bencher.core import hooks
from bencher.core.errors import Clash, Missing
from bencher.core.saving import change
from bencher.core.slugs import create_with_slug
from bencher.specs.models import Spec

IN_USE = "the spec is in use by a runner or a job"


def create_spec(*, name: str, slug: str | None, hardware: dict[str, Any], fallback: bool, now: datetime) -> Spec:
    """A new spec of that ``hardware`` (os, architecture, sandbox, cpu, memory, disk, network); as fallback it replaces the former one."""
    with transaction.atomic():
        if fallback:
            _clear_fallback(now)
        since = now if fallback else None
        return create_with_slug(Spec, slug=slug, name=name, fallback=since, created=now, modified=now, **hardware)


def change_spec(*, spec: Spec, values: dict[str, Any], now: datetime) -> Spec:
    """Change ``name``, ``slug``, ``fallback`` and ``archived`` (both bool). Archiving ends the fallback and detaches testbeds; it wins over ``fallback``."""
    with transaction.atomic():
        changes: dict[str, Any] = {name: values[name] for name in ("name", "slug") if name in values}
        archived = values.get("archived")
        if archived is not None and archived != (spec.archived is not None):
            changes["archived"] = now if archived else None
        ends_archived = spec.archived is not None if archived is None else archived
        fallback = values.get("fallback")
        if ends_archived or fallback is False:
            changes["fallback"] = None
        elif fallback:
            _clear_fallback(now, but=spec)
            changes["fallback"] = spec.fallback or now
        change(spec, changes, now=now, clash="this slug is used already")
        if changes.get("archived"):
            hooks.spec_archived(spec_id=spec.pk, now=now)
    return spec


def delete_spec(*, spec: Spec) -> None:
    """Erase a spec that neither a runner nor a job refers to; testbeds and reports lose the link."""
    with transaction.atomic():
        if hooks.spec_has_runners(spec_id=spec.pk) or hooks.spec_has_jobs(spec_id=spec.pk):
            raise Clash(IN_USE)
        try:
            deleted, _ = spec.delete()
        except ProtectedError:
            raise Clash(IN_USE) from None
        if not deleted:
            raise Missing("no such spec")


def _clear_fallback(now: datetime, but: Spec | None = None) -> None:
    """No other spec is the fallback from here on, also against others who set one at this moment."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f'LOCK TABLE "{Spec._meta.db_table}" IN SHARE ROW EXCLUSIVE MODE')
    others = Spec.objects.filter(fallback__isnull=False)
    if but is not None:
        others = others.exclude(pk=but.pk)
    others.update(fallback=None, modified=now)
