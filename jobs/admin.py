"""Jobs in the admin: read, searched, and changed through the same services as everywhere."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import AutocompleteSelectFilter
from unfold.decorators import display

from bencher.core.admin import Act, EndlessAdmin, ReadOnlyAdmin, Rows
from jobs import actors, selectors
from jobs.admin_output import shown_config, shown_output
from jobs.lifecycle import IN_FLIGHT, Failure, Status
from jobs.models import Job, JobEvent, Watch
from jobs.output import encode
from jobs.processing import reprocess_job
from jobs.run.resubmit import resubmit_job
from jobs.services.cancel import cancel_job
from runners.admin import RunnerAdmin
from runners.models import Runner

BADGES = {"claimed": "warning", "running": "warning", "completed": "info", "pending": "info", "processed": "success",
          "failed": "danger", "canceled": "danger"}  # fmt: skip


def _actor(request: HttpRequest) -> actors.Actor:
    user: Any = request.user
    return actors.user(user.pk, user.name)


def _cancel(request: HttpRequest, job: Job, now: datetime) -> None:
    cancel_job(job_id=job.pk, actor=_actor(request), now=now)


def _resubmit(request: HttpRequest, job: Job, now: datetime) -> str:
    user: Any = request.user
    made = resubmit_job(job_id=job.pk, user=user, actor=_actor(request), source_ip=None, now=now)
    return f"The new job is {made.pk}"


def _reprocess(request: HttpRequest, job: Job, now: datetime) -> str:
    return f"Outcome: {reprocess_job(job_id=job.pk, actor=_actor(request), now=now)}"


def _repairable(job: Job) -> bool:
    return job.status == Status.COMPLETED or (job.status == Status.FAILED and job.failure in (Failure.UNPARSABLE, Failure.OUTPUT_LOST))


class JobEventRows(Rows):
    """The history: written by transitions only."""

    model = JobEvent
    fields = ("created", "action", "source", "target", "actor_kind", "actor_name", "reason")
    ordering = ("id",)
    verbose_name_plural = "history"
    linked = False


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    list_display = ("id", "status_badge", "project", "spec", "runner", "priority", "created", "completed")
    list_filter = (
        "status", "failure", ("project", AutocompleteSelectFilter), ("spec", AutocompleteSelectFilter), ("runner", AutocompleteSelectFilter),
        "created",
    )  # fmt: skip
    list_select_related = ("project", "spec", "runner")
    search_fields = ("project__slug", "project__name", "runner__name")
    uuid_fields = ("pk", "project", "runner", "report")
    search_help_text = "project, runner, or the UUID of a job, project, runner or report"
    date_hierarchy = "created"
    ordering = ("-created", "-id")
    inlines = (JobEventRows,)
    fieldsets = (
        (None, {"fields": ("id", "status_badge", "failure", "project", "organization", "report", "spec", "runner", "priority", "timeout")}),
        ("Output", {"fields": ("shown_output", "stored_as")}),
        ("Times", {"fields": ("created", "claimed", "started", "liveness", "completed", "due", "processing_until", "modified")}),
        ("Configuration", {"fields": ("shown_config", "source_ip")}),
    )
    acts = (
        Act("cancel", "Cancel job", "canceled", _cancel, "The job ends at once; its runner stops it with its next heartbeat.",
            lambda job: job.status in {Status.PENDING, *IN_FLIGHT}, danger=True),
        Act("resubmit", "Run again", "submitted again", _resubmit, "A new job with the same configuration, on a new report."),
        Act("reprocess", "Reprocess", "processed again", _reprocess, "For a job whose output could not be read.", _repairable),
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        rows: QuerySet[Job] = super().get_queryset(request)
        return rows if request.resolver_match and request.resolver_match.kwargs else rows.defer("config")

    def get_urls(self) -> list[URLPattern]:
        download = self.admin_site.admin_view(self.download)
        return [path("<uuid:pk>/output.json", download, name="jobs_job_output"), *super().get_urls()]

    def download(self, request: HttpRequest, pk: Any) -> HttpResponse:
        """All that was delivered, as a file: a browser never renders it."""
        job = Job.objects.filter(pk=pk).first()
        output = None if job is None else selectors.output_of(job)
        if output is None:
            raise Http404("no output is stored")
        name = f'attachment; filename="job-{pk}.json"'
        return HttpResponse(encode(output.results, output.error), "application/json", headers={"Content-Disposition": name})

    @display(description="status", label=BADGES, ordering="status")
    def status_badge(self, job: Job) -> str:
        return job.status

    @display(description="output")
    def shown_output(self, job: Job) -> SafeString | str:
        """What a benchmark printed is hostile text: escaped, bounded, every stream by itself."""
        output = selectors.output_of(job)
        if output is None:
            return "none can be shown" if job.output and job.status in selectors.ENDED else "none"
        return shown_output(output, reverse("admin:jobs_job_output", args=(job.pk,)))

    @display(description="SHA-256 of the stored output")
    def stored_as(self, job: Job) -> str:
        return job.output or "-"

    @display(description="configuration")
    def shown_config(self, job: Job) -> SafeString | str:
        return shown_config(job.config)


@admin.register(JobEvent)
class JobEventAdmin(EndlessAdmin):
    list_display = ("created", "job", "action", "source", "target", "actor_kind", "actor_name", "reason")
    list_filter = ("action", "target", "actor_kind", "created")
    list_select_related = ("job",)
    search_fields = ("actor_name", "reason")
    uuid_fields = ("job", "actor_id")
    ordering = ("-id",)
    fields = ("job", "action", "source", "target", "actor_kind", "actor_id", "actor_name", "reason", "created")


@admin.register(Watch)
class WatchAdmin(ReadOnlyAdmin):
    """When somebody last looked for silent runners."""

    list_display = ("looked", "since")
    search_fields = ("looked",)
    ordering = ("-looked", "-id")
    fields = ("looked", "since")


class CurrentJobRows(Rows):
    """What a runner works on now."""

    model = Job
    fields = ("status", "project", "spec", "claimed", "started", "liveness")
    joined = ("project", "spec")
    ordering = ("-claimed", "-id")
    verbose_name = "current job"
    verbose_name_plural = "current jobs"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        return super().get_queryset(request).filter(status__in=IN_FLIGHT).defer("config")


class BusyRunnerAdmin(RunnerAdmin):
    """A runner's pages with what only this app knows: its current job."""

    inlines = (CurrentJobRows, *RunnerAdmin.inlines)


admin.site.unregister(Runner)
admin.site.register(Runner, BusyRunnerAdmin)
