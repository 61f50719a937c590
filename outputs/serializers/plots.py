"""What REST shows of pinned plots (rest.md 5.4)."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

import msgspec

from bencher.core.api import ts
from bencher.core.newtypes import Moment
from outputs.models import Plot


class JsonPlot(msgspec.Struct):
    uuid: UUID
    project: UUID
    title: str | None
    lower_value: bool
    upper_value: bool
    lower_boundary: bool
    upper_boundary: bool
    x_axis: Literal["date_time", "version"]
    y_axis: Literal["auto", "linear", "log"]
    window: int
    branches: list[UUID]
    testbeds: list[UUID]
    benchmarks: list[UUID]
    measures: list[UUID]
    created: Moment
    modified: Moment


def plot_json(row: Plot) -> JsonPlot:
    x_axis: Any = row.x_axis
    y_axis: Any = row.y_axis
    return JsonPlot(
        row.id,
        row.project_id,
        row.title,
        row.lower_value,
        row.upper_value,
        row.lower_boundary,
        row.upper_boundary,
        x_axis,
        y_axis,
        row.window,
        [UUID(item) for item in row.branches],
        [UUID(item) for item in row.testbeds],
        [UUID(item) for item in row.benchmarks],
        [UUID(item) for item in row.measures],
        ts(row.created),
        ts(row.modified),
    )
