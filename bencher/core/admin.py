"""What every admin page shares: it looks, it changes nothing but through a service, and whatever it does is audited."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any, ClassVar
from urllib.parse import unquote

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import flatten_fieldsets
from django.contrib.admin.views.main import ERROR_FLAG
from django.db import DataError
from django.db.models import Model, Q, QuerySet, UUIDField
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import slugify
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import action, display
from unfold.enums import ActionVariant
from unfold.forms import BaseDialogForm
from unfold.paginator import InfinitePaginator

from bencher.core import audit, clock
from bencher.core.errors import ServiceError
from bencher.core.ids import as_uuid
from bencher.core.newtypes import Checked

SHOWN_MESSAGES = 10
"""Of one action on many rows: the rest is counted."""


@dataclass(frozen=True, slots=True)
class Act:
    """Something that can be done to a row: an entry of the list's actions, and a button of the row's page that asks first.

    ``call(request, row, now)`` makes the one service call and may answer a sentence to show besides ``done``. ``offered`` says whether the button is of use
    for a row; the service decides anyway. ``gone``: there is no row afterwards.
    """

    name: str
    label: str
    done: str
    call: Callable[[HttpRequest, Any, datetime], str | None]
    note: str
    offered: Callable[[Any], bool] = lambda row: True
    danger: bool = False
    gone: bool = False


class ReadOnly:
    """Looked at only."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class Rows(ReadOnly, TabularInline):
    """Rows that belong to the object of the page, a page of them at a time; all foreign keys that are shown are joined."""

    extra = 0
    max_num = 0
    per_page = 25
    hide_title = True
    linked: ClassVar[bool] = True
    """The last column leads to the row's own page."""
    joined: ClassVar[tuple[str, ...]] = ()

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[str]:
        return (*(self.fields or ()), *(("page",) if self.linked else ()))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.select_related(*self.joined)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[str]:
        return self.get_fields(request, obj)

    @display(description="page")
    def page(self, row: Any) -> str:
        route = f"admin:{row._meta.app_label}_{row._meta.model_name}_change"
        return format_html('<a class="text-link" href="{}">open</a>', reverse(route, args=(row.pk,)))


