"""Garbage collection: what goes, what stays."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from bencher.projects.models import Project
from outputs.models import Blob, Manifest, Upload
from outputs.registry.digest import digest_of
from outputs.registry.services import blobs, garbage, manifests, uploads
from outputs.registry.services.garbage import collect_garbage
from outputs.registry.storage import get_storage, put_job_output
from tests.integration.outputs.registry.conftest import Image, make_project, push_blob

PushImage = Callable[..., Image]
HOUR = timedelta(hours=1)


@pytest.fixture
def later() -> datetime:
    """After everything that the tests store, for the storage too, which has a clock of its own."""
    return datetime.now(UTC) + timedelta(days=1)


def test_unneeded_blobs_go(project: Project, push_image: PushImage, now: datetime) -> None:
    image = push_image("v1")
    lonely = push_blob(project, b"lonely")
    assert collect_garbage(now=now + HOUR).blobs == 0
    done = collect_garbage(now=now + HOUR + timedelta(seconds=1))
    assert (done.blobs, done.bytes, done.objects) == (1, 6, 0)
    assert {blob.digest for blob in Blob.objects.all()} == {str(image.config), str(image.layer)}
    assert str(lonely) not in {blob.digest for blob in Blob.objects.all()}
    assert len(list(get_storage().list())) == 3


def test_blobs_of_deleted_manifests_go_later(project: Project, push_image: PushImage, now: datetime) -> None:
    image = push_image("v1")
    manifests.delete_manifest(project=project, reference=image.digest)
    assert collect_garbage(now=now + 2 * HOUR).blobs == 2
    assert not Blob.objects.exists()


def test_blobs_shared_by_manifests_stay(project: Project, push_image: PushImage, now: datetime) -> None:
    image = push_image("v1")
    manifests.put_manifest(project=project, reference="v2", content=image.content + b" ", content_type=None, now=now)
    manifests.delete_manifest(project=project, reference=image.digest)
    assert collect_garbage(now=now + 2 * HOUR).blobs == 0


def test_need_is_by_project(project: Project, push_image: PushImage, now: datetime) -> None:
    image, other = push_image("v1"), make_project("other")
    assert blobs.mount_blob(source=project, target=other, digest=image.layer, now=now)
    assert collect_garbage(now=now + 2 * HOUR).blobs == 1
    assert [blob.project_id for blob in Blob.objects.filter(digest=str(image.layer))] == [project.pk]


def test_a_touched_blob_stays(project: Project, now: datetime) -> None:
    """A push that saw the blob is under way."""
    digest = push_blob(project, b"x", now)
    blobs.find_blob(project=project, digest=digest, now=now + HOUR)
    assert collect_garbage(now=now + HOUR + timedelta(minutes=59)).blobs == 0


def test_a_blob_touched_while_it_is_collected_stays(project: Project, now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was chosen, then a push relied on it: the DELETE looks at the row again."""
    push_blob(project, b"x", now)
    unneeded = garbage._unneeded

    def touched_meanwhile(before: datetime) -> Any:
        found = unneeded(before)
        if Blob.objects.filter(touched=now).exists():
            rows = list(found.values_list("pk", "key", "size"))
            Blob.objects.update(touched=now + HOUR)
            monkeypatch.setattr(found, "values_list", lambda *names: rows)
        return found

    monkeypatch.setattr(garbage, "_unneeded", touched_meanwhile)
    assert collect_garbage(now=now + 2 * HOUR - timedelta(seconds=1)).blobs == 0
    assert get_storage().exists(Blob.objects.get().key)


def test_collected_content_can_be_pushed_again(project: Project, now: datetime) -> None:
    digest = push_blob(project, b"x", now)
    assert collect_garbage(now=now + 2 * HOUR).blobs == 1
    assert push_blob(project, b"x", now + 2 * HOUR) == digest
    found = blobs.find_blob(project=project, digest=digest, now=now + 2 * HOUR)
    assert b"".join(blobs.read_blob(found=found)) == b"x"


