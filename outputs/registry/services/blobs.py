"""Whole blobs: find, read, mount, delete."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from django.conf import settings
from django.db import connection, transaction

from bencher.projects.models import Project
from outputs.models import Blob, Upload
from outputs.registry.digest import Digest
from outputs.registry.errors import BlobUnknown
from outputs.registry.storage import NotFound, Reader, get_storage


@dataclass(frozen=True, slots=True)
class Found:
    """A blob that is there: digest and bytes."""

    digest: str
    size: int
    key: str


def grace() -> timedelta:
    """How long content that nothing refers to is safe after a push relied on it: a push lasts no longer than its uploads may."""
    return timedelta(seconds=settings.BENCHER_REGISTRY_UPLOAD_TIMEOUT)


def find_blob(*, project: Project, digest: Digest, now: datetime) -> Found:
    """Raises `BlobUnknown`, also when the storage has lost it.

    A pusher who sees the blob will not send it, so seeing it keeps it from garbage collection for a while.
    """
    blob = Blob.objects.filter(project=project, digest=str(digest)).first()
    if blob is None or not get_storage().exists(blob.key):
        raise BlobUnknown
    if blob.touched < now - grace() / 4 and not Blob.objects.filter(pk=blob.pk).update(touched=now):
        raise BlobUnknown
    return Found(blob.digest, blob.size, blob.key)


def read_blob(*, found: Found, start: int = 0, end: int | None = None) -> Reader:
    """Raises `BlobUnknown` when it was deleted meanwhile."""
    try:
        return get_storage().open_read(found.key, start, end)
    except NotFound:
        raise BlobUnknown from None


def delete_blob(*, project: Project, digest: Digest) -> None:
    """Whatever refers to it. Raises `BlobUnknown`."""
    with transaction.atomic():
        blob = Blob.objects.select_for_update().filter(project=project, digest=str(digest)).first()
        if blob is None:
            raise BlobUnknown
        blob.delete()
        transaction.on_commit(lambda: get_storage().delete(blob.key), robust=True)


def mount_blob(*, source: Project, target: Project, digest: Digest, now: datetime) -> bool:
    """Give ``target`` the blob of ``source``; False when that has none."""
    if _holds(target, digest, now):
        return True
    blob = Blob.objects.filter(project=source, digest=str(digest)).first()
    if blob is None:
        return False
    upload = new_upload(project=target, now=now)
    let_go_of_the_connection()
    try:
        get_storage().copy(blob.key, upload.key)
    except NotFound:
        upload.delete()
        return False
    with transaction.atomic():
        Upload.objects.filter(pk=upload.pk).delete()
        adopt(project=target, digest=digest, size=blob.size, key=upload.key, now=now)
    return True


def _holds(project: Project, digest: Digest, now: datetime) -> bool:
    blob = Blob.objects.filter(project=project, digest=str(digest)).first()
    return blob is not None and get_storage().exists(blob.key) and Blob.objects.filter(pk=blob.pk).update(touched=now) > 0


def new_upload(*, project: Project, now: datetime) -> Upload:
    """The row that covers the object of a blob until the blob's own row does."""
    name = uuid4()
    return Upload.objects.create(id=name, project=project, key=f"{project.pk}/blobs/{name}", created=now, touched=now)


def let_go_of_the_connection() -> None:
    """Before the storage works for long: a pool has few connections, and others wait for one. The next query gets another."""
    if connection.vendor == "postgresql" and not connection.in_atomic_block:
        connection.close()


def adopt(*, project: Project, digest: Digest, size: int, key: str, now: datetime) -> None:
    """Make the object at ``key`` the project's blob, inside the transaction that ends its upload.

    When the project has that content already, one of the two objects goes: the new one, unless the storage has lost the old one.
    """
    storage = get_storage()
    wanted = {"size": size, "key": key, "created": now, "touched": now}
    blob, created = Blob.objects.select_for_update().get_or_create(project=project, digest=str(digest), defaults=wanted)
    if created:
        return
    kept = blob.key if storage.exists(blob.key) else key
    lost = key if kept == blob.key else blob.key
    Blob.objects.filter(pk=blob.pk).update(touched=now, key=kept, size=size)
    transaction.on_commit(lambda: storage.delete(lost), robust=True)
