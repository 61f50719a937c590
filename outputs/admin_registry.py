"""Repositories in the admin: what they hold, how large it is, when it was last pulled. Content is pushed by clients, never edited here."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import action, display

from outputs.models import Manifest, Repository, Tag
from outputs.registry import selectors
from outputs.registry.errors import ManifestUnknown
from outputs.registry.services.manifests import delete_manifest
from outputs.registry.storage import StorageError


class ReadOnly:
    """Looked at only; what an action may do is said there."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class TagInline(ReadOnly, TabularInline):
    model = Tag
    fields = readonly_fields = ("name", "manifest", "modified", "last_pulled")
    ordering = ("-modified", "-id")
    show_change_link = False
    max_num = 0
    per_page = 50

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tag]:
        return super().get_queryset(request).select_related("manifest")

    @display(description="Last pull")
    def last_pulled(self, tag: Tag) -> Any:
        return tag.manifest.last_pulled or "never"


@admin.register(Repository)
class RepositoryAdmin(ReadOnly, ModelAdmin):
    list_display = ("slug", "organization", "tag_count", "manifest_count", "stored", "last_pull")
    list_select_related = ("organization",)
    search_fields = ("slug", "name", "id")
    search_help_text = "slug, name or UUID"
    ordering = ("slug", "id")
    show_full_result_count = False
    fields = readonly_fields = ("slug", "name", "id", "organization", "tag_count", "manifest_count", "stored", "last_pull")
    inlines = (TagInline,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Repository]:
        return selectors.repositories()

    @display(description="Tags", ordering="tag_count")
    def tag_count(self, repository: Any) -> int:
        return int(repository.tag_count)

    @display(description="Manifests", ordering="manifest_count")
    def manifest_count(self, repository: Any) -> int:
        return int(repository.manifest_count)

    @display(description="Stored", ordering="stored")
    def stored(self, repository: Any) -> str:
        return filesizeformat(repository.stored)

    @display(description="Last pull", ordering="last_pull")
    def last_pull(self, repository: Any) -> Any:
        return repository.last_pull or "never"


@admin.register(Manifest)
class ManifestAdmin(ReadOnly, ModelAdmin):
    list_display = ("digest", "project", "tag_names", "media_type", "image_size", "created", "last_pulled")
    list_filter = ("media_type", "created", "last_pulled")
    list_select_related = ("project",)
    search_fields = ("digest", "project__slug", "tags__name")
    search_help_text = "digest, project or tag"
    ordering = ("-created", "-id")
    show_full_result_count = False
    fields = readonly_fields = (
        "digest",
        "project",
        "tag_names",
        "media_type",
        "artifact_type",
        "subject",
        "image_size",
        "created",
        "last_pulled",
    )
    actions = ("remove",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Manifest]:
        return selectors.manifests().prefetch_related("tags")

    @display(description="Tags")
    def tag_names(self, manifest: Manifest) -> str:
        return ", ".join(sorted(tag.name for tag in manifest.tags.all()))

    @display(description="Size", ordering="image_size")
    def image_size(self, manifest: Any) -> str:
        return filesizeformat(manifest.image_size)

    @action(description="Delete with their tags; jobs that name them by digest can no longer pull")
    def remove(self, request: HttpRequest, queryset: QuerySet[Manifest]) -> None:
        removed = 0
        for manifest in queryset.select_related("project"):
            try:
                delete_manifest(project=manifest.project, reference=manifest.digest)
                removed += 1
            except ManifestUnknown:
                continue
            except StorageError as problem:
                messages.error(request, f"{manifest.digest}: the storage failed: {problem}")
        messages.success(request, f"{removed} manifests deleted; their blobs go with the next garbage collection")
