"""Pinned plots of a project (rest.md 5.4)."""

from __future__ import annotations

from django.db import models

from bencher.core.ids import uuid7
from bencher.projects.models import Project


class Plot(models.Model):
    """A saved perf query. The dimension lists keep their order."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="plots")
    rank = models.BigIntegerField()
    title = models.CharField(max_length=64, null=True, blank=True)
    lower_value = models.BooleanField()
    upper_value = models.BooleanField()
    lower_boundary = models.BooleanField()
    upper_boundary = models.BooleanField()
    x_axis = models.CharField(max_length=16)
    y_axis = models.CharField(max_length=16, default="auto")
    window = models.PositiveBigIntegerField()
    """Seconds."""
    branches = models.JSONField(default=list)
    testbeds = models.JSONField(default=list)
    benchmarks = models.JSONField(default=list)
    measures = models.JSONField(default=list)
    created = models.DateTimeField()
    modified = models.DateTimeField()

    class Meta:
        ordering = ("rank", "id")

    def __str__(self) -> str:
        return self.title or f"plot {self.id}"
