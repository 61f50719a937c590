"""Garbage: blobs that no manifest needs, uploads that nobody went on with, objects that no row covers.

Safe beside pushes, and beside itself at other nodes. A blob's row goes first, by one DELETE that looks at the row's own ``touched``: a push that
relies on the blob touches it, so the database decides which of the two came first. The object goes after the commit; it belonged to that row
alone, so a push of the same content in between has made another.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from itertools import islice
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet

from bencher.core.ids import as_uuid
from bencher.projects.models import Project
from outputs.models import Blob, Manifest, ManifestReference, Upload
from outputs.registry.services.blobs import grace
from outputs.registry.storage import Entry, get_storage

logger = logging.getLogger("bencher.registry")
BATCH = 500
SETTLING = timedelta(minutes=15)
"""An object younger than this may belong to a manifest whose row is about to be written."""


@dataclass
class Collected:
    """What was removed, or would be. ``bytes`` of blobs and stray objects together."""

    uploads: int = 0
    blobs: int = 0
    objects: int = 0
    bytes: int = 0

    def as_dict(self) -> dict[str, int]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def collect_garbage(*, now: datetime, keep_for: timedelta | None = None, dry_run: bool = False) -> Collected:
    """``keep_for``: how long unneeded blobs stay after a push last relied on them; default: as long as an upload may rest.

    Raises `StorageError`; what was removed until then stays removed, and the next run goes on.
    """
    done = Collected()
    done.uploads = expire_uploads(now=now, dry_run=dry_run)
    _collect_blobs(done, now - (grace() if keep_for is None else keep_for), dry_run)
    _collect_objects(done, now - SETTLING, dry_run)
    if not dry_run:
        get_storage().clean(now - timedelta(days=1))
    if any(done.as_dict().values()):
        logger.info("garbage collection%s: %s", " (dry run)" if dry_run else "", done.as_dict())
    return done


def expire_uploads(*, now: datetime, dry_run: bool = False) -> int:
    """End the sessions that rested for longer than the timeout; how many."""
    stale = Upload.objects.filter(
        Q(writer=None) | Q(writer_until__lt=now), touched__lt=now - timedelta(seconds=settings.BENCHER_REGISTRY_UPLOAD_TIMEOUT)
    )
    if dry_run:
        return stale.count()
    ended = 0
    for pk, key in stale.values_list("pk", "key"):
        # Once the row is gone nobody can finish the upload: whatever is under its key belongs to nothing.
        if stale.filter(pk=pk).delete()[0]:
            get_storage().abort(key)
            get_storage().delete(key)
            ended += 1
    return ended


def _collect_blobs(done: Collected, before: datetime, dry_run: bool) -> None:
    for pk, key, size in _unneeded(before).values_list("pk", "key", "size"):
        if not dry_run:
            if not _unneeded(before).filter(pk=pk).delete()[0]:
                continue
            get_storage().delete(key)
        done.blobs += 1
        done.bytes += size


def _unneeded(before: datetime) -> QuerySet[Blob]:
    needed = ManifestReference.objects.filter(project=OuterRef("project"), digest=OuterRef("digest"))
    return Blob.objects.filter(~Exists(needed), touched__lt=before)


def _collect_objects(done: Collected, before: datetime, dry_run: bool) -> None:
    storage = get_storage()
    entries = (entry for entry in storage.list() if entry.modified < before)
    while batch := list(islice(entries, BATCH)):
        for entry in _uncovered(batch):
            if not dry_run:
                storage.delete(entry.key)
            done.objects += 1
            done.bytes += entry.size
    for entry in storage.uploads():
        if entry.modified < before and not Upload.objects.filter(key=entry.key).exists():
            if not dry_run:
                storage.abort(entry.key)
            done.objects += 1
            done.bytes += entry.size


def _uncovered(entries: list[Entry]) -> Iterator[Entry]:
    """Uploads are asked before blobs: a row moves that way, never back."""
    covered: set[str] = set()
    keys = [entry.key for entry in entries]
    for model in (Upload, Blob, Manifest):
        covered.update(model.objects.filter(key__in=keys).values_list("key", flat=True))
    owners = {owner for entry in entries if (owner := _owner(entry.key))}
    known = set(Project.objects.filter(pk__in=owners).values_list("pk", flat=True))
    for entry in entries:
        owner = _owner(entry.key)
        if owner and entry.key not in covered and (_is_image_part(entry.key) or owner not in known):
            yield entry


def _owner(key: str) -> UUID | None:
    """The project that the key belongs to; None: not a name that we make, so not ours to remove."""
    return as_uuid(key.split("/", 1)[0])


def _is_image_part(key: str) -> bool:
    """Job outputs are named by job rows, which are not known here: they go with their project only."""
    return key.split("/")[1] in ("blobs", "manifests")
