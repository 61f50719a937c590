"""Reads of runners."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Prefetch, QuerySet

from bencher.core.errors import Missing
from bencher.core.ids import as_uuid
from bencher.specs.models import Spec
from runners.models import Runner, RunnerSpec


def runners() -> QuerySet[Runner]:
    """All runners, the UUIDs of their specs prefetched (one query for any number)."""
    return Runner.objects.prefetch_related(
        Prefetch("runner_specs", RunnerSpec.objects.order_by("created", "id").only("runner_id", "spec_id"))
    )


def get_runner(resource_id: str) -> Runner:
    value = as_uuid(resource_id)
    found = runners().filter(**({"slug": resource_id} if value is None else {"id": value})).first()
    if found is None:
        raise Missing("no such runner")
    return found


def specs_of(runner: Runner) -> list[Spec]:
    """The specs that the runner serves, in the order in which they were attached."""
    return [link.spec for link in RunnerSpec.objects.select_related("spec").filter(runner=runner).order_by("created", "id")]


def spec_has_runners(*, spec_id: UUID) -> bool:
    return RunnerSpec.objects.filter(spec_id=spec_id).exists()
