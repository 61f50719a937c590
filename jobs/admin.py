"""Jobs in the admin: read, searched, and changed through the same services as everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin, TabularInline
from unfold.dataclasses import ActionDialog
from unfold.decorators import action, display
from unfold.forms import BaseDialogForm

from bencher.core import clock
from bencher.core.errors import ServiceError
from jobs import actors, selectors
from jobs.models import Job, JobEvent
from jobs.processing import reprocess_job
from jobs.run.resubmit import resubmit_job
from jobs.services.cancel import cancel_job

SHOWN_CHARACTERS = 100_000
"""Of one stream: a page with megabytes of output helps nobody."""
BADGES = {"pending": "info", "claimed": "warning", "running": "warning", "processed": "success", "failed": "danger", "canceled": "danger"}


def _dialog(title: str, description: str, button: str) -> ActionDialog:
    return {"title": title, "description": description, "form_class": None, "form_submit_text": button}


class JobEventInline(TabularInline):
    """The history: written by transitions only."""

    model = JobEvent
    fields = readonly_fields = ("created", "action", "source", "target", "actor_kind", "actor_name", "reason")
    ordering = ("id",)
    extra = 0
    can_delete = False
    verbose_name_plural = "history"

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Job)
class JobAdmin(ModelAdmin):
    list_display = ("id", "status_badge", "project", "spec", "runner", "priority", "created", "completed")
    list_filter = ("status", "failure", "spec", "runner", "created")
    list_select_related = ("project", "spec", "runner")
    search_fields = ("id", "project__slug", "project__name", "runner__name")
    search_help_text = "UUID, project or runner"
    date_hierarchy = "created"
    ordering = ("-created", "-id")
    show_full_result_count = False
    inlines = (JobEventInline,)
    actions = ("cancel", "resubmit", "reprocess")
    actions_detail = ("cancel_this", "resubmit_this", "reprocess_this")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "id",
                    "status_badge",
                    "failure",
                    "project",
                    "organization",
                    "report_link",
                    "spec",
                    "runner",
                    "priority",
                    "timeout",
                )
            },
        ),
        ("Times", {"fields": ("created", "claimed", "started", "liveness", "completed", "due", "processing_until", "modified")}),
        ("Output", {"fields": ("shown_output", "output_name")}),
        ("Configuration", {"fields": ("shown_config", "source_ip"), "classes": ("collapse",)}),
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    # -- shown -----------------------------------------------------------------------------------------------------
    @display(description="status", label=BADGES, ordering="status")
    def status_badge(self, job: Job) -> str:
        return job.status

    @display(description="report")
    def report_link(self, job: Job) -> SafeString:
        return format_html(
            '<a class="underline" href="/console/projects/{}/reports/{}">{}</a>', job.project.slug, job.report_id, job.report_id
        )

    @display(description="SHA-256")
    def output_name(self, job: Job) -> str:
        return job.output or "none"

    @display(description="output")
    def shown_output(self, job: Job) -> SafeString | str:
        """What a benchmark printed is hostile text: escaped, every stream by itself."""
        output = selectors.output_of(job)
        if output is None:
            return "none"
        parts = [("error", output.error)] if output.error else []
        for number, iteration in enumerate(output.results):
            parts.append((f"iteration {number}: exit code {iteration.exit_code}", ""))
            parts += [
                (f"iteration {number}: {name}", text) for name, text in (("stdout", iteration.stdout), ("stderr", iteration.stderr)) if text
            ]
            parts += [(f"iteration {number}: {path}", text) for path, text in sorted((iteration.output or {}).items())]
        rows = ((_visible(title), _visible(text[:SHOWN_CHARACTERS])) for title, text in parts if text is not None)
        return format_html_join("", '<p class="font-semibold">{}</p><pre class="overflow-x-auto whitespace-pre-wrap mb-4">{}</pre>', rows)

    @display(description="configuration")
    def shown_config(self, job: Job) -> SafeString:
        try:
            text = msgspec.json.format(job.config, indent=2)
        except msgspec.DecodeError:
            text = job.config
        return format_html('<pre class="overflow-x-auto whitespace-pre-wrap">{}</pre>', text)

    # -- done ------------------------------------------------------------------------------------------------------
    @action(description="Cancel")
    def cancel(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self._each(request, queryset, "canceled", _cancel)

    @action(description="Run again as a new job")
    def resubmit(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self._each(request, queryset, "submitted again", _resubmit)

    @action(description="Process the stored output again")
    def reprocess(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self._each(request, queryset, "processed", _reprocess)

    @action(description="Cancel", dialog=_dialog("Cancel this job?", "Its runner stops it with its next heartbeat.", "Cancel the job"))
    def cancel_this(self, request: HttpRequest, form: BaseDialogForm, object_id: str) -> HttpResponse:
        return self._one(request, object_id, self.cancel)

    @action(
        description="Run again", dialog=_dialog("Run this again?", "A new job with the same configuration, on a new report.", "Run again")
    )
    def resubmit_this(self, request: HttpRequest, form: BaseDialogForm, object_id: str) -> HttpResponse:
        return self._one(request, object_id, self.resubmit)

    @action(description="Reprocess", dialog=_dialog("Process the output again?", "For a job whose output could not be read.", "Reprocess"))
    def reprocess_this(self, request: HttpRequest, form: BaseDialogForm, object_id: str) -> HttpResponse:
        return self._one(request, object_id, self.reprocess)

    def _one(self, request: HttpRequest, object_id: str, call: Callable[[HttpRequest, QuerySet[Job]], None]) -> HttpResponse:
        """The action on one job, then back to its page; the dialog is submitted by htmx, which follows this header."""
        call(request, Job.objects.filter(pk=object_id))
        return HttpResponse(headers={"HX-Redirect": reverse("admin:jobs_job_change", args=(object_id,))})

    def _each(self, request: HttpRequest, queryset: QuerySet[Job], done: str, call: Callable[[HttpRequest, Job], Any]) -> None:
        for job in queryset.order_by("created", "id"):
            try:
                call(request, job)
            except ServiceError as fault:
                self.message_user(request, f"{job.pk}: {fault.message}", messages.WARNING)
            else:
                self.log_change(request, job, done)
                self.message_user(request, f"{job.pk}: {done}", messages.SUCCESS)


def _visible(text: str) -> str:
    return text.replace("\x00", "\N{SYMBOL FOR NULL}")


def _actor(request: HttpRequest) -> actors.Actor:
    user: Any = request.user
    return actors.user(user.pk, user.name)


def _cancel(request: HttpRequest, job: Job) -> Any:
    return cancel_job(job_id=job.pk, actor=_actor(request), now=clock.now())


def _resubmit(request: HttpRequest, job: Job) -> Any:
    user: Any = request.user
    return resubmit_job(job_id=job.pk, user=user, actor=_actor(request), source_ip=None, now=clock.now())


def _reprocess(request: HttpRequest, job: Job) -> Any:
    return reprocess_job(job_id=job.pk, actor=_actor(request), now=clock.now())
