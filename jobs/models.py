"""Job, its history and its attempts (protocol.md section 4, rest.md section 3)."""

from __future__ import annotations

from django.db import models

from bencher.core.ids import uuid7
from bencher.projects.models import Organization, Project
from bencher.specs.models import Spec
from outputs.models import Report
from runners.models import Runner

STATUSES = ("pending", "claimed", "running", "completed", "processed", "failed", "canceled")


class Job(models.Model):
    """A benchmark run that a machine is asked for. ``status`` is written by ``jobs/transitions.py`` only."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="jobs")
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="jobs")
    report = models.OneToOneField(Report, on_delete=models.CASCADE, related_name="+")
    spec = models.ForeignKey(Spec, on_delete=models.PROTECT, related_name="jobs")
    status = models.CharField(max_length=16, choices=[(value, value) for value in STATUSES], default="pending", editable=False)
    config = models.TextField()
    """JSON text of what the runner gets (protocol.md section 2); never shown by REST."""
    timeout = models.PositiveIntegerField()
    """Seconds."""
    priority = models.PositiveIntegerField()
    source_ip = models.GenericIPAddressField(null=True, blank=True)
    runner = models.ForeignKey(Runner, null=True, blank=True, on_delete=models.PROTECT, related_name="jobs")
    """Who holds it: a guard of every transition that a runner causes."""
    channel = models.CharField(max_length=32, blank=True, default="", editable=False)
    """Which of the runner's channels executes it; empty when none does. A hint for resuming, and a guard against a channel that was superseded."""
    claimed = models.DateTimeField(null=True, blank=True)
    started = models.DateTimeField(null=True, blank=True)
    completed = models.DateTimeField(null=True, blank=True)
    due = models.DateTimeField(null=True, blank=True, editable=False)
    """Start, in whole seconds, and ``timeout``: over the hard limit when the grace period has passed too."""
    liveness = models.DateTimeField(null=True, blank=True)
    """Last sign of life of the runner about this job; written by nothing but runner activity."""
    failure = models.CharField(max_length=32, blank=True, default="")
    """Why it failed or was canceled when no runner said so: ``heartbeat_timeout``, ``job_timeout_exceeded``, ``unparsable`` …"""
    output = models.CharField(max_length=64, blank=True, default="")
    """SHA-256 of the stored output that counts; empty while there is none."""
    processing_until = models.DateTimeField(null=True, blank=True)
    """Lease of whoever parses the output."""
    created = models.DateTimeField()
    modified = models.DateTimeField()

    class Meta:
        ordering = ("-created", "-id")
        indexes = [
            models.Index(fields=["status", "-priority", "created", "id"], name="job_claim"),
            models.Index(fields=["project", "-created", "-id"], name="job_list"),
            models.Index(fields=["runner", "-created"], name="job_runner"),
            models.Index(fields=["runner", "-claimed"], name="job_runner_claimed"),
            models.Index(fields=["organization", "status"], name="job_organization"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Watch(models.Model):
    """When somebody last looked for silent runners: one row (jobs/services/watch.py)."""

    looked = models.DateTimeField()
    since = models.DateTimeField()
    """Looked at without a gap since then."""

    def __str__(self) -> str:
        return f"{self.looked:%Y-%m-%d %H:%M:%S}"


class JobEvent(models.Model):
    """One entry of a job's append-only history."""

    id = models.BigAutoField(primary_key=True)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="events")
    action = models.CharField(max_length=32)
    source = models.CharField(max_length=16, null=True, blank=True)
    """Status before; null for the submission."""
    target = models.CharField(max_length=16)
    actor_kind = models.CharField(max_length=8, choices=[(value, value) for value in ("runner", "user", "system")])
    actor_id = models.UUIDField(null=True, blank=True)
    actor_name = models.CharField(max_length=64, blank=True, default="")
    reason = models.CharField(max_length=255, blank=True, default="")
    created = models.DateTimeField()

    class Meta:
        ordering = ("id",)
        indexes = [models.Index(fields=["job", "id"], name="job_event_list")]

    def __str__(self) -> str:
        return self.action
