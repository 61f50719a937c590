"""Upload sessions: order, limits, leases, expiry, closing."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Any

import pytest

from bencher.projects.models import Project
from jobs.recovery import recover_alone, recover_embedded
from outputs.models import Blob, Upload
from outputs.registry.digest import digest_of
from outputs.registry.errors import (
    BlobUploadInvalid,
    BlobUploadUnknown,
    DigestInvalid,
    SizeInvalid,
    UploadClash,
)
from outputs.registry.ranges import Span
from outputs.registry.services import hashes, uploads
from outputs.registry.services.uploads import LEASE, RENEWAL, Writer
from outputs.registry.storage import get_storage
from tests.integration.outputs.registry.conftest import make_project, push_blob

DATA = bytes(range(256)) * 4


def open_at(project: Project, upload: Upload, now: datetime, span: Span | None = None, length: int | None = None) -> Writer:
    found = uploads.find_upload(project=project, text=str(upload.pk), now=now)
    return uploads.take(upload=found, span=span, length=length, now=now)


def append(project: Project, upload: Upload, data: bytes, now: datetime) -> int:
    writer = open_at(project, upload, now)
    writer.write(data, now)
    return writer.keep(now)


@pytest.fixture
def upload(project: Project, now: datetime) -> Upload:
    return uploads.start_upload(project=project, now=now)


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
@pytest.mark.parametrize("remembered", [True, False], ids=["same server", "another server"])
def test_chunks_become_the_blob(project: Project, upload: Upload, now: datetime, algorithm: str, remembered: bool) -> None:
    """Whether the hash is known from before or must be made of the stored bytes."""
    for start in range(0, len(DATA), 100):
        append(project, upload, DATA[start : start + 100], now)
        if not remembered:
            hashes.forget(upload.pk)
    digest = digest_of(DATA, algorithm)
    open_at(project, upload, now).close(digest, now)
    blob = Blob.objects.get(project=project, digest=str(digest))
    assert (blob.size, get_storage().get(blob.key)) == (len(DATA), DATA)
    assert not Upload.objects.exists()
    assert list(get_storage().uploads()) == []


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
@pytest.mark.parametrize("remembered", [True, False])
def test_a_wrong_digest_ends_the_session(project: Project, upload: Upload, now: datetime, algorithm: str, remembered: bool) -> None:
    append(project, upload, DATA, now)
    if not remembered:
        hashes.forget(upload.pk)
    with pytest.raises(DigestInvalid):
        open_at(project, upload, now).close(digest_of(b"other", algorithm), now)
    assert not Upload.objects.exists()
    assert not Blob.objects.exists()
    assert list(get_storage().list()) == list(get_storage().uploads()) == []


@pytest.mark.parametrize(("span", "length"), [(Span(1, 2), None), (Span(0, 9), 5), (Span(0, 9), 11)])
def test_a_chunk_out_of_order(project: Project, upload: Upload, now: datetime, span: Span, length: int | None) -> None:
    with pytest.raises(BlobUploadInvalid) as refused:
        open_at(project, upload, now, span, length)
    assert refused.value.headers == {"Range": "0-0", "Docker-Upload-UUID": str(upload.pk)}
    assert append(project, upload, DATA, now) == len(DATA)


@pytest.mark.parametrize("size", [5, 15])
def test_a_chunk_of_another_length_than_it_says(project: Project, upload: Upload, now: datetime, size: int) -> None:
    append(project, upload, DATA[:10], now)
    writer = open_at(project, upload, now, Span(10, 19))
    writer.write(DATA[:size], now)
    with pytest.raises(BlobUploadInvalid) as refused:
        writer.keep(now)
    writer.discard()
    assert refused.value.headers["Range"] == "0-9"
    assert append(project, upload, DATA[10:], now) == len(DATA)
    open_at(project, upload, now).close(digest_of(DATA), now)


def test_the_limit_counts_the_session(project: Project, upload: Upload, now: datetime, settings: Any) -> None:
    settings.BENCHER_REGISTRY_MAX_BODY_BYTES = 100
    append(project, upload, DATA[:60], now)
    with pytest.raises(SizeInvalid):
        open_at(project, upload, now, length=41)
    writer = open_at(project, upload, now)
    writer.write(DATA[:40], now)
    with pytest.raises(SizeInvalid):
        writer.write(b"x", now)
    writer.discard()
    assert append(project, upload, DATA[60:100], now) == 100


def test_one_writer_at_a_time(project: Project, upload: Upload, now: datetime) -> None:
    writer = open_at(project, upload, now)
    with pytest.raises(UploadClash):
        open_at(project, upload, now)
    with pytest.raises(UploadClash):
        uploads.cancel_upload(project=project, text=str(upload.pk), now=now)
    writer.discard()
    assert append(project, upload, DATA, now) == len(DATA)


def test_a_dead_writer_is_outlived(project: Project, upload: Upload, now: datetime) -> None:
    """Its process was killed: the lease runs out, what it wrote does not count."""
    append(project, upload, DATA[:10], now)
    dead = open_at(project, upload, now)
    dead.write(b"never committed", now)
    dead._appender.rollback()  # the kernel frees the lock of a killed process
    later = now + LEASE + timedelta(seconds=1)
    writer = open_at(project, upload, later)
    writer.write(DATA[10:], later)
    with pytest.raises(UploadClash):
        dead._renew(later)
    writer.close(digest_of(DATA), later)


def test_the_only_server_waits_for_no_dead_writer(project: Project, upload: Upload, now: datetime) -> None:
    """It has just started: the client goes on where its bytes are safe, at once."""
    append(project, upload, DATA[:10], now)
    dead = open_at(project, upload, now)
    dead._appender.rollback()  # the kernel frees the lock of a killed process
    recover_alone(now=now)
    assert append(project, upload, DATA[10:], now) == len(DATA)
    with pytest.raises(UploadClash):
        dead._renew(now)


def test_a_server_with_others_leaves_their_writers_alone(project: Project, upload: Upload, now: datetime, settings: Any) -> None:
    """`manage.py up` on a database server that another node uses, too."""
    settings.ON_SQLITE = False
    writer = open_at(project, upload, now)
    recover_embedded(now=now)
    writer._renew(now)


def test_a_long_request_keeps_its_lease(project: Project, upload: Upload, now: datetime) -> None:
    writer = open_at(project, upload, now)
    for step in range(1, 6):
        writer.write(b"x", now + step * (RENEWAL + timedelta(seconds=1)))
    moment = now + 6 * RENEWAL
    with pytest.raises(UploadClash):
        open_at(project, upload, moment)
    assert writer.keep(moment) == 5


def test_sessions_belong_to_their_project(project: Project, upload: Upload, now: datetime) -> None:
    other = make_project("other")
    for text in (str(upload.pk), str(uuid.uuid4()), "not-a-uuid", ""):
        with pytest.raises(BlobUploadUnknown):
            uploads.find_upload(project=other, text=text, now=now)


def test_sessions_expire(project: Project, upload: Upload, now: datetime, settings: Any) -> None:
    settings.BENCHER_REGISTRY_UPLOAD_TIMEOUT = 60
    append(project, upload, DATA, now + timedelta(seconds=59))
    uploads.find_upload(project=project, text=str(upload.pk), now=now + timedelta(seconds=119))
    with pytest.raises(BlobUploadUnknown):
        uploads.find_upload(project=project, text=str(upload.pk), now=now + timedelta(seconds=120))


def test_cancel(project: Project, upload: Upload, now: datetime) -> None:
    append(project, upload, DATA, now)
    uploads.cancel_upload(project=project, text=str(upload.pk), now=now)
    assert list(get_storage().uploads()) == []
    with pytest.raises(BlobUploadUnknown):
        open_at(project, upload, now)


def test_lost_bytes(project: Project, upload: Upload, now: datetime) -> None:
    append(project, upload, DATA, now)
    get_storage().abort(upload.key)
    with pytest.raises(BlobUploadUnknown):
        open_at(project, upload, now)
    assert not Upload.objects.exists()


def test_the_same_content_twice(project: Project, now: datetime) -> None:
    """The second object goes, the row stays; unless the storage has lost the first one."""
    digest = push_blob(project, DATA)
    first = Blob.objects.get()
    push_blob(project, DATA, now + timedelta(hours=1))
    again = Blob.objects.get()
    assert (again.pk, again.key, again.touched) == (first.pk, first.key, now + timedelta(hours=1))
    assert get_storage().get(first.key) == DATA
    get_storage().delete(first.key)
    assert push_blob(project, DATA) == digest
    repaired = Blob.objects.get()
    assert repaired.key != first.key
    assert get_storage().get(repaired.key) == DATA


def test_a_whole_blob_that_is_too_large_leaves_nothing(project: Project, now: datetime, settings: Any) -> None:
    settings.BENCHER_REGISTRY_MAX_BODY_BYTES = 100
    with pytest.raises(SizeInvalid):
        uploads.begin_whole(project=project, digest=digest_of(DATA), length=101, now=now)
    writer = uploads.begin_whole(project=project, digest=digest_of(DATA), length=None, now=now)
    with pytest.raises(SizeInvalid):
        writer.write(DATA, now)
    writer.discard()
    uploads.drop(writer=writer)
    assert not Upload.objects.exists()
    assert list(get_storage().uploads()) == []
