"""Spec: the hardware that a job asks for (rest.md 4.2)."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from bencher.core.ids import uuid7


class Spec(models.Model):
    """Hardware fields never change after creation; at most one spec is the fallback."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=64)
    slug = models.CharField(max_length=64, unique=True)
    os = models.CharField(max_length=8, choices=[(value, value) for value in ("linux", "macos", "windows")])
    architecture = models.CharField(max_length=8, choices=[(value, value) for value in ("x86_64", "aarch64")])
    sandbox = models.CharField(max_length=16, null=True, blank=True, choices=[("firecracker", "firecracker")])
    cpu = models.PositiveIntegerField()
    memory = models.PositiveBigIntegerField()
    """Bytes."""
    disk = models.PositiveBigIntegerField()
    """Bytes."""
    network = models.BooleanField(default=False)
    fallback = models.DateTimeField(null=True, blank=True)
    """Since when it serves jobs that name no spec."""
    created = models.DateTimeField()
    modified = models.DateTimeField()
    archived = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("name", "id")
        constraints = [
            models.CheckConstraint(condition=Q(fallback__isnull=True) | Q(archived__isnull=True), name="spec_archived_is_no_fallback")
        ]

    def __str__(self) -> str:
        return self.name
