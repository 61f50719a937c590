"""Upload sessions: blobs that arrive in pieces, over several requests and at several servers (registry.md 1.6, section 7).

A request's bytes count all or not at all: what was refused or broke off leaves the session as it was. One request at a time writes to a
session: it holds the row's lease (``writer``, ``writer_until``), which runs out by itself when its process dies.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from bencher.core.ids import as_uuid
from bencher.projects.models import Project
from outputs.models import Upload
from outputs.registry.digest import Digest, digest_of_pieces
from outputs.registry.errors import BlobUploadInvalid, BlobUploadUnknown, DigestInvalid, SizeInvalid, UploadClash
from outputs.registry.ranges import Span, stored_range
from outputs.registry.services import hashes
from outputs.registry.services.blobs import adopt, let_go_of_the_connection, new_upload
from outputs.registry.storage import Appender, NotFound, StorageError, UploadBusy, get_storage

logger = logging.getLogger("bencher.registry")
LEASE = timedelta(seconds=120)
RENEWAL = timedelta(seconds=30)


def start_upload(*, project: Project, now: datetime) -> Upload:
    return new_upload(project=project, now=now)


def find_upload(*, project: Project, text: str, now: datetime) -> Upload:
    """The session of that id in that project. Raises `BlobUploadUnknown`, also when it has rested for longer than the timeout."""
    upload_id = as_uuid(text)
    upload = upload_id and Upload.objects.filter(pk=upload_id, project=project).filter(_alive(now)).first()
    if not upload:
        raise BlobUploadUnknown
    return upload


def cancel_upload(*, project: Project, text: str, now: datetime) -> None:
    """Raises `BlobUploadUnknown`, `UploadClash` while somebody writes."""
    upload = find_upload(project=project, text=text, now=now)
    if not Upload.objects.filter(_free(now), pk=upload.pk).delete()[0]:
        raise UploadClash
    get_storage().abort(upload.key)


def begin_whole(*, project: Project, digest: Digest, length: int | None, now: datetime) -> Writer:
    """A session for a blob that comes in one request. Raises `SizeInvalid`, `StorageError`."""
    upload = new_upload(project=project, now=now)
    try:
        return take(upload=upload, span=None, length=length, now=now, algorithm=digest.algorithm)
    except BaseException:
        upload.delete()
        raise


def take(*, upload: Upload, span: Span | None, length: int | None, now: datetime, algorithm: str | None = None) -> Writer:
    """Append to the session. ``span``: Content-Range, ``length``: Content-Length, ``algorithm``: of the digest of the whole; None = not known.

    Raises `BlobUploadInvalid` (the chunk does not start where the session ends, or is not as long as it says), `BlobUploadUnknown`,
    `SizeInvalid`, `UploadClash`, `StorageError`.
    """
    if span is not None and (span.first != upload.size or length not in (None, span.length)):
        raise _out_of_order(upload)
    if upload.size + (length or 0) > settings.BENCHER_REGISTRY_MAX_BODY_BYTES:
        raise SizeInvalid
    token = uuid4()
    mine = {"writer": token, "writer_until": now + LEASE, "touched": now}
    if not Upload.objects.filter(_free(now), pk=upload.pk, size=upload.size).update(**mine):
        raise UploadClash
    try:
        appender = get_storage().append(upload.key, upload.state, upload.size)
    except NotFound:
        Upload.objects.filter(pk=upload.pk, writer=token).delete()
        raise BlobUploadUnknown("the storage has lost this upload") from None
    except UploadBusy:
        _release(upload.pk, token)
        raise UploadClash from None
    except StorageError:
        _release(upload.pk, token)
        raise
    return Writer(upload, token, appender, span, now, algorithm)


class Writer:
    """One request's hold on a session. Ends with `keep`, `close` or `discard`. Not for two threads at once."""

    def __init__(self, upload: Upload, token: UUID, appender: Appender, span: Span | None, now: datetime, algorithm: str | None) -> None:
        self.upload, self.size = upload, upload.size
        self._token, self._appender, self._span, self._renewed = token, appender, span, now
        self._running = hashes.resume(upload.pk, upload.size, algorithm)

    def write(self, data: bytes, now: datetime) -> None:
        """Raises `SizeInvalid` before a byte too many is stored, `StorageError`, `UploadClash` (the lease was lost)."""
        self.size += len(data)
        if self.size > settings.BENCHER_REGISTRY_MAX_BODY_BYTES:
            raise SizeInvalid
        if now - self._renewed > RENEWAL:
            self._renew(now)
        if self._running:
            self._running.update(data)
        self._appender.write(data)

    def keep(self, now: datetime) -> int:
        """The chunk counts; the size of all that is stored. Raises `BlobUploadInvalid` when it was not as long as it said."""
        self._check_length()
        state = self._appender.commit()
        kept = {"size": self.size, "state": state, "writer": None, "writer_until": None, "touched": now}
        if not Upload.objects.filter(pk=self.upload.pk, writer=self._token).update(**kept):
            raise UploadClash
        hashes.remember(self.upload.pk, self.size, self._running)
        return self.size

    def close(self, digest: Digest, now: datetime) -> None:
        """The session becomes the blob. Raises `BlobUploadInvalid`; `DigestInvalid`, and the session is gone."""
        self._check_length()
        if self._running and self._running.algorithm == digest.algorithm and self._running.hexdigest() != digest.hex:
            self._abandon()
            raise DigestInvalid
        self._renew(now)
        let_go_of_the_connection()
        try:
            self._appender.finish()
        except NotFound:
            Upload.objects.filter(pk=self.upload.pk, writer=self._token).delete()
            raise BlobUploadUnknown("the storage has lost this upload") from None
        self._check_stored(digest)
        with transaction.atomic():
            if not Upload.objects.filter(pk=self.upload.pk, writer=self._token).delete()[0]:
                raise UploadClash
            adopt(project=self.upload.project, digest=digest, size=self.size, key=self.upload.key, now=now)
        hashes.forget(self.upload.pk)

    def discard(self) -> None:
        """The session is what it was."""
        if not self._appender.ended:
            self._appender.rollback()
        _release(self.upload.pk, self._token)

    def _check_length(self) -> None:
        if self._span is not None and self.size != self._span.last + 1:
            raise _out_of_order(self.upload)

    def _check_stored(self, digest: Digest) -> None:
        """What was not hashed as it came (another server took a part, another algorithm was wanted) is read again."""
        if self._running and self._running.algorithm == digest.algorithm:
            return
        storage = get_storage()
        if digest_of_pieces(storage.open_read(self.upload.key), digest.algorithm) != digest:
            storage.delete(self.upload.key)
            Upload.objects.filter(pk=self.upload.pk, writer=self._token).delete()
            raise DigestInvalid

    def _abandon(self) -> None:
        self._appender.rollback()
        if Upload.objects.filter(pk=self.upload.pk, writer=self._token).delete()[0]:
            get_storage().abort(self.upload.key)

    def _renew(self, now: datetime) -> None:
        if not Upload.objects.filter(pk=self.upload.pk, writer=self._token).update(writer_until=now + LEASE, touched=now):
            raise UploadClash
        self._renewed = now


def drop(*, writer: Writer) -> None:
    """End the session of a writer that gave up."""
    if Upload.objects.filter(pk=writer.upload.pk, writer=None).delete()[0]:
        get_storage().abort(writer.upload.key)


def session_headers(upload: Upload, size: int | None = None) -> dict[str, str]:
    """What every answer about a session says of it. The place is relative; ``size`` = of the row unless given."""
    return {"Range": stored_range(upload.size if size is None else size), "Docker-Upload-UUID": str(upload.pk)}


def _out_of_order(upload: Upload) -> BlobUploadInvalid:
    return BlobUploadInvalid(headers=session_headers(upload))


def forget_writers() -> int:
    """At the start of a server that is the only one: whoever wrote to a session is dead. How many there were."""
    return Upload.objects.exclude(writer=None).update(writer=None, writer_until=None)


def _release(pk: UUID, token: UUID) -> None:
    Upload.objects.filter(pk=pk, writer=token).update(writer=None, writer_until=None)


def _free(now: datetime) -> Q:
    return Q(writer=None) | Q(writer_until__lt=now)


def _alive(now: datetime) -> Q:
    return Q(touched__gte=now - timedelta(seconds=settings.BENCHER_REGISTRY_UPLOAD_TIMEOUT))
