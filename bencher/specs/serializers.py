"""What REST shows of a spec (rest.md 4.2)."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

import msgspec

from bencher.core.api import ts, ts_or_none
from bencher.core.newtypes import Moment
from bencher.specs.models import Spec


class JsonSpec(msgspec.Struct):
    uuid: UUID
    name: str
    slug: str
    os: Literal["linux", "macos", "windows"]
    architecture: Literal["x86_64", "aarch64"]
    sandbox: Literal["firecracker"] | None
    cpu: int
    memory: int
    disk: int
    network: bool
    fallback: Moment | None
    created: Moment
    modified: Moment
    archived: Moment | None


def spec_json(row: Spec) -> JsonSpec:
    os: Any = row.os
    architecture: Any = row.architecture
    sandbox: Any = row.sandbox
    return JsonSpec(
        row.id,
        row.name,
        row.slug,
        os,
        architecture,
        sandbox,
        row.cpu,
        row.memory,
        row.disk,
        row.network,
        ts_or_none(row.fallback),
        ts(row.created),
        ts(row.modified),
        ts_or_none(row.archived),
    )


def spec_json_or_none(row: Spec | None) -> JsonSpec | None:
    return None if row is None else spec_json(row)
