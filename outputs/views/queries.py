"""Query strings of the results' routes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

import msgspec
from django.db.models import QuerySet

from bencher.core.api import Listing, Page
from bencher.core.ids import as_uuid
from bencher.core.newtypes import UUID_PATTERN, Checked, NameId
from bencher.projects.models import Project
from outputs.models import Report, Threshold
from outputs.selectors import reports, thresholds
from outputs.selectors.perf import Wanted


class _Moment(Checked):
    """Whole milliseconds since 1970, as a moment."""

    python = datetime
    schema = {"type": "integer", "minimum": 0, "maximum": 253_402_300_799_999}

    @classmethod
    def check(cls, text: str) -> datetime:
        try:
            if not text.isascii() or not text.isdigit() or len(text) > 16:
                raise ValueError
            return datetime.fromtimestamp(int(text) / 1000, UTC)
        except (ValueError, OverflowError, OSError):
            raise ValueError("expected whole milliseconds since 1970") from None


class _Uuids(Checked):
    """UUIDs between commas; at least one."""

    python = list
    schema = {"type": "string", "pattern": f"^{UUID_PATTERN}(,{UUID_PATTERN})*$", "description": "UUIDs between commas"}
    optional = False

    @classmethod
    def check(cls, text: str) -> list[UUID | None]:
        items: list[UUID | None] = []
        for item in text.split(","):
            if not item and cls.optional:
                items.append(None)
                continue
            if (uuid := as_uuid(item)) is None:
                raise ValueError("expected UUIDs between commas")
            items.append(uuid)
        return items


class _OptionalUuids(_Uuids):
    """UUIDs between commas, some of which may be left out."""

    schema = {
        "type": "string",
        "pattern": f"^({UUID_PATTERN})?(,({UUID_PATTERN})?)*$",
        "description": "UUIDs between commas; items may be empty",
    }
    optional = True


if TYPE_CHECKING:
    Milliseconds = datetime
    Uuids = list[UUID]
    OptionalUuids = list[UUID | None]
else:
    Milliseconds, Uuids, OptionalUuids = _Moment, _Uuids, _OptionalUuids


class DimensionList(Listing, kw_only=True):
    sort: Literal["name"] = "name"
    archived: bool = False


class ReportList(Page, kw_only=True):
    sort: Literal["date_time"] = "date_time"
    branch: NameId | None = None
    testbed: NameId | None = None
    start_time: Milliseconds | None = None
    end_time: Milliseconds | None = None
    archived: bool = False
    expand: bool = False

    def listed(self, project: Project) -> QuerySet[Report]:
        return reports.listed(
            project,
            branch=self.branch,
            testbed=self.testbed,
            start_time=self.start_time,
            end_time=self.end_time,
            archived=self.archived,
            direction=self.direction,
        )


class ThresholdList(Page, kw_only=True):
    sort: Literal["created", "modified"] = "created"
    branch: NameId | None = None
    testbed: NameId | None = None
    measure: NameId | None = None
    archived: bool = False

    def listed(self, project: Project) -> QuerySet[Threshold]:
        return thresholds.listed_thresholds(
            project,
            branch=self.branch,
            testbed=self.testbed,
            measure=self.measure,
            archived=self.archived,
            sort=self.sort,
            direction=self.direction,
        )


class AlertList(Page, kw_only=True):
    sort: Literal["modified", "created"] = "modified"
    status: Literal["active", "dismissed", "silenced"] | None = None
    archived: bool = False

    def listed(self, project: Project) -> QuerySet[Any]:
        return thresholds.listed_alerts(project, status=self.status, archived=self.archived, sort=self.sort, direction=self.direction)


class PlotList(Page, kw_only=True):
    sort: Literal["index", "title"] = "index"
    title: str | None = None
    search: str | None = None


class OneBranchQuery(msgspec.Struct, kw_only=True):
    head: UUID | None = None


class OneTestbedQuery(msgspec.Struct, kw_only=True):
    spec: UUID | None = None


class OneThresholdQuery(msgspec.Struct, kw_only=True):
    model: UUID | None = None


class PerfQuery(msgspec.Struct, kw_only=True):
    branches: Uuids
    heads: OptionalUuids | None = None
    testbeds: Uuids
    specs: OptionalUuids | None = None
    benchmarks: Uuids
    measures: Uuids
    start_time: Milliseconds | None = None
    end_time: Milliseconds | None = None


class PerfImageQuery(PerfQuery, kw_only=True):
    title: str | None = None


def wanted(query: PerfQuery) -> Wanted:
    """What the selector takes."""
    return Wanted(
        query.branches,
        query.heads or (),
        query.testbeds,
        query.specs or (),
        query.benchmarks,
        query.measures,
        query.start_time,
        query.end_time,
    )


__all__ = [
    "AlertList",
    "DimensionList",
    "OneBranchQuery",
    "OneTestbedQuery",
    "OneThresholdQuery",
    "PerfImageQuery",
    "PerfQuery",
    "PlotList",
    "ReportList",
    "ThresholdList",
    "wanted",
]
