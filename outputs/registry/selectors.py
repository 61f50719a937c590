"""Reads of the registry: tags, referrers, what a tag names, what a repository holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.db.models import Aggregate, BigIntegerField, Count, Max, Model, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from bencher.projects.models import Project
from outputs.models import Blob, Manifest, ManifestReference, Repository, Tag
from outputs.registry.digest import Digest
from outputs.registry.manifests import is_tag


def resolve_tag(*, project_id: UUID, tag: str) -> str | None:
    """The digest that the tag names now; None = no such tag."""
    if not is_tag(tag):
        return None
    return Tag.objects.filter(project_id=project_id, name=tag).values_list("manifest__digest", flat=True).first()


def list_tags(*, project: Project, after: str, limit: int) -> tuple[list[str], bool]:
    """Up to ``limit`` tags behind ``after`` in the order of their bytes; are there more?"""
    if limit == 0:
        return [], False
    found = Tag.objects.filter(project=project, name__gt=after).order_by("name", "id").values_list("name", flat=True)
    names = list(found[: limit + 1])
    return names[:limit], len(names) > limit


def list_referrers(*, project: Project, subject: Digest, artifact_type: str | None) -> Iterator[dict[str, Any]]:
    """Descriptors of the manifests whose subject is that digest, the oldest first; ``artifact_type`` None = all of them."""
    found = Manifest.objects.filter(project=project, subject=str(subject)).order_by("created", "id")
    if artifact_type is not None:
        found = found.filter(artifact_type=artifact_type.replace("\0", "?"))  # a NUL matches nothing, and PostgreSQL does not take it
    for manifest in found.iterator():
        descriptor: dict[str, Any] = {"mediaType": manifest.media_type, "digest": manifest.digest, "size": manifest.size}
        if manifest.artifact_type:
            descriptor["artifactType"] = manifest.artifact_type
        if manifest.annotations:
            descriptor["annotations"] = manifest.annotations
        yield descriptor


def repositories() -> QuerySet[Repository]:
    """Projects as repositories, with ``tag_count``, ``manifest_count``, ``stored`` (bytes of blobs and manifests) and ``last_pull``."""
    return Repository.objects.filter(deleted=None).annotate(
        tag_count=_of_project(Tag, Count("id")),
        manifest_count=_of_project(Manifest, Count("id")),
        stored=_of_project(Blob, Sum("size")) + _of_project(Manifest, Sum("size")),
        last_pull=Subquery(
            Manifest.objects.filter(project=OuterRef("pk")).order_by().values("project").annotate(found=Max("last_pulled")).values("found")
        ),
    )


def manifests() -> QuerySet[Manifest]:
    """Manifests with ``image_size``: bytes of the blobs that each needs."""
    needed = ManifestReference.objects.filter(manifest=OuterRef(OuterRef("pk"))).values("digest")
    blobs = Blob.objects.filter(project=OuterRef("project"), digest__in=needed).order_by().values("project")
    return Manifest.objects.annotate(image_size=Coalesce(Subquery(blobs.annotate(found=Sum("size")).values("found")), 0))


def _of_project(model: type[Model], number: Aggregate) -> Coalesce:
    """A number about all rows of the project, 0 without any."""
    rows = model._default_manager.filter(project=OuterRef("pk")).order_by().values("project").annotate(found=number)
    return Coalesce(Subquery(rows.values("found"), output_field=BigIntegerField()), 0)
