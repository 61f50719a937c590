"""Runners in the admin: registered, renamed, archived; a key is shown once, in the message of the answer, and stored nowhere."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest
from unfold.contrib.filters.admin import AutocompleteSelectFilter
from unfold.decorators import display

from bencher.core import clock
from bencher.core.admin import Act, CheckedForm, Rows, ServiceAdmin
from bencher.core.newtypes import Checked, ResourceName, Slug
from runners import services
from runners.models import Runner, RunnerSpec

NAMES: Any = {"name": ResourceName, "slug": Slug}
SHOWN_ONCE = "Its key, shown this once: {}"


class RunnerForm(CheckedForm):
    rules: ClassVar[dict[str, type[Checked]]] = NAMES


def _archived(archived: bool) -> Any:
    def call(request: HttpRequest, row: Runner, now: datetime) -> None:
        services.change_runner(runner=row, values={"archived": archived}, now=now)

    return call


def _rotate(request: HttpRequest, row: Runner, now: datetime) -> str:
    return SHOWN_ONCE.format(services.rotate_key(runner=row, now=now))


class RunnerSpecRows(Rows):
    model = RunnerSpec
    fields = ("spec", "created")
    joined = ("spec",)
    ordering = ("created", "id")
    verbose_name_plural = "specs"


@admin.register(Runner)
class RunnerAdmin(ServiceAdmin):
    list_display = ("name", "slug", "state", "last_heartbeat", "created", "archived")
    list_filter = (("archived", admin.EmptyFieldListFilter), "last_heartbeat", "created")
    search_fields = ("name", "slug")
    ordering = ("name", "id")
    form = RunnerForm
    editable = ("name", "slug")
    addable = ("name", "slug")
    fieldsets = ((None, {"fields": ("id", "name", "slug", "state", "last_heartbeat", "created", "modified", "archived")}),)
    inlines: tuple[type[Rows], ...] = (RunnerSpecRows,)
    acts = (
        Act("rotate_key", "Rotate key", "has a new key", _rotate, "The old key is refused from now on; the new one is shown once.",
            lambda row: not row.archived, danger=True),
        Act("archive", "Archive", "archived", _archived(True), "Its key is refused until it is unarchived.",
            lambda row: not row.archived, danger=True),
        Act("unarchive", "Unarchive", "unarchived", _archived(False), "Its key is accepted again.", lambda row: row.archived),
    )  # fmt: skip

    @display(description="state", label={"online": "success", "offline": "danger", "archived": "warning", "never seen": "info"})
    def state(self, row: Runner) -> str:
        if row.archived:
            return "archived"
        if row.last_heartbeat is None:
            return "never seen"
        silent = clock.now() - row.last_heartbeat
        return "online" if silent <= timedelta(seconds=settings.BENCHER_HEARTBEAT_TIMEOUT) else "offline"

    def serve_add(self, request: HttpRequest, values: dict[str, Any], now: datetime) -> tuple[Runner, str]:
        runner, key = services.create_runner(name=values["name"], slug=values["slug"] or None, now=now)
        return runner, SHOWN_ONCE.format(key)

    def serve_change(self, request: HttpRequest, row: Runner, values: dict[str, Any], now: datetime) -> None:
        services.change_runner(runner=row, values=values, now=now)


def _detach(request: HttpRequest, row: RunnerSpec, now: datetime) -> None:
    services.detach_spec(runner=row.runner, spec=row.spec)


@admin.register(RunnerSpec)
class RunnerSpecAdmin(ServiceAdmin):
    """Which runner takes jobs of which spec."""

    list_display = ("runner", "spec", "created")
    list_filter = (("runner", AutocompleteSelectFilter), ("spec", AutocompleteSelectFilter))
    list_select_related = ("runner", "spec")
    search_fields = ("runner__name", "runner__slug", "spec__name", "spec__slug")
    uuid_fields = ("runner", "spec")
    ordering = ("-created", "-id")
    autocomplete_fields = ("runner", "spec")
    addable = ("runner", "spec")
    fieldsets = ((None, {"fields": ("runner", "spec", "created")}),)
    acts = (Act("detach", "Detach", "detached", _detach, "The runner takes no more jobs of this spec.", danger=True, gone=True),)

    def label(self, row: RunnerSpec) -> str:
        return f"{row.spec} of {row.runner}"

    def serve_add(self, request: HttpRequest, values: dict[str, Any], now: datetime) -> tuple[RunnerSpec, None]:
        services.attach_spec(runner=values["runner"], spec=values["spec"], now=now)
        return RunnerSpec.objects.get(runner=values["runner"], spec=values["spec"]), None
