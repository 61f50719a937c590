"""Reads of the registry: tags, referrers, and what a tag names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from bencher.projects.models import Project
from outputs.models import Manifest, Tag
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
        found = found.filter(artifact_type=artifact_type)
    for manifest in found.iterator():
        descriptor: dict[str, Any] = {"mediaType": manifest.media_type, "digest": manifest.digest, "size": manifest.size}
        if manifest.artifact_type:
            descriptor["artifactType"] = manifest.artifact_type
        if manifest.annotations:
            descriptor["annotations"] = manifest.annotations
        yield descriptor
