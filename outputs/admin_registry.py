"""Images in the admin: what each project holds, how large it is, when it was last pulled. Content is pushed by clients, never edited here."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from unfold.contrib.filters.admin import AutocompleteSelectFilter
from unfold.decorators import display

from bencher.core.admin import Act, EndlessAdmin, ReadOnlyAdmin, Rows
from bencher.core.errors import Busy, Missing
from outputs.models import Blob, Manifest, ManifestReference, Repository, Tag, Upload
from outputs.registry import selectors
from outputs.registry.errors import ManifestUnknown
from outputs.registry.services.manifests import delete_manifest
from outputs.registry.storage import StorageError

PROJECT = ("project", AutocompleteSelectFilter)


class TagRows(Rows):
    model = Tag
    fields = ("name", "manifest", "modified", "last_pulled")
    joined = ("manifest",)
    ordering = ("-modified", "-id")

    @display(description="last pull")
    def last_pulled(self, tag: Tag) -> Any:
        return tag.manifest.last_pulled or "never"


@admin.register(Repository)
class RepositoryAdmin(ReadOnlyAdmin):
    list_display = ("slug", "organization", "tag_count", "manifest_count", "stored", "last_pull")
    list_filter = ("visibility", ("organization", AutocompleteSelectFilter))
    list_select_related = ("organization",)
    search_fields = ("slug", "name")
    uuid_fields = ("pk", "organization")
    search_help_text = "slug, name or UUID"
    ordering = ("slug", "id")
    fields = ("slug", "name", "id", "organization", "tag_count", "manifest_count", "stored", "last_pull")
    inlines = (TagRows,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Repository]:
        return selectors.repositories()

    @display(description="tags", ordering="tag_count")
    def tag_count(self, repository: Any) -> int:
        return int(repository.tag_count)

    @display(description="manifests", ordering="manifest_count")
    def manifest_count(self, repository: Any) -> int:
        return int(repository.manifest_count)

    @display(description="stored", ordering="stored")
    def stored(self, repository: Any) -> str:
        return filesizeformat(repository.stored)

    @display(description="last pull", ordering="last_pull")
    def last_pull(self, repository: Any) -> Any:
        return repository.last_pull or "never"


def _delete(request: HttpRequest, row: Manifest, now: datetime) -> None:
    try:
        delete_manifest(project=row.project, reference=row.digest)
    except ManifestUnknown:
        raise Missing("it is deleted already") from None
    except StorageError as fault:
        raise Busy(f"the storage failed ({type(fault).__name__}): try again") from None


class ReferenceRows(Rows):
    model = ManifestReference
    fields = ("digest",)
    ordering = ("id",)
    verbose_name_plural = "content it needs"
    linked = False


@admin.register(Manifest)
class ManifestAdmin(ReadOnlyAdmin):
    list_display = ("digest", "project", "tag_names", "media_type", "image_size", "created", "last_pulled")
    list_filter = ("media_type", PROJECT, "created", "last_pulled")
    list_select_related = ("project",)
    search_fields = ("digest", "project__slug", "tags__name")
    uuid_fields = ("pk", "project")
    search_help_text = "digest, project or tag"
    ordering = ("-created", "-id")
    fields = ("digest", "project", "tag_names", "media_type", "artifact_type", "subject", "image_size", "created", "last_pulled")
    inlines = (ReferenceRows,)
    acts = (
        Act("remove", "Delete", "deleted; its blobs go with the next garbage collection", _delete,
            "Its tags go with it, and jobs that name it by digest can no longer pull it.", danger=True, gone=True),
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Manifest]:
        return selectors.manifests().select_related("project").prefetch_related("tags")

    @display(description="tags")
    def tag_names(self, manifest: Manifest) -> str:
        return ", ".join(sorted(tag.name for tag in manifest.tags.all()))

    @display(description="size", ordering="image_size")
    def image_size(self, manifest: Any) -> str:
        return filesizeformat(manifest.image_size)


@admin.register(Tag)
class TagAdmin(ReadOnlyAdmin):
    list_display = ("name", "project", "manifest", "modified", "last_pulled")
    list_filter = (PROJECT, "modified")
    list_select_related = ("project", "manifest")
    search_fields = ("name", "project__slug", "manifest__digest")
    uuid_fields = ("pk", "project", "manifest")
    ordering = ("-modified", "-id")
    fields = ("name", "project", "manifest", "created", "modified", "last_pulled")

    @display(description="last pull", ordering="manifest__last_pulled")
    def last_pulled(self, tag: Tag) -> Any:
        return tag.manifest.last_pulled or "never"


@admin.register(Blob)
class BlobAdmin(EndlessAdmin):
    list_display = ("digest", "project", "stored", "created", "touched")
    list_filter = (PROJECT, "created", "touched")
    list_select_related = ("project",)
    search_fields = ("digest", "project__slug")
    uuid_fields = ("pk", "project")
    ordering = ("-created", "-id")
    fields = ("digest", "project", "stored", "key", "created", "touched")

    @display(description="size", ordering="size")
    def stored(self, row: Blob) -> str:
        return filesizeformat(row.size)


@admin.register(ManifestReference)
class ManifestReferenceAdmin(EndlessAdmin):
    list_display = ("manifest", "digest", "project")
    list_filter = (PROJECT,)
    list_select_related = ("manifest", "project")
    search_fields = ("digest", "manifest__digest")
    uuid_fields = ("manifest", "project")
    ordering = ("-id",)
    fields = ("manifest", "digest", "project")


@admin.register(Upload)
class UploadAdmin(ReadOnlyAdmin):
    """Uploads that are arriving, or that their client gave up."""

    list_display = ("id", "project", "stored", "created", "touched", "writer_until")
    list_filter = (PROJECT, "created", "touched")
    list_select_related = ("project",)
    search_fields = ("project__slug",)
    uuid_fields = ("pk", "project")
    ordering = ("-created", "-id")
    fields = ("id", "project", "stored", "writer", "writer_until", "created", "touched")

    @display(description="safe bytes", ordering="size")
    def stored(self, row: Upload) -> str:
        return filesizeformat(row.size)
