"""Changing single rows: which columns, and which sentence when a value is taken."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import IntegrityError, models, transaction

from bencher.core.errors import Clash


def change(row: models.Model, values: dict[str, Any], *, now: datetime, clash: str) -> None:
    """Write ``values`` and ``modified`` into the row; a unique value that is taken is a Clash with the text ``clash``, and changes nothing."""
    if not values:
        return
    before = {name: getattr(row, name) for name in values}
    for name, value in values.items():
        setattr(row, name, value)
    stamped = hasattr(row, "modified")
    if stamped:
        setattr(row, "modified", now)  # noqa: B010  (not every model has it)
    try:
        with transaction.atomic():
            row.save(update_fields=[*values, *(["modified"] if stamped else [])])
    except IntegrityError:
        for name, value in before.items():
            setattr(row, name, value)
        raise Clash(clash) from None
