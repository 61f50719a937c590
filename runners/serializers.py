"""What REST shows of a runner (rest.md 4.1)."""

from __future__ import annotations

from uuid import UUID

import msgspec

from bencher.core.api import ts, ts_or_none
from bencher.core.newtypes import Moment
from runners.models import Runner


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


class JsonRunnerKey(msgspec.Struct):
    """The key itself: shown this once."""

    uuid: UUID
    key: str


def runner_json(row: Runner) -> JsonRunner:
    """``row.runner_specs`` is prefetched."""
    return JsonRunner(
        row.id,
        row.name,
        row.slug,
        [link.spec_id for link in row.runner_specs.all()],
        ts_or_none(row.archived),
        ts_or_none(row.last_heartbeat),
        ts(row.created),
        ts(row.modified),
    )
