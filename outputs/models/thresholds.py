"""Thresholds, the alerts they raised and the changes they found (rest.md 5.5-5.7)."""

from __future__ import annotations

from django.db import models

from bencher.core.figures import figure
from bencher.core.ids import uuid7
from bencher.projects.models import Project
from outputs.models.reports import Branch, Measure, Metric, Report, Testbed


class Threshold(models.Model):
    """What is watched: one measure on one branch and testbed, by the current model (or none)."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="thresholds", db_index=False)
    branch = models.ForeignKey(Branch, on_delete=models.PROTECT, related_name="thresholds", db_index=False)
    testbed = models.ForeignKey(Testbed, on_delete=models.PROTECT, related_name="thresholds")
    measure = models.ForeignKey(Measure, on_delete=models.PROTECT, related_name="thresholds")
    model = models.ForeignKey("ThresholdModel", null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    change_points = models.BooleanField(default=False)
    """Look for lasting changes of level too."""
    created = models.DateTimeField()
    modified = models.DateTimeField()

    class Meta:
        ordering = ("created", "id")
        constraints = [models.UniqueConstraint(fields=["branch", "testbed", "measure"], name="threshold_once")]
        indexes = [models.Index(fields=["project", "created", "id"], name="threshold_list")]

    def __str__(self) -> str:
        return f"threshold {self.id}"


class ThresholdModel(models.Model):
    """A test with its parameters; replaced, never changed."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    threshold = models.ForeignKey(Threshold, on_delete=models.CASCADE, related_name="models")
    test = models.CharField(max_length=16)
    min_sample_size = models.PositiveBigIntegerField(null=True, blank=True)
    max_sample_size = models.PositiveBigIntegerField(null=True, blank=True)
    window = models.PositiveBigIntegerField(null=True, blank=True)
    """Seconds."""
    lower_boundary = models.FloatField(null=True, blank=True)
    upper_boundary = models.FloatField(null=True, blank=True)
    created = models.DateTimeField()
    replaced = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("created", "id")

    def __str__(self) -> str:
        return f"{self.test} model {self.id}"


class Alert(models.Model):
    """A metric outside its boundary."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+", db_index=False)
    report = models.ForeignKey(Report, on_delete=models.CASCADE, related_name="alerts")
    metric = models.OneToOneField(Metric, on_delete=models.CASCADE, related_name="alert")
    limit = models.CharField(max_length=8, choices=[("lower", "lower"), ("upper", "upper")])
    status = models.CharField(max_length=16, choices=[(value, value) for value in ("active", "dismissed", "silenced")], default="active")
    modified = models.DateTimeField()

    class Meta:
        ordering = ("status", "-modified", "id")
        indexes = [models.Index(fields=["project", "status", "-modified", "id"], name="alert_list")]

    def __str__(self) -> str:
        return f"{self.status} alert: {self.limit} limit"


class ChangePoint(models.Model):
    """Where a watched series changed its level for good (opt-in per threshold; docs/results.md)."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    threshold = models.ForeignKey(Threshold, on_delete=models.CASCADE, related_name="change_point_set")
    metric = models.OneToOneField(Metric, on_delete=models.CASCADE, related_name="change_point")
    """The first value of the new level."""
    report = models.ForeignKey(Report, on_delete=models.CASCADE, related_name="change_points")
    """The report that made it certain."""
    before = models.FloatField()
    after = models.FloatField()
    """Mean values of the levels."""
    p_value = models.FloatField()
    created = models.DateTimeField()

    class Meta:
        ordering = ("created", "id")

    def __str__(self) -> str:
        return f"from {figure(self.before)} to {figure(self.after)}"
