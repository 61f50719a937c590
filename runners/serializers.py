"""What REST shows of a runner (rest.md 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from django.conf import settings

from bencher.core import hooks
from bencher.core.api import ts, ts_or_none
from bencher.core.newtypes import Moment
from runners.models import Runner
from runners.state import RunnerState, state_of


class JsonRunner(msgspec.Struct):
    uuid: UUID
    name: str
    slug: str
    specs: list[UUID]
    archived: Moment | None
    last_heartbeat: Moment | None
    """Its last sign of life."""
    created: Moment
    modified: Moment
    state: RunnerState
    """Ours: what it is doing."""


class JsonRunnerKey(msgspec.Struct):
    """The key itself: shown this once."""

    uuid: UUID
    key: str


def runners_json(rows: Sequence[Runner], *, now: datetime) -> list[JsonRunner]:
    """``runner_specs`` of the rows are prefetched; one more query for all of them."""
    busy = hooks.busy_runners(runner_ids=[row.pk for row in rows])
    return [_runner_json(row, row.pk in busy, now) for row in rows]


def _runner_json(row: Runner, busy: bool, now: datetime) -> JsonRunner:
    silence = timedelta(seconds=settings.BENCHER_HEARTBEAT_TIMEOUT)
    return JsonRunner(
        row.id,
        row.name,
        row.slug,
        [link.spec_id for link in row.runner_specs.all()],
        ts_or_none(row.archived),
        ts_or_none(row.last_heartbeat),
        ts(row.created),
        ts(row.modified),
        state_of(archived=row.archived is not None, busy=busy, last_heartbeat=row.last_heartbeat, now=now, silence=silence),
    )
