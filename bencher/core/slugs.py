"""Rows with a slug that nobody else has, made under competition (rest.md 0.6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from django.db import IntegrityError, models, transaction

from bencher.core.ids import slugify, suffixed

M = TypeVar("M", bound=models.Model)
_ATTEMPTS = 5


def create_with_slug(model: type[M], *, slug: str | None, scope: Mapping[str, Any] | None = None, **values: Any) -> M:
    """A new row whose slug is ``slug``, else made of ``values["name"]``; a suffix is added when it is taken within ``scope``.

    ``scope``: the columns within which slugs are unique, ``{"project": project}``; they are set on the row too. Any other unique clash stays an
    IntegrityError. Usable inside and outside a transaction.
    """
    scope = dict(scope or {})
    base = slug or slugify(values["name"])
    wanted = base or suffixed("")
    for _ in range(_ATTEMPTS):
        if model._default_manager.filter(slug=wanted, **scope).exists():
            wanted = suffixed(base)
        try:
            with transaction.atomic():
                return model._default_manager.create(slug=wanted, **scope, **values)
        except IntegrityError:
            if not model._default_manager.filter(slug=wanted, **scope).exists():
                raise
    raise IntegrityError(f"no free slug like {base}")
