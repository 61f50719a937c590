"""The conditional UPDATE that every change of a status goes through (design.md section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from django.db import models

from bencher.core.compiled import CompiledUpdate, Slot


@dataclass(frozen=True, slots=True)
class Transition:
    """``name``: what happens; ``sources``: statuses from which it may; ``target``: the status afterwards."""

    name: str
    sources: frozenset[str]
    target: str


class TransitionRefused(Exception):
    """``action`` is not possible while the row is ``current``."""

    def __init__(self, action: str, current: str | None) -> None:
        super().__init__(f"{action} is not possible: it is {current or 'gone'}")
        self.action, self.current = action, current


def compare_and_swap(
    model: type[models.Model],
    pk: Any,
    transition: Transition,
    *,
    now: datetime,
    guards: dict[str, Any] | None = None,
    changes: dict[str, Any] | None = None,
) -> bool:
    """One UPDATE of one row, if its status is one of the sources and every guard holds.

    Guards are columns of that row only: a guard on a related row would move the filter into a subquery, which PostgreSQL does not check again after
    waiting for the row.
    """
    guards = guards or {}
    columns = {field.name for field in model._meta.concrete_fields} | {field.attname for field in model._meta.concrete_fields}
    if foreign := [
        name
        for name in guards
        if name.split("__", 1)[0] not in columns or ("__" in name and name.split("__")[1] not in ("isnull", "in", "lt", "lte", "gt", "gte"))
    ]:
        raise ValueError(f"guards must be columns of {model.__name__}: {foreign}")
    values = {"status": transition.target, "modified": now, **(changes or {})}
    fixed = {name: value for name, value in guards.items() if value is None or name.endswith("__isnull")}
    if any(name.endswith("__in") or isinstance(value, models.Model) for name, value in guards.items()):
        return model._base_manager.filter(pk=pk, status__in=transition.sources, **guards).update(**values) == 1
    slots = {name: value for name, value in guards.items() if name not in fixed}
    statement = _statement(model, transition.sources, tuple(slots), tuple(fixed.items()), tuple(values))
    return statement.run({"pk": pk, **slots}, values) == 1


@cache
def _statement(
    model: type[models.Model], sources: frozenset[str], slots: tuple[str, ...], fixed: tuple[tuple[str, Any], ...], names: tuple[str, ...]
) -> CompiledUpdate:
    """The UPDATE, compiled once for each form of it: there are a few for each transition."""
    guards = {**dict(fixed), **{name: Slot(name) for name in slots}}
    return CompiledUpdate(lambda: model._base_manager.filter(pk=Slot("pk"), status__in=sorted(sources), **guards), names)
