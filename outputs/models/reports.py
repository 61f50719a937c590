"""Reports and the dimensions they are measured in (rest.md 2.4, 2.8, 5.2, 5.3)."""

from __future__ import annotations

from typing import Any

from django.db import models

from bencher.core.figures import figure
from bencher.core.ids import uuid7
from bencher.projects.models import Project, User
from bencher.specs.models import Spec


class Dimension(models.Model):
    """A named thing of one project."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=64)
    slug = models.CharField(max_length=64)
    created = models.DateTimeField()
    modified = models.DateTimeField()
    archived = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True
        ordering = ("name", "id")
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="%(class)s_name_in_project"),
            models.UniqueConstraint(fields=["project", "slug"], name="%(class)s_slug_in_project"),
        ]

    def __str__(self) -> str:
        return self.name


class Branch(Dimension):
    name = models.CharField(max_length=256)
    head = models.ForeignKey("Head", null=True, on_delete=models.PROTECT, related_name="+")
    """The current head; made in the same transaction as the branch, never null outside it."""

    @property
    def current_head(self) -> Head:
        if self.head is None:
            raise RuntimeError(f"branch {self.pk} has no head")
        return self.head


class Testbed(Dimension):
    spec = models.ForeignKey(Spec, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")


class Benchmark(Dimension):
    name = models.CharField(max_length=1024)


class Measure(Dimension):
    units = models.CharField(max_length=64)


class Version(models.Model):
    """One state of the code, with the commit's hash when it was given. Several heads may count it among theirs."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+", db_index=False)
    hash = models.CharField(max_length=40, null=True, blank=True)

    class Meta:
        ordering = ("id",)
        indexes = [models.Index(fields=["project", "hash"], name="version_by_hash")]

    def __str__(self) -> str:
        return self.hash or f"version {self.id}"


class Head(models.Model):
    """One life of a branch: an ordered list of versions, those of its start point first.

    ``start_version`` is null when there is no start point, or when everything it started from was deleted.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    branch = models.ForeignKey(Branch, on_delete=models.CASCADE, related_name="heads")
    start_branch = models.ForeignKey(Branch, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    start_head = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    start_version = models.ForeignKey(Version, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    start_number = models.PositiveIntegerField(null=True, blank=True)
    """Of ``start_version`` in ``start_head``."""
    created = models.DateTimeField()
    replaced = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("created", "id")

    def __str__(self) -> str:
        return f"head of branch {self.branch_id}, made {self.created:%Y-%m-%d %H:%M:%S}"


class HeadVersion(models.Model):
    """``version`` counts as history of ``head``, as its number ``number`` (from 0)."""

    id = models.BigAutoField(primary_key=True)
    head = models.ForeignKey(Head, on_delete=models.CASCADE, related_name="head_versions", db_index=False)
    version = models.ForeignKey(Version, on_delete=models.CASCADE, related_name="head_versions")
    number = models.PositiveIntegerField()

    class Meta:
        ordering = ("number", "id")
        constraints = [models.UniqueConstraint(fields=["head", "version"], name="version_once_in_a_head")]
        indexes = [models.Index(fields=["head", "-number"], name="head_history")]

    def __str__(self) -> str:
        return f"version {self.number} of head {self.head_id}"


class Report(models.Model):
    """One delivery of results, local or by a job."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="reports", db_index=False)
    user = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    idempotency_key = models.UUIDField(null=True, blank=True)
    head = models.ForeignKey(Head, on_delete=models.PROTECT, related_name="reports")
    version = models.ForeignKey(Version, on_delete=models.PROTECT, related_name="reports", db_index=False)
    testbed = models.ForeignKey(Testbed, on_delete=models.PROTECT, related_name="reports")
    spec = models.ForeignKey(Spec, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    adapter = models.CharField(max_length=32)
    start_time = models.DateTimeField()
    end_time = models.DateTimeField()
    created = models.DateTimeField()
    job = models.UUIDField(null=True, blank=True)
    """The job that this report is of; a plain column, since jobs lie above outputs."""
    size = models.PositiveIntegerField(default=0)
    """Number of metrics."""
    counts = models.JSONField(default=list, blank=True)
    """``[benchmarks, distinct measures]`` of each iteration that has metrics, in order: metrics never change, so lists need not count them."""
    verdicts = models.JSONField(default=list, blank=True)
    """What a reader would miss in the numbers (docs/results.md): list of objects with ``kind`` and ``message``."""
    written: Any = None
    """No column: what this very object was just written with (``selectors.reports.Written``), so that an answer need not read it back."""

    class Meta:
        ordering = ("-start_time", "-end_time", "-created", "-id")
        constraints = [models.UniqueConstraint(fields=["project", "idempotency_key"], name="idempotency_key_in_project")]
        indexes = [
            models.Index(fields=["project", "-start_time", "-end_time", "-created", "-id"], name="report_list"),
            models.Index(fields=["version", "testbed"], name="report_of_version"),
        ]

    def __str__(self) -> str:
        return f"report of {self.start_time:%Y-%m-%d %H:%M:%S}"


class Metric(models.Model):
    """One value of one measure of one benchmark in one iteration of a report, and the boundary that was drawn for it.

    ``model`` is the test that judged it, null when no threshold applied. The three limits are all null when there was too little history. The boundary
    lives in the same row because the two are always written and read together: a report of 10 000 metrics is one bulk insert instead of two.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    report = models.ForeignKey(Report, on_delete=models.CASCADE, related_name="metrics", db_index=False)
    iteration = models.PositiveIntegerField()
    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="metrics", db_index=False)
    measure = models.ForeignKey(Measure, on_delete=models.PROTECT, related_name="metrics", db_index=False)
    value = models.FloatField()
    lower_value = models.FloatField(null=True, blank=True)
    upper_value = models.FloatField(null=True, blank=True)
    model = models.ForeignKey("ThresholdModel", null=True, blank=True, on_delete=models.PROTECT, related_name="metrics", db_index=False)
    baseline = models.FloatField(null=True, blank=True)
    lower_limit = models.FloatField(null=True, blank=True)
    upper_limit = models.FloatField(null=True, blank=True)

    class Meta:
        ordering = ("iteration", "id")
        constraints = [models.UniqueConstraint(fields=["report", "iteration", "benchmark", "measure"], name="metric_once_in_an_iteration")]
        indexes = [
            models.Index(fields=["benchmark", "measure", "report"], name="metric_series"),
            models.Index(fields=["model"], name="metric_of_model", condition=models.Q(model__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{figure(self.value)} in iteration {self.iteration}"
