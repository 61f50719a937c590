"""Results in the admin: reports and alerts, what is measured and what is watched. Images are in ``admin_registry.py``."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from unfold.contrib.filters.admin import AutocompleteSelectFilter
from unfold.decorators import display

from bencher.core.admin import Act, EndlessAdmin, ReadOnlyAdmin, Rows
from outputs import admin_registry as admin_registry
from outputs.models import (
    Alert,
    Benchmark,
    Branch,
    ChangePoint,
    Head,
    HeadVersion,
    Measure,
    Metric,
    Plot,
    Report,
    Testbed,
    Threshold,
    ThresholdModel,
    Version,
)
from outputs.models.reports import Dimension
from outputs.services import alerts, branches, dimensions, plots, reports, thresholds

PROJECT = ("project", AutocompleteSelectFilter)
BY_PROJECT = ("project__name", "project__slug")


# -- dimensions ------------------------------------------------------------------------------------------------------
def _archived(archived: bool) -> Any:
    def call(request: HttpRequest, row: Dimension, now: datetime) -> None:
        if isinstance(row, Branch):
            branches.change_branch(branch=row, name=None, slug=None, archived=archived, start_point=None, now=now)
        else:
            dimensions.change(row, name=None, slug=None, archived=archived, now=now)

    return call


def _delete_dimension(request: HttpRequest, row: Dimension, now: datetime) -> None:
    if isinstance(row, Branch):
        branches.delete_branch(branch=row)
    else:
        dimensions.delete(row)


class DimensionAdmin(ReadOnlyAdmin):
    """A named thing of one project."""

    list_display: tuple[str, ...] = ("name", "project", "standing", "created")
    list_filter: tuple[Any, ...] = (("archived", admin.EmptyFieldListFilter), PROJECT, "created")
    list_select_related: tuple[str, ...] = ("project",)
    search_fields = ("name", "slug", *BY_PROJECT)
    uuid_fields = ("pk", "project")
    ordering = ("name", "id")
    fields: tuple[str, ...] = ("id", "name", "slug", "project", "standing", "created", "modified", "archived")
    acts = (
        Act("archive", "Archive", "archived", _archived(True), "It is left out of lists until a report mentions it again.",
            lambda row: not row.archived),
        Act("unarchive", "Unarchive", "unarchived", _archived(False), "It is in lists again.", lambda row: row.archived),
        Act("remove", "Delete", "deleted", _delete_dimension, "Only what no report and no threshold uses can be deleted.",
            danger=True, gone=True),
    )  # fmt: skip

    @display(description="standing", label={"in use": "success", "archived": "warning"})
    def standing(self, row: Dimension) -> str:
        return "archived" if row.archived else "in use"


class HeadRows(Rows):
    model = Head
    fk_name = "branch"
    fields = ("id", "start_branch", "start_number", "created", "replaced")
    joined = ("start_branch",)
    ordering = ("-created", "-id")


@admin.register(Branch)
class BranchAdmin(DimensionAdmin):
    fields = (*DimensionAdmin.fields, "head")
    inlines = (HeadRows,)


@admin.register(Testbed)
class TestbedAdmin(DimensionAdmin):
    list_display = (*DimensionAdmin.list_display, "spec")
    list_filter = (*DimensionAdmin.list_filter, ("spec", AutocompleteSelectFilter))
    list_select_related = ("project", "spec")
    fields = (*DimensionAdmin.fields, "spec")


@admin.register(Benchmark)
class BenchmarkAdmin(DimensionAdmin):
    pass


@admin.register(Measure)
class MeasureAdmin(DimensionAdmin):
    list_display = (*DimensionAdmin.list_display, "units")
    fields = (*DimensionAdmin.fields, "units")


@admin.register(Version)
class VersionAdmin(EndlessAdmin):
    list_display = ("id", "hash", "project_id")
    list_filter = ()
    search_fields = ("=hash",)
    uuid_fields = ("pk", "project_id")
    search_help_text = "whole hash, or the UUID of a version or project"
    ordering = ("-id",)
    fields = ("id", "hash", "project")


class HeadVersionRows(Rows):
    model = HeadVersion
    fields = ("number", "version", "hash")
    joined = ("version",)
    ordering = ("-number", "-id")
    verbose_name_plural = "versions"
    linked = False

    @display(description="hash")
    def hash(self, row: HeadVersion) -> str | None:
        return row.version.hash


@admin.register(Head)
class HeadAdmin(EndlessAdmin):
    list_display = ("id", "branch", "start_branch", "start_number", "created", "replaced")
    list_filter = (("branch", AutocompleteSelectFilter), "created", ("replaced", admin.EmptyFieldListFilter))
    list_select_related = ("branch", "start_branch")
    search_fields = ("branch__name", "branch__slug")
    uuid_fields = ("pk", "branch")
    ordering = ("-created", "-id")
    fields = ("id", "branch", "start_branch", "start_head", "start_version", "start_number", "created", "replaced")
    inlines = (HeadVersionRows,)


@admin.register(HeadVersion)
class HeadVersionAdmin(EndlessAdmin):
    list_display = ("id", "head", "version", "hash", "number")
    list_select_related = ("head", "version")
    search_fields = ("=version__hash",)
    uuid_fields = ("head", "version")
    ordering = ("-id",)
    fields = ("head", "version", "number")

    @display(description="hash")
    def hash(self, row: HeadVersion) -> str | None:
        return row.version.hash


# -- reports ---------------------------------------------------------------------------------------------------------
def _delete_report(request: HttpRequest, row: Report, now: datetime) -> None:
    reports.delete_report(report=Report.objects.select_related("head").get(pk=row.pk))


class AlertRows(Rows):
    model = Alert
    fields = ("status", "limit", "benchmark", "measure", "value", "modified")
    joined = ("metric__benchmark", "metric__measure")
    ordering = ("status", "-modified", "id")

    @display(description="benchmark")
    def benchmark(self, row: Alert) -> str:
        return row.metric.benchmark.name

    @display(description="measure")
    def measure(self, row: Alert) -> str:
        return row.metric.measure.name

    @display(description="value")
    def value(self, row: Alert) -> float:
        return row.metric.value


@admin.register(Report)
class ReportAdmin(ReadOnlyAdmin):
    list_display = ("id", "project", "branch", "testbed", "adapter", "size", "start_time")
    list_filter = ("adapter", PROJECT, ("testbed", AutocompleteSelectFilter), "start_time")
    list_select_related = ("project", "head__branch", "testbed")
    search_fields = (*BY_PROJECT, "testbed__name", "head__branch__name", "=version__hash")
    search_help_text = "project, branch, testbed, whole hash, or the UUID of a report, project or job"
    uuid_fields = ("pk", "project", "job")
    ordering = ("-start_time", "-id")
    fields = ("id", "project", "user", "branch", "head", "version", "testbed", "spec", "adapter", "job", "size", "verdicts",
              "start_time", "end_time", "created")  # fmt: skip
    inlines = (AlertRows,)
    acts = (
        Act("remove", "Delete", "deleted", _delete_report, "Its metrics and alerts go with it, and later versions move down.",
            danger=True, gone=True),
    )  # fmt: skip

    @display(description="branch", ordering="head__branch__name")
    def branch(self, row: Report) -> str:
        return row.head.branch.name

    def label(self, row: Report) -> str:
        return f"report {row.pk}"


@admin.register(Metric)
class MetricAdmin(EndlessAdmin):
    list_display = ("id", "benchmark", "measure", "iteration", "value", "lower_limit", "upper_limit")
    list_filter = (("benchmark", AutocompleteSelectFilter), ("measure", AutocompleteSelectFilter))
    list_select_related = ("benchmark", "measure")
    search_fields = ("benchmark__name", "measure__name")
    uuid_fields = ("pk", "report", "benchmark", "measure")
    search_help_text = "benchmark, measure, or the UUID of a metric, report, benchmark or measure"
    ordering = ("-id",)
    fields = ("id", "report", "iteration", "benchmark", "measure", "value", "lower_value", "upper_value", "model", "baseline",
              "lower_limit", "upper_limit")  # fmt: skip


# -- watching --------------------------------------------------------------------------------------------------------
def _delete_threshold(request: HttpRequest, row: Threshold, now: datetime) -> None:
    thresholds.delete_threshold(threshold=row)


class ThresholdModelRows(Rows):
    model = ThresholdModel
    fields = ("test", "lower_boundary", "upper_boundary", "min_sample_size", "max_sample_size", "window", "created", "replaced")
    ordering = ("-created", "-id")
    verbose_name_plural = "models"


@admin.register(Threshold)
class ThresholdAdmin(ReadOnlyAdmin):
    list_display = ("id", "project", "branch", "testbed", "measure", "test", "change_points", "created")
    list_filter = ("model__test", "change_points", PROJECT, "created")
    list_select_related = ("project", "branch", "testbed", "measure", "model")
    search_fields = (*BY_PROJECT, "branch__name", "testbed__name", "measure__name")
    uuid_fields = ("pk", "project", "branch", "testbed", "measure")
    ordering = ("-created", "-id")
    fields = ("id", "project", "branch", "testbed", "measure", "test", "change_points", "created", "modified")
    inlines = (ThresholdModelRows,)
    acts = (
        Act("remove", "Delete", "deleted", _delete_threshold, "Only a threshold that judged no stored metric can be deleted.",
            danger=True, gone=True),
    )  # fmt: skip

    @display(description="test", ordering="model__test")
    def test(self, row: Threshold) -> str | None:
        return row.model.test if row.model else None

    def label(self, row: Threshold) -> str:
        return f"threshold {row.pk}"


@admin.register(ThresholdModel)
class ThresholdModelAdmin(ReadOnlyAdmin):
    """Replaced, never changed."""

    list_display = ("id", "threshold", "test", "lower_boundary", "upper_boundary", "window", "created", "replaced")
    list_filter = ("test", ("replaced", admin.EmptyFieldListFilter), "created")
    list_select_related = ("threshold",)
    search_fields = ("=test",)
    uuid_fields = ("pk", "threshold")
    ordering = ("-created", "-id")
    fields = ("id", "threshold", "test", "min_sample_size", "max_sample_size", "window", "lower_boundary", "upper_boundary",
              "created", "replaced")  # fmt: skip


def _status(status: str) -> Any:
    def call(request: HttpRequest, row: Alert, now: datetime) -> None:
        alerts.change_alert(alert=row, status=status, now=now)

    return call


@admin.register(Alert)
class AlertAdmin(ReadOnlyAdmin):
    list_display = ("id", "status_badge", "project", "benchmark", "measure", "limit", "value", "modified")
    list_filter = ("status", "limit", PROJECT, "modified")
    list_select_related = ("project", "metric__benchmark", "metric__measure")
    search_fields = (*BY_PROJECT, "metric__benchmark__name", "metric__measure__name")
    uuid_fields = ("pk", "project", "report", "metric")
    ordering = ("-modified", "-id")
    fields = ("id", "status_badge", "project", "report", "metric", "benchmark", "measure", "limit", "value", "baseline", "modified")
    acts = (
        Act("dismiss", "Dismiss", "dismissed", _status("dismissed"), "Somebody has looked at it.", lambda row: row.status == "active"),
        Act("reactivate", "Reactivate", "active again", _status("active"), "It is listed with the active ones.",
            lambda row: row.status != "active"),
    )  # fmt: skip

    @display(description="status", ordering="status", label={"active": "danger", "dismissed": "success", "silenced": "info"})
    def status_badge(self, row: Alert) -> str:
        return row.status

    @display(description="benchmark", ordering="metric__benchmark__name")
    def benchmark(self, row: Alert) -> str:
        return row.metric.benchmark.name

    @display(description="measure", ordering="metric__measure__name")
    def measure(self, row: Alert) -> str:
        return row.metric.measure.name

    @display(description="value", ordering="metric__value")
    def value(self, row: Alert) -> float:
        return row.metric.value

    @display(description="baseline")
    def baseline(self, row: Alert) -> float | None:
        return row.metric.baseline

    def label(self, row: Alert) -> str:
        return f"alert {row.pk}"


@admin.register(ChangePoint)
class ChangePointAdmin(ReadOnlyAdmin):
    list_display = ("id", "benchmark", "measure", "before", "after", "p_value", "created")
    list_filter = ("created",)
    list_select_related = ("metric__benchmark", "metric__measure")
    search_fields = ("metric__benchmark__name", "metric__measure__name")
    uuid_fields = ("pk", "threshold", "report", "metric")
    ordering = ("-created", "-id")
    fields = ("id", "threshold", "metric", "report", "benchmark", "measure", "before", "after", "p_value", "created")

    @display(description="benchmark", ordering="metric__benchmark__name")
    def benchmark(self, row: ChangePoint) -> str:
        return row.metric.benchmark.name

    @display(description="measure", ordering="metric__measure__name")
    def measure(self, row: ChangePoint) -> str:
        return row.metric.measure.name


def _delete_plot(request: HttpRequest, row: Plot, now: datetime) -> None:
    plots.delete_plot(plot=row)


@admin.register(Plot)
class PlotAdmin(ReadOnlyAdmin):
    list_display = ("id", "title", "project", "x_axis", "y_axis", "window", "created")
    list_filter = ("x_axis", "y_axis", PROJECT, "created")
    list_select_related = ("project",)
    search_fields = ("title", *BY_PROJECT)
    uuid_fields = ("pk", "project")
    ordering = ("project", "rank", "id")
    fields = ("id", "title", "project", "rank", "lower_value", "upper_value", "lower_boundary", "upper_boundary", "x_axis", "y_axis",
              "window", "branches", "testbeds", "benchmarks", "measures", "created", "modified")  # fmt: skip
    acts = (Act("remove", "Delete", "deleted", _delete_plot, "The pinned plot only; its data stays.", danger=True, gone=True),)

    def label(self, row: Plot) -> str:
        return row.title or f"plot {row.pk}"
