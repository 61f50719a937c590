"""Specs in the admin: hardware is fixed once it is made."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from unfold.decorators import display

from bencher.core.admin import Act, CheckedForm, ServiceAdmin
from bencher.core.newtypes import I64_MAX, U32_MAX, Checked, ResourceName, Slug
from bencher.specs import services
from bencher.specs.models import Spec

HARDWARE = ("os", "architecture", "sandbox", "cpu", "memory", "disk", "network")
NAMES: Any = {"name": ResourceName, "slug": Slug}


class SpecForm(CheckedForm):
    rules: ClassVar[dict[str, type[Checked]]] = NAMES

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        for name, most in (("cpu", U32_MAX), ("memory", I64_MAX), ("disk", I64_MAX)):
            value = values.get(name)
            if value is not None and not 1 <= value <= most:
                self.add_error(name, forms.ValidationError(f"expected 1 to {most}"))
        return values


def _change(values: dict[str, bool]) -> Any:
    def call(request: HttpRequest, row: Spec, now: datetime) -> None:
        services.change_spec(spec=row, values=values, now=now)

    return call


def _delete(request: HttpRequest, row: Spec, now: datetime) -> None:
    services.delete_spec(spec=row)


@admin.register(Spec)
class SpecAdmin(ServiceAdmin):
    list_display = ("name", "slug", "standing", "os", "architecture", "sandbox", "cpu", "shown_memory", "shown_disk", "network")
    list_filter = ("os", "architecture", "network", ("archived", admin.EmptyFieldListFilter), ("fallback", admin.EmptyFieldListFilter))
    search_fields = ("name", "slug")
    ordering = ("name", "id")
    form = SpecForm
    editable = ("name", "slug")
    addable = ("name", "slug", *HARDWARE)
    fieldsets = (
        (None, {"fields": ("id", "name", "slug", "standing", "fallback", "created", "modified", "archived")}),
        ("Hardware", {"fields": ("os", "architecture", "sandbox", "cpu", "shown_memory", "shown_disk", "network")}),
    )
    acts = (
        Act("archive", "Archive", "archived", _change({"archived": True}), "No new jobs take it; it ends as the fallback.",
            lambda row: not row.archived, danger=True),
        Act("unarchive", "Unarchive", "unarchived", _change({"archived": False}), "Jobs may take it again.", lambda row: row.archived),
        Act("make_fallback", "Make fallback", "the fallback", _change({"fallback": True}),
            "Jobs that name no spec take it; the former fallback is none any more.", lambda row: not row.fallback and not row.archived),
        Act("end_fallback", "End fallback", "no fallback any more", _change({"fallback": False}),
            "Jobs that name no spec are refused until there is another fallback.", lambda row: row.fallback),
        Act("remove", "Delete", "deleted", _delete, "Only a spec that neither a runner nor a job refers to can be deleted.",
            danger=True, gone=True),
    )  # fmt: skip

    @display(description="standing", label={"fallback": "info", "in use": "success", "archived": "warning"})
    def standing(self, row: Spec) -> str:
        return "archived" if row.archived else "fallback" if row.fallback else "in use"

    @display(description="memory", ordering="memory")
    def shown_memory(self, row: Spec) -> str:
        return filesizeformat(row.memory)

    @display(description="disk", ordering="disk")
    def shown_disk(self, row: Spec) -> str:
        return filesizeformat(row.disk)

    def serve_add(self, request: HttpRequest, values: dict[str, Any], now: datetime) -> tuple[Spec, None]:
        hardware = {**{name: values[name] for name in HARDWARE}, "sandbox": values["sandbox"] or None}
        return services.create_spec(name=values["name"], slug=values["slug"] or None, hardware=hardware, fallback=False, now=now), None

    def serve_change(self, request: HttpRequest, row: Spec, values: dict[str, Any], now: datetime) -> None:
        services.change_spec(spec=row, values=values, now=now)
