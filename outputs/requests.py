"""What callers send about results (rest.md 2.1, 2.4, 2.7, 2.9, 5.2-5.7): the same structs are request bodies and arguments of services. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal, Protocol
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from bencher.core.newtypes import U32, BenchmarkName, GitHash, NameId, PositiveU32, ResourceId, ResourceName, Slug, Timestamp
from outputs.adapters.parse import ADAPTERS, ALIASES
from outputs.names import BranchName

if TYPE_CHECKING:
    AdapterName = str
else:
    AdapterName = Literal[(*ADAPTERS, *ALIASES)]

Average = Literal["mean", "median"]
Fold = Literal["min", "max", "mean", "median"]
TestName = Literal["static", "percentage", "z_score", "t_test", "log_normal", "iqr", "delta_iqr", "z", "t"]
MAX_VERSIONS = 255


class StartPoint(msgspec.Struct, kw_only=True):
    """Where a branch starts: the newest ``max_versions`` versions of ``branch`` up to ``hash``; ``reset`` begins a new head in any case."""

    branch: NameId | None = None
    hash: GitHash | None = None
    max_versions: U32 | None = None
    clone_thresholds: bool | None = None
    reset: bool | None = None


class ModelParts(msgspec.Struct, kw_only=True):
    """The parts of a threshold's model beside its test. ``window`` in seconds."""

    min_sample_size: PositiveU32 | None = None
    max_sample_size: PositiveU32 | None = None
    window: PositiveU32 | None = None
    lower_boundary: float | None = None
    upper_boundary: float | None = None


class NewModel(ModelParts, kw_only=True):
    test: TestName


class Thresholds(msgspec.Struct, kw_only=True):
    """For the report's branch and testbed: models by measure; ``reset`` takes the model from every other threshold."""

    models: dict[NameId, NewModel] | None = None
    reset: bool | None = None


class Settings(msgspec.Struct, kw_only=True):
    adapter: AdapterName | None = None
    average: Average | None = None
    fold: Fold | None = None


class NewReport(msgspec.Struct, kw_only=True):
    """``POST …/reports``: local results of an existing project."""

    branch: NameId
    hash: GitHash | None = None
    start_point: StartPoint | None = None
    testbed: NameId
    thresholds: Thresholds | None = None
    start_time: Timestamp
    end_time: Timestamp
    results: list[str]
    settings: Settings | None = None

    @property
    def branch_name(self) -> str:
        return self.branch

    @property
    def commit(self) -> str | None:
        return self.hash

    @property
    def local_testbed(self) -> str:
        return self.testbed

    @property
    def idempotency_key(self) -> None:
        return None

    @property
    def spec_reset(self) -> None:
        return None


class LocalRun(Protocol):
    """Local results, through whichever door they came: defaults are filled in."""

    @property
    def branch_name(self) -> str: ...
    @property
    def commit(self) -> str | None: ...
    @property
    def start_point(self) -> StartPoint | None: ...
    @property
    def local_testbed(self) -> str: ...
    @property
    def spec_reset(self) -> bool | None: ...
    @property
    def thresholds(self) -> Thresholds | None: ...
    @property
    def start_time(self) -> datetime: ...
    @property
    def end_time(self) -> datetime: ...
    @property
    def results(self) -> list[str]: ...
    @property
    def settings(self) -> Settings | None: ...
    @property
    def idempotency_key(self) -> UUID | None: ...


# -- dimensions -----------------------------------------------------------------------------------------------------
class NewBranch(msgspec.Struct, kw_only=True):
    name: BranchName
    slug: Slug | None = None
    start_point: StartPoint | None = None


class NewTestbed(msgspec.Struct, kw_only=True):
    name: ResourceName
    slug: Slug | None = None
    spec: ResourceId | None = None


class NewBenchmark(msgspec.Struct, kw_only=True):
    name: BenchmarkName
    slug: Slug | None = None


class NewMeasure(msgspec.Struct, kw_only=True):
    name: ResourceName
    slug: Slug | None = None
    units: ResourceName


class BranchChange(msgspec.Struct, kw_only=True):
    name: BranchName | None = None
    slug: Slug | None = None
    archived: bool | None = None
    start_point: StartPoint | None = None


class TestbedChange(msgspec.Struct, kw_only=True):
    """``spec: null`` clears, its absence keeps."""

    name: ResourceName | None = None
    slug: Slug | None = None
    archived: bool | None = None
    spec: ResourceId | UnsetType | None = UNSET


class BenchmarkChange(msgspec.Struct, kw_only=True):
    name: BenchmarkName | None = None
    slug: Slug | None = None
    archived: bool | None = None


class MeasureChange(msgspec.Struct, kw_only=True):
    name: ResourceName | None = None
    slug: Slug | None = None
    units: ResourceName | None = None
    archived: bool | None = None


# -- thresholds, alerts ---------------------------------------------------------------------------------------------
class NewThreshold(NewModel, kw_only=True):
    branch: NameId
    testbed: NameId
    measure: NameId
    change_points: bool | None = None
    """An extension: look for lasting changes of level too."""


class ThresholdChange(ModelParts, kw_only=True):
    """``test: null`` removes the model; the other parts are ignored then."""

    test: TestName | None
    change_points: bool | None = None


class AlertChange(msgspec.Struct, kw_only=True):
    status: Literal["active", "dismissed"] | None = None


# -- plots ----------------------------------------------------------------------------------------------------------
PlotIndex = Annotated[int, msgspec.Meta(ge=0, le=64)]
XAxis = Literal["date_time", "version"]
YAxis = Literal["auto", "linear", "log"]
Some = Annotated[list[UUID], msgspec.Meta(min_length=1)]


class NewPlot(msgspec.Struct, kw_only=True):
    index: PlotIndex | None = None
    title: ResourceName | None = None
    lower_value: bool
    upper_value: bool
    lower_boundary: bool
    upper_boundary: bool
    x_axis: XAxis
    y_axis: YAxis | None = None
    window: PositiveU32
    branches: Some
    testbeds: Some
    benchmarks: Some
    measures: Some


class PlotChange(msgspec.Struct, kw_only=True):
    """``title: null`` clears, its absence keeps."""

    index: PlotIndex | None = None
    title: ResourceName | UnsetType | None = UNSET
    lower_value: bool | None = None
    upper_value: bool | None = None
    lower_boundary: bool | None = None
    upper_boundary: bool | None = None
    x_axis: XAxis | None = None
    y_axis: YAxis | None = None
    window: PositiveU32 | None = None
    branches: Some | None = None
    testbeds: Some | None = None
    benchmarks: Some | None = None
    measures: Some | None = None