def test_uploads_expire(project: Project, now: datetime) -> None:
    old, young = (uploads.start_upload(project=project, now=moment) for moment in (now, now + HOUR))
    for upload in (old, young):
        writer = uploads.take(upload=upload, span=None, length=None, now=upload.created)
        writer.write(b"x", upload.created)
        writer.keep(upload.created)
    assert collect_garbage(now=now + HOUR + timedelta(seconds=1), dry_run=True).uploads == 1
    assert collect_garbage(now=now + HOUR + timedelta(seconds=1)).uploads == 1
    assert [upload.pk for upload in Upload.objects.all()] == [young.pk]
    assert [entry.key for entry in get_storage().uploads()] == [young.key]


def test_an_upload_that_is_being_written_does_not_expire(project: Project, now: datetime, settings: Any) -> None:
    settings.BENCHER_REGISTRY_UPLOAD_TIMEOUT = 1
    upload = uploads.start_upload(project=project, now=now)
    uploads.take(upload=upload, span=None, length=None, now=now)
    assert collect_garbage(now=now + timedelta(seconds=60)).uploads == 0
    assert collect_garbage(now=now + uploads.LEASE + timedelta(seconds=60)).uploads == 1


def test_an_expired_upload_takes_its_object_with_it(project: Project, now: datetime) -> None:
    """Its process died between finishing the object and writing the blob's row."""
    upload = uploads.start_upload(project=project, now=now)
    get_storage().put(upload.key, b"finished")
    assert collect_garbage(now=now + 2 * HOUR).uploads == 1
    assert list(get_storage().list()) == []


def test_stray_objects_go_when_they_are_old(project: Project, push_image: PushImage, later: datetime) -> None:
    push_image("v1", now=later)
    for folder in ("blobs", "manifests"):
        get_storage().put(f"{project.pk}/{folder}/stray", b"stray")
    assert collect_garbage(now=datetime.now(UTC)).objects == 0
    assert collect_garbage(now=later).objects == 2
    assert len(list(get_storage().list())) == 3
    assert Manifest.objects.count() == 1


def test_stray_uploads_go(project: Project, later: datetime) -> None:
    with get_storage().append(f"{project.pk}/blobs/stray", {}, 0) as appender:
        appender.write(b"x")
        appender.commit()
    assert collect_garbage(now=later).objects == 1
    assert list(get_storage().uploads()) == []


def test_objects_of_running_uploads_stay(project: Project, later: datetime) -> None:
    """A mount, or a push between its last byte and its row: the upload's row covers the object."""
    upload = uploads.start_upload(project=project, now=later)
    get_storage().put(upload.key, b"x")
    assert collect_garbage(now=later).objects == 0
    assert get_storage().exists(upload.key)


def test_outputs_stay_with_their_project(project: Project, later: datetime) -> None:
    put_job_output(project.pk, project.pk, b"output")
    get_storage().put("not-ours/blobs/x", b"x")
    assert collect_garbage(now=later).objects == 0
    project.delete()
    assert collect_garbage(now=later).objects == 1
    assert [entry.key for entry in get_storage().list()] == ["not-ours/blobs/x"]


def test_everything_of_an_erased_project_goes(project: Project, push_image: PushImage, later: datetime) -> None:
    push_image("v1", now=later)
    project.delete()
    assert collect_garbage(now=later).objects == 3
    assert list(get_storage().list()) == []


def test_dry_run(project: Project, now: datetime) -> None:
    digest = push_blob(project, b"x", now)
    assert collect_garbage(now=now + 2 * HOUR, dry_run=True).blobs == 1
    assert Blob.objects.get().digest == str(digest)
    assert digest == digest_of(get_storage().get(Blob.objects.get().key))


def test_command(project: Project, now: datetime) -> None:
    push_blob(project, b"x" * (1 << 20), now - timedelta(days=365 * 10))
    out = StringIO()
    call_command("collect_garbage", "--dry-run", "--json", stdout=out)
    assert json.loads(out.getvalue()) == {"dry_run": True, "uploads": 0, "blobs": 1, "objects": 0, "bytes": 1 << 20}
    out = StringIO()
    call_command("collect_garbage", stdout=out)
    assert out.getvalue() == "removed 1 blobs, 0 expired uploads and 0 stray objects: 1.0 MiB\n"
    push_blob(project, b"y", datetime.now(UTC) - timedelta(seconds=5))
    out = StringIO()
    call_command("collect_garbage", "--keep", "1", "--json", stdout=out)
    assert json.loads(out.getvalue())["blobs"] == 1
