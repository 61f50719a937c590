"""The site's own table in the admin."""

from __future__ import annotations

from django.contrib import admin

from bencher.core.admin import ReadOnlyAdmin
from bencher.models import Pulse


@admin.register(Pulse)
class PulseAdmin(ReadOnlyAdmin):
    """Signs of life of the server's parts."""

    list_display = ("name", "at")
    list_filter = ("at",)
    search_fields = ("name",)
    ordering = ("name",)
    fields = ("name", "at")