class CheckedForm(forms.ModelForm):  # type: ignore[type-arg]
    """Judges fields by the rules of the API (``bencher/core/newtypes.py``); a slug that is left empty is made from the name."""

    rules: ClassVar[dict[str, type[Checked]]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance._state.adding and "slug" in self.fields:
            self.fields["slug"].required = False

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        for name, rule in self.rules.items():
            if values.get(name):
                try:
                    values[name] = rule.parse(values[name])
                except ValueError as fault:
                    self.add_error(name, str(fault))
        return values


class ServiceAdmin(ModelAdmin):
    """A model's pages. ``editable`` fields are changed by ``serve_change``, rows are made by ``serve_add`` from ``addable`` ones, all else by ``acts``."""

    acts: ClassVar[tuple[Act, ...]] = ()
    editable: ClassVar[tuple[str, ...]] = ()
    addable: ClassVar[tuple[str, ...]] = ()
    uuid_fields: ClassVar[tuple[str, ...]] = ("pk",)
    """Searched by equality when the search is a UUID: an index answers that."""
    show_full_result_count = False
    list_per_page = 50
    list_fullwidth = True
    list_filter_submit = True
    compressed_fields = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "acts" not in cls.__dict__:
            return
        for act in cls.acts:
            setattr(cls, act.name, _on_many(act))
            setattr(cls, f"{act.name}_this", _on_one(act))
        cls.actions = tuple(act.name for act in cls.acts)
        cls.actions_detail = tuple(f"{act.name}_this" for act in cls.acts)

    # -- may ---------------------------------------------------------------------------------------------------------
    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(self.addable) and super().has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(self.editable) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        row = self.get_object(request, unquote(str(object_id)))
        offered = {f"{act.name}_this" for act in self.acts if row is not None and act.offered(row)}
        return [found for found in super().get_actions_detail(request, object_id) if found.method.__name__ in offered]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """A filter's value that no database can compare, such as a year of twenty digits, is as wrong as one that cannot be read."""
        try:
            found: HttpResponse = super().changelist_view(request, extra_context)
        except (OverflowError, ValueError, DataError):
            return HttpResponseRedirect(f"{request.path}?{ERROR_FLAG}=1")
        return found

    # -- shown -------------------------------------------------------------------------------------------------------
    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[str]:
        free = self.addable if obj is None else self.editable
        return tuple(name for name in flatten_fieldsets(self.get_fieldsets(request, obj)) if name not in free)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return [(None, {"fields": self.addable})] if obj is None and self.addable else super().get_fieldsets(request, obj)

    def get_inlines(self, request: HttpRequest, obj: Any) -> Sequence[Any]:
        return () if obj is None else self.inlines

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        return None if "\x00" in object_id else super().get_object(request, object_id, from_field)

    def get_search_results(self, request: HttpRequest, queryset: QuerySet[Any], search_term: str) -> tuple[QuerySet[Any], bool]:
        value = as_uuid(search_term.strip())
        if value is None:
            found: tuple[QuerySet[Any], bool] = super().get_search_results(request, queryset, search_term)
            return found
        own = [] if isinstance(self.opts.pk, UUIDField) else ["pk"]
        fields = [name for name in self.uuid_fields if name not in own]
        return queryset.filter(reduce(or_, (Q((name, value)) for name in fields), Q(pk__in=[]))), False

    def label(self, row: Any) -> str:
        """What messages call the row."""
        return str(row)

    # -- done --------------------------------------------------------------------------------------------------------
    def serve_add(self, request: HttpRequest, values: dict[str, Any], now: datetime) -> tuple[Any, str | None]:
        """Make a row of the checked values by a service: (the row, a sentence to show or None)."""
        raise NotImplementedError

    def serve_change(self, request: HttpRequest, row: Any, values: dict[str, Any], now: datetime) -> None:
        """Change these values of the row by a service."""
        raise NotImplementedError

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        now = clock.now()
        if change:
            row = self.model._default_manager.get(pk=obj.pk)
            self.serve_change(request, row, {name: form.cleaned_data[name] for name in form.changed_data}, now)
            return
        made, told = self.serve_add(request, {name: form.cleaned_data[name] for name in self.addable}, now)
        obj.__dict__.update(made.__dict__)
        if told:
            self.message_user(request, told, messages.WARNING)

    def changeform_view(self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None) -> Any:
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except ServiceError as fault:
            self.message_user(request, fault.message, messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())

    def perform(self, request: HttpRequest, rows: Iterable[Any], act: Act) -> None:
        """The act on each row; refusals become messages, and what was done is audited."""
        told: list[tuple[int, str]] = []
        for row in rows:
            label, kept = self.label(row), [row]
            pk = row.pk
            try:
                sentence = act.call(request, row, clock.now())
            except ServiceError as fault:
                told.append((messages.WARNING, f"{label}: {fault.message}"))
                continue
            row.pk = pk  # a deleted row forgets it
            if act.gone:
                self.log_deletions(request, kept)
            else:
                self.log_change(request, row, act.done)
            told.append((messages.SUCCESS, f"{label}: {act.done}"))
            if sentence:
                told.append((messages.WARNING, sentence))
        for level, text in told[:SHOWN_MESSAGES]:
            self.message_user(request, text, level)
        if len(told) > SHOWN_MESSAGES:
            done = sum(level == messages.SUCCESS for level, _ in told)
            self.message_user(request, f"in all: {done} {act.done}, {sum(1 for _ in told) - done} other messages", messages.INFO)

    # -- audited -----------------------------------------------------------------------------------------------------
    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        self._audit(request, "add", obj, message)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        self._audit(request, "change", obj, message)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        for row in queryset:
            self._audit(request, "delete", row, None)
        return super().log_deletions(request, queryset)

    def _audit(self, request: HttpRequest, kind: str, row: Model, message: Any) -> None:
        detail = message if isinstance(message, str) or message is None else json.dumps(message)
        audit.record(request, f"admin.{kind}", object=f"{self.opts.label_lower} {row.pk}", detail=detail)


class ReadOnlyAdmin(ReadOnly, ServiceAdmin):
    """Nothing is edited here; what acts may do is said there."""


class EndlessAdmin(ReadOnlyAdmin):
    """Of tables with millions of rows: nobody counts them for a page."""

    paginator = InfinitePaginator


def _on_many(act: Act) -> Any:
    @action(description=act.label)
    def many(self: ServiceAdmin, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self.perform(request, queryset, act)

    many.__name__ = act.name
    return many


def _on_one(act: Act) -> Any:
    """Asks in a dialog; htmx submits that and follows the answer's header back to the page."""

    def one(self: ServiceAdmin, request: HttpRequest, form: BaseDialogForm, object_id: str) -> HttpResponse:
        row = self.get_object(request, unquote(object_id))
        if row is None:
            self.message_user(request, f"There is no {self.opts.verbose_name} {object_id[:64]}", messages.WARNING)
        else:
            self.perform(request, [row], act)
        listed = act.gone or row is None
        route = f"admin:{self.opts.app_label}_{self.opts.model_name}_{'changelist' if listed else 'change'}"
        return HttpResponse(headers={"HX-Redirect": reverse(route, args=() if listed else (object_id,))})

    one.__name__ = f"{act.name}_this"
    dialog: Any = {"title": f"{act.label}?", "description": act.note, "form_class": None, "form_submit_text": act.label}
    variant = ActionVariant.DANGER if act.danger else ActionVariant.DEFAULT
    return action(description=act.label, url_path=slugify(act.name), variant=variant, dialog=dialog)(one)


@admin.register(LogEntry)
class LogEntryAdmin(EndlessAdmin):
    """Who did what in the admin."""

    list_display = ("action_time", "user", "content_type", "object_repr", "action_flag", "change_message")
    list_filter = ("action_flag", "content_type", "action_time")
    list_select_related = ("user", "content_type")
    search_fields = ("user__email", "object_id", "object_repr", "change_message")
    uuid_fields = ("object_id",)
    ordering = ("-action_time", "-id")
    fields = ("action_time", "user", "content_type", "object_id", "object_repr", "action_flag", "change_message")
