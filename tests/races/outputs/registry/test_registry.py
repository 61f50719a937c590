"""The registry's writers beside each other and beside garbage collection, on real connections."""

from __future__ import annotations

import os
import threading
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, connections

from bencher.projects.models import Project
from outputs.models import Blob, Manifest, Tag, Upload
from outputs.registry.digest import Digest, digest_of
from outputs.registry.errors import ManifestBlobUnknown, RegistryError, UploadClash
from outputs.registry.services import blobs, manifests, uploads
from outputs.registry.services.garbage import collect_garbage
from outputs.registry.storage import get_storage
from outputs.registry.storage.base import Storage
from outputs.registry.storage.filesystem import FilesystemStorage
from tests.integration.outputs.registry.conftest import NOW, image_of, make_project, push_blob

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]
CROWD = 8


@pytest.fixture(autouse=True)
def _real_database(transactional_db: None, settings: Any, tmp_path: Any) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("threads share no in-memory SQLite database; the acceptance tests race on a file")
    settings.STORAGE_URL = f"file://{tmp_path}"


@pytest.fixture
def project() -> Project:
    return make_project("mine")


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """Each in a thread and on a connection of its own, begun together; results, or exceptions."""
    barrier = threading.Barrier(len(works))

    def one(work: Callable[[], Any]) -> Any:
        try:
            barrier.wait(30)
            return work()
        except Exception as problem:
            return problem
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(one, works))


def clock() -> datetime:
    return datetime.now(UTC)


def stored(project: Project) -> set[str]:
    return {entry.key for entry in get_storage().list()}


def test_one_blob_from_many(project: Project) -> None:
    """Every push succeeds; one row, one object."""
    data = os.urandom(100_000)
    assert set(map(str, at_once(*[lambda: push_blob(project, data)] * CROWD))) == {str(digest_of(data))}
    assert stored(project) == {Blob.objects.get().key}
    assert not Upload.objects.exists()


def test_one_manifest_under_many_tags(project: Project) -> None:
    content = image_of(push_blob(project, b"config"))

    def put(tag: str) -> Callable[[], Any]:
        return lambda: manifests.put_manifest(project=project, reference=tag, content=content, content_type=None, now=NOW)

    at_once(*(put(f"tag-{number}") for number in range(CROWD)), *(put("same") for _ in range(CROWD)))
    assert Tag.objects.count() == CROWD + 1
    assert stored(project) == {Manifest.objects.get().key, Blob.objects.get().key}


def test_one_session_of_many_writers(project: Project) -> None:
    """One chunk of them all counts, whole."""
    upload = uploads.start_upload(project=project, now=NOW)

    def append(byte: bytes) -> Callable[[], int]:
        def work() -> int:
            found = uploads.find_upload(project=project, text=str(upload.pk), now=NOW)
            writer = uploads.take(upload=found, span=None, length=None, now=NOW)
            for _ in range(20):
                writer.write(byte * 1000, NOW)
            return writer.keep(NOW)

        return work

    outcomes = at_once(*(append(bytes([number])) for number in range(CROWD)))
    counts = Counter(type(outcome) for outcome in outcomes)
    assert counts.keys() <= {int, UploadClash}
    kept = Upload.objects.get().size
    assert kept == 20_000 * counts[int]
    writer = uploads.take(upload=Upload.objects.get(), span=None, length=None, now=NOW)
    writer._appender.finish()
    data = get_storage().get(upload.key)
    assert len(data) == kept
    assert all(len(set(data[at : at + 20_000])) == 1 for at in range(0, kept, 20_000))


def test_closing_and_cancelling(project: Project) -> None:
    """Either the blob is there or it is not; nothing half."""
    for _ in range(10):
        data = os.urandom(1000)
        digest, upload = digest_of(data), uploads.start_upload(project=project, now=NOW)

        def close(upload: Upload = upload, data: bytes = data, digest: Digest = digest) -> None:
            writer = uploads.take(upload=upload, span=None, length=None, now=NOW)
            writer.write(data, NOW)
            writer.close(digest, NOW)

        def cancel(upload: Upload = upload) -> None:
            uploads.cancel_upload(project=project, text=str(upload.pk), now=NOW)

        closed, cancelled = at_once(close, cancel)
        if closed is None:
            assert isinstance(cancelled, RegistryError)
            found = blobs.find_blob(project=project, digest=digest, now=NOW)
            assert b"".join(blobs.read_blob(found=found)) == data
        else:
            assert cancelled is None or isinstance(closed, UploadClash)
            assert not Blob.objects.filter(digest=str(digest)).exists()


def test_whatever_was_pushed_survives_the_collection(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A collection far too eager, round and round. A push may find its blob gone and has to send it again; but a manifest that was accepted
    is whole."""
    shared, done, collected = os.urandom(500), threading.Event(), []
    accepted: list[tuple[str, list[bytes]]] = []

    def pushes(number: int) -> Callable[[], None]:
        def work() -> None:
            for turn in range(6):
                contents = [uuid.uuid4().bytes, shared]
                while True:
                    config, layer = (push_blob(project, data, clock()) for data in contents)
                    try:
                        content = image_of(config, layer)
                        manifests.put_manifest(
                            project=project, reference=f"t{number}-{turn}", content=content, content_type=None, now=clock()
                        )
                        break
                    except ManifestBlobUnknown:
                        continue
                accepted.append((f"t{number}-{turn}", contents))
                if turn % 3 == 0:
                    manifests.delete_manifest(project=project, reference=str(digest_of(content)))
                    accepted.pop(next(at for at, (tag, _) in enumerate(accepted) if tag == f"t{number}-{turn}"))

        return work

    def collects() -> None:
        while not done.wait(0.02):
            collected.append(collect_garbage(now=clock(), keep_for=timedelta(milliseconds=200)))

    collector = threading.Thread(target=lambda: (collects(), connections.close_all()))
    collector.start()
    try:
        outcomes = at_once(*(pushes(number) for number in range(4)))
    finally:
        done.set()
        collector.join()
    assert outcomes == [None] * 4
    assert sum(run.blobs for run in collected) > 0
    for tag, contents in accepted:
        served = manifests.get_manifest(project=project, reference=tag, content=True, now=clock())
        assert str(digest_of(served.content)) == served.digest
        for data in contents:
            found = blobs.find_blob(project=project, digest=digest_of(data), now=clock())
            assert b"".join(blobs.read_blob(found=found)) == data
    collect_garbage(now=clock() + timedelta(hours=1), keep_for=timedelta(0))
    assert len(stored(project)) == Blob.objects.count() + Manifest.objects.count()


def test_collections_beside_each_other(project: Project) -> None:
    for number in range(30):
        push_blob(project, str(number).encode())
    outcomes = at_once(*[lambda: collect_garbage(now=NOW + timedelta(days=1))] * 4)
    assert sum(run.blobs for run in outcomes) == 30
    assert stored(project) == set()


def test_a_collection_between_looking_and_storing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The manifest's blobs go after they were looked for in the storage and before the row is written: refused, nothing half."""
    content = image_of(push_blob(project, b"config"))
    put: Callable[[Storage, str, bytes], None] = FilesystemStorage.put

    def collect_first(self: FilesystemStorage, key: str, data: bytes) -> None:
        put(self, key, data)
        at_once(lambda: collect_garbage(now=NOW + timedelta(days=1)))

    monkeypatch.setattr(FilesystemStorage, "put", collect_first)
    with pytest.raises(ManifestBlobUnknown):
        manifests.put_manifest(project=project, reference="v1", content=content, content_type=None, now=NOW)
    assert not Manifest.objects.exists()
    assert stored(project) == set()
