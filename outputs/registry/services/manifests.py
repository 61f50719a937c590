"""Manifests and tags: store, serve, delete (registry.md 1.7, section 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from django.db import transaction

from bencher.core.ids import uuid7
from bencher.projects.models import Project
from outputs.models import Blob, Manifest, ManifestReference, Tag
from outputs.registry import manifests
from outputs.registry.digest import Digest, InvalidDigest, digest_of, parse_digest
from outputs.registry.errors import DigestInvalid, ManifestBlobUnknown, ManifestInvalid, ManifestUnknown, TagInvalid
from outputs.registry.storage import NotFound, get_storage

PULL_PRECISION = timedelta(minutes=1)
"""The time of the last pull is written once in so long: a fleet that pulls one image must not queue for its row."""


@dataclass(frozen=True, slots=True)
class Stored:
    digest: str
    subject: str | None


@dataclass(frozen=True, slots=True)
class Served:
    digest: str
    media_type: str
    size: int
    content: bytes


def put_manifest(
    *, project: Project, reference: str, content: bytes, content_type: str | None, tags: Sequence[str] = (), now: datetime
) -> Stored:
    """Store the exact bytes under ``reference`` (a tag or a digest) and ``tags``.

    Raises `TagInvalid`, `DigestInvalid`, `ManifestInvalid`, `ManifestBlobUnknown`, `StorageError`.
    """
    expected = _as_digest(reference)
    names = dict.fromkeys([*([] if expected else [reference]), *tags])
    if not all(map(manifests.is_tag, names)):
        raise TagInvalid
    try:
        document = manifests.read_manifest(content, content_type)
    except manifests.InvalidManifest as problem:
        raise ManifestInvalid(str(problem)) from None
    digest = digest_of(content, expected.algorithm) if expected else digest_of(content)
    if expected and digest != expected:
        raise DigestInvalid
    _check_held(project, document)
    key = f"{project.pk}/manifests/{uuid4()}"
    get_storage().put(key, content)
    try:
        with transaction.atomic():
            _pin(project, document, now)
            manifest = _store(project, digest, document, len(content), key, now)
            _tag(project, manifest, list(names), now)
    except ManifestBlobUnknown:
        get_storage().delete(key)
        raise
    return Stored(str(digest), str(document.subject) if document.subject else None)


def get_manifest(*, project: Project, reference: str, content: bool, now: datetime) -> Served:
    """``content`` False: without the bytes, and no pull. Raises `ManifestUnknown`, also for what is neither tag nor digest."""
    manifest = _find(project, reference)
    storage = get_storage()
    try:
        data = storage.get(manifest.key) if content else b""
    except NotFound:
        raise ManifestUnknown from None
    if not content and not storage.exists(manifest.key):
        raise ManifestUnknown
    if content and (manifest.last_pulled is None or manifest.last_pulled < now - PULL_PRECISION):
        Manifest.objects.filter(pk=manifest.pk).update(last_pulled=now)
    return Served(manifest.digest, manifest.media_type, manifest.size, data)


def delete_manifest(*, project: Project, reference: str) -> str:
    """A tag takes itself away only; a digest the manifest with its tags. The digest. Raises `ManifestUnknown`."""
    manifest = _find(project, reference)
    if manifest.digest != _text(reference):
        if not Tag.objects.filter(project=project, name=reference).delete()[0]:
            raise ManifestUnknown
        return manifest.digest
    with transaction.atomic():
        locked = Manifest.objects.select_for_update().filter(pk=manifest.pk).first()
        if locked is None:
            raise ManifestUnknown
        locked.delete()
        transaction.on_commit(lambda: get_storage().delete(locked.key), robust=True)
    return manifest.digest


def _as_digest(reference: str) -> Digest | None:
    """None: it is no digest, so it must be a tag. Raises `DigestInvalid`."""
    if ":" not in reference:
        return None
    try:
        return parse_digest(reference)
    except InvalidDigest as problem:
        raise DigestInvalid(str(problem)) from None


def _text(reference: str) -> str:
    try:
        return str(parse_digest(reference))
    except InvalidDigest:
        return reference


def _find(project: Project, reference: str) -> Manifest:
    digest = _text(reference)
    if ":" in digest:
        found = Manifest.objects.filter(project=project, digest=digest).first()
    else:
        found = Manifest.objects.filter(tags__project=project, tags__name=reference).first() if manifests.is_tag(reference) else None
    if found is None:
        raise ManifestUnknown
    return found


def _check_held(project: Project, document: manifests.Manifest) -> None:
    """Is everything that the document needs there, in the storage too? Raises `ManifestBlobUnknown`."""
    wanted = {str(digest) for digest in document.references}
    keys = dict(Blob.objects.filter(project=project, digest__in=wanted).values_list("digest", "key"))
    keys |= dict(
        Manifest.objects.filter(project=project, digest__in={str(child) for child in document.children}).values_list("digest", "key")
    )
    if absent := wanted - keys.keys():
        raise _not_pushed(absent)
    lost = get_storage().missing(keys.values())
    if absent := {digest for digest, key in keys.items() if key in lost}:
        raise _not_pushed(absent)


def _pin(project: Project, document: manifests.Manifest, now: datetime) -> None:
    """Lock what the document needs, in one order for all, and touch it: garbage collection looks at the row again and leaves it."""
    wanted = {str(digest) for digest in document.references}
    held = dict(Blob.objects.select_for_update().filter(project=project, digest__in=wanted).order_by("id").values_list("id", "digest"))
    Blob.objects.filter(pk__in=held).update(touched=now)
    rest = wanted - set(held.values())
    if rest:
        rest -= set(
            Manifest.objects.select_for_update().filter(project=project, digest__in=rest).order_by("id").values_list("digest", flat=True)
        )
    if rest:
        raise _not_pushed(rest)


def _not_pushed(absent: set[str]) -> ManifestBlobUnknown:
    return ManifestBlobUnknown(f"{len(absent)} of the contents that the manifest needs were not pushed, such as {min(absent)}")


def _store(project: Project, digest: Digest, document: manifests.Manifest, size: int, key: str, now: datetime) -> Manifest:
    """The row, made or found; of two objects with the same bytes the new one goes, unless the storage has lost the old one."""
    values = {
        "media_type": document.media_type,
        "size": size,
        "key": key,
        "artifact_type": document.artifact_type,
        "subject": str(document.subject) if document.subject else None,
        "annotations": document.annotations if document.subject else {},
    }
    manifest, created = Manifest.objects.select_for_update().get_or_create(
        project=project, digest=str(digest), defaults={**values, "created": now}
    )
    if created:
        ManifestReference.objects.bulk_create(
            ManifestReference(manifest=manifest, project=project, digest=str(needed)) for needed in sorted(document.references, key=str)
        )
        return manifest
    storage = get_storage()
    kept, lost = (manifest.key, key) if storage.exists(manifest.key) else (key, manifest.key)
    Manifest.objects.filter(pk=manifest.pk).update(key=kept)
    transaction.on_commit(lambda: storage.delete(lost), robust=True)
    return manifest


def _tag(project: Project, manifest: Manifest, names: list[str], now: datetime) -> None:
    Tag.objects.bulk_create(
        [Tag(id=uuid7(), project=project, name=name, manifest=manifest, created=now, modified=now) for name in sorted(names)],
        update_conflicts=True,
        unique_fields=["project", "name"],
        update_fields=["manifest", "modified"],
    )
