"""What REST shows of branches, testbeds, benchmarks and measures (rest.md 2.8)."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from bencher.core.api import ts, ts_or_none
from bencher.core.newtypes import Moment
from bencher.specs.models import Spec
from bencher.specs.serializers import JsonSpec, spec_json_or_none
from outputs.models import Benchmark, Branch, Head, Measure, Testbed


class JsonVersion(msgspec.Struct, gc=False):
    number: int
    hash: str | None


class JsonStartPoint(msgspec.Struct):
    branch: UUID
    head: UUID
    version: JsonVersion


class JsonHead(msgspec.Struct):
    uuid: UUID
    start_point: JsonStartPoint | None
    version: JsonVersion | None
    created: Moment
    replaced: Moment | None


class JsonBranch(msgspec.Struct):
    uuid: UUID
    project: UUID
    name: str
    slug: str
    head: JsonHead
    created: Moment
    modified: Moment
    archived: Moment | None


class JsonTestbed(msgspec.Struct):
    uuid: UUID
    project: UUID
    name: str
    slug: str
    spec: JsonSpec | None
    created: Moment
    modified: Moment
    archived: Moment | None


class JsonBenchmark(msgspec.Struct):
    uuid: UUID
    project: UUID
    name: str
    slug: str
    created: Moment
    modified: Moment
    archived: Moment | None


class JsonMeasure(msgspec.Struct):
    uuid: UUID
    project: UUID
    name: str
    slug: str
    units: str
    created: Moment
    modified: Moment
    archived: Moment | None


def head_json(head: Head, version: JsonVersion | None = None) -> JsonHead:
    """``head.start_version`` is loaded. A start point whose versions were all deleted is none."""
    start = None
    if head.start_branch_id and head.start_head_id and head.start_version is not None and head.start_number is not None:
        start = JsonStartPoint(head.start_branch_id, head.start_head_id, JsonVersion(head.start_number, head.start_version.hash))
    return JsonHead(head.id, start, version, ts(head.created), ts_or_none(head.replaced))


def branch_json(row: Branch, head: Head | None = None, version: JsonVersion | None = None) -> JsonBranch:
    """``row.head`` with its ``start_version`` is loaded; another ``head`` is shown instead of the current one, with ``version``."""
    shown: Any = head or row.head
    return JsonBranch(
        row.id,
        row.project_id,
        row.name,
        row.slug,
        head_json(shown, version),
        ts(row.created),
        ts(row.modified),
        ts_or_none(row.archived),
    )


def testbed_json(row: Testbed, spec: Spec | None) -> JsonTestbed:
    """With ``spec`` shown in it: the stored one, a report's, or none."""
    return JsonTestbed(
        row.id,
        row.project_id,
        row.name,
        row.slug,
        spec_json_or_none(spec),
        ts(row.created),
        ts(row.modified),
        ts_or_none(row.archived),
    )


def stored_testbed_json(row: Testbed) -> JsonTestbed:
    """With the spec that it remembers, which is loaded."""
    return testbed_json(row, row.spec)


def benchmark_json(row: Benchmark) -> JsonBenchmark:
    return benchmark_row_json(row.id, row.project_id, row.name, row.slug, row.created, row.modified, row.archived)


def benchmark_row_json(
    id: UUID, project: UUID, name: str, slug: str, created: datetime, modified: datetime, archived: datetime | None
) -> JsonBenchmark:
    """The same of a benchmark's columns."""
    return JsonBenchmark(id, project, name, slug, ts(created), ts(modified), ts_or_none(archived))


def measure_json(row: Measure) -> JsonMeasure:
    return measure_row_json(row.id, row.project_id, row.name, row.slug, row.units, row.created, row.modified, row.archived)


def measure_row_json(
    id: UUID, project: UUID, name: str, slug: str, units: str, created: datetime, modified: datetime, archived: datetime | None
) -> JsonMeasure:
    """The same of a measure's columns."""
    return JsonMeasure(id, project, name, slug, units, ts(created), ts(modified), ts_or_none(archived))
