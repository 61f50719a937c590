"""Runner: a bench machine that may open a channel (rest.md 4.1)."""

from __future__ import annotations

from django.db import models

from bencher.core.ids import uuid7
from bencher.specs.models import Spec


class Runner(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=64)
    slug = models.CharField(max_length=64, unique=True)
    key_hash = models.CharField(max_length=64, unique=True)
    """SHA-256 of its one valid key."""
    last_heartbeat = models.DateTimeField(null=True, blank=True)
    """Last sign of life; written by the coalesced flush only."""
    created = models.DateTimeField()
    modified = models.DateTimeField()
    archived = models.DateTimeField(null=True, blank=True)
    specs: models.ManyToManyField[Spec, RunnerSpec] = models.ManyToManyField(Spec, through="RunnerSpec", related_name="runners")

    class Meta:
        ordering = ("name", "id")

    def __str__(self) -> str:
        return self.name


class RunnerSpec(models.Model):
    """The runner may take jobs of this spec."""

    id = models.BigAutoField(primary_key=True)
    runner = models.ForeignKey(Runner, on_delete=models.CASCADE, related_name="runner_specs")
    spec = models.ForeignKey(Spec, on_delete=models.PROTECT, related_name="runner_specs")
    created = models.DateTimeField()

    class Meta:
        ordering = ("created", "id")
        constraints = [models.UniqueConstraint(fields=["runner", "spec"], name="spec_once_on_a_runner")]

    def __str__(self) -> str:
        return f"spec {self.spec_id} on runner {self.runner_id}"
