"""Registering bench machines, their keys and their specs (rest.md 4.1)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from bencher.core.errors import Clash, Missing
from bencher.core.ids import key_hash, new_key, slugify, uuid7
from bencher.core.saving import change
from bencher.specs.models import Spec
from runners.models import Runner, RunnerSpec

RUNNER_KEY = "bencher_runner_"
TAKEN = "a runner of this name or slug exists already"


def create_runner(*, name: str, slug: str | None, now: datetime) -> tuple[Runner, str]:
    """(the runner, its key in clear, shown this once). Runners get no suffix: a slug that is taken is a Clash."""
    key = new_key(RUNNER_KEY)
    pk = uuid7()
    try:
        with transaction.atomic():
            runner = Runner.objects.create(
                id=pk, name=name, slug=slug or slugify(name) or str(pk), key_hash=key_hash(key), created=now, modified=now
            )
    except IntegrityError:
        raise Clash(TAKEN) from None
    return runner, key


def change_runner(*, runner: Runner, values: dict[str, Any], now: datetime) -> Runner:
    """Change ``name``, ``slug`` and ``archived`` (bool). An archived runner's key is refused until it is unarchived."""
    changes: dict[str, Any] = {name: values[name] for name in ("name", "slug") if name in values}
    archived = values.get("archived")
    if archived is not None and archived != (runner.archived is not None):
        changes["archived"] = now if archived else None
    change(runner, changes, now=now, clash=TAKEN)
    return runner


def rotate_key(*, runner: Runner, now: datetime) -> str:
    """A new key; the old one is refused from now on. Clash for an archived runner."""
    key = new_key(RUNNER_KEY)
    if Runner.objects.filter(pk=runner.pk, archived=None).update(key_hash=key_hash(key), modified=now) == 0:
        raise Clash("the runner is archived: unarchive it first")
    return key


def attach_spec(*, runner: Runner, spec: Spec, now: datetime) -> None:
    """Let the runner take jobs of that spec; Clash when it does already."""
    try:
        with transaction.atomic():
            RunnerSpec.objects.create(runner=runner, spec=spec, created=now)
    except IntegrityError:
        raise Clash("the runner has this spec already") from None


def detach_spec(*, runner: Runner, spec: Spec | None) -> None:
    """Let the runner take no more jobs of that spec; Missing when it took none."""
    if spec is None or RunnerSpec.objects.filter(runner=runner, spec=spec).delete()[0] == 0:
        raise Missing("the runner does not have this spec")
