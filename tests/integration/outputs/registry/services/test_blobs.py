"""Blobs: finding, reading, mounting, deleting."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from bencher.projects.models import Project
from outputs.models import Blob, Upload
from outputs.registry.digest import digest_of
from outputs.registry.errors import BlobUnknown
from outputs.registry.services import blobs
from outputs.registry.storage import get_storage
from tests.integration.outputs.registry.conftest import make_project, push_blob

DATA = b"0123456789"


def test_find_and_read(project: Project, now: datetime) -> None:
    digest = push_blob(project, DATA)
    found = blobs.find_blob(project=project, digest=digest, now=now)
    assert (found.digest, found.size) == (str(digest), 10)
    assert b"".join(blobs.read_blob(found=found)) == DATA
    assert b"".join(blobs.read_blob(found=found, start=2, end=4)) == b"23"


def test_unknown(project: Project, now: datetime) -> None:
    digest = push_blob(make_project("other"), DATA)
    with pytest.raises(BlobUnknown):
        blobs.find_blob(project=project, digest=digest, now=now)
    with pytest.raises(BlobUnknown):
        blobs.delete_blob(project=project, digest=digest)


def test_lost_by_the_storage(project: Project, now: datetime) -> None:
    digest = push_blob(project, DATA)
    found = blobs.find_blob(project=project, digest=digest, now=now)
    get_storage().delete(found.key)
    with pytest.raises(BlobUnknown):
        blobs.read_blob(found=found)
    with pytest.raises(BlobUnknown):
        blobs.find_blob(project=project, digest=digest, now=now)


def test_seeing_keeps(project: Project, now: datetime) -> None:
    """A pusher who sees a blob does not send it: it must not be collected soon. Readers do not write a row each."""
    digest = push_blob(project, DATA, now)
    soon, later = now + timedelta(seconds=1), now + blobs.grace() / 2
    blobs.find_blob(project=project, digest=digest, now=soon)
    assert Blob.objects.get().touched == now
    blobs.find_blob(project=project, digest=digest, now=later)
    assert Blob.objects.get().touched == later


def test_delete(project: Project, django_capture_on_commit_callbacks: object) -> None:
    digest = push_blob(project, DATA)
    key = Blob.objects.get().key
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        blobs.delete_blob(project=project, digest=digest)
    assert not Blob.objects.exists()
    assert not get_storage().exists(key)


def test_mount(project: Project, now: datetime) -> None:
    target, digest = make_project("target"), push_blob(project, DATA)
    assert blobs.mount_blob(source=project, target=target, digest=digest, now=now)
    found = blobs.find_blob(project=target, digest=digest, now=now)
    assert b"".join(blobs.read_blob(found=found)) == DATA
    assert found.key.startswith(f"{target.pk}/blobs/")
    assert not Upload.objects.exists()
    get_storage().delete(Blob.objects.get(project=project).key)
    assert b"".join(blobs.read_blob(found=found)) == DATA


def test_mount_of_nothing(project: Project, now: datetime) -> None:
    target, digest = make_project("target"), push_blob(project, DATA)
    assert not blobs.mount_blob(source=project, target=target, digest=digest_of(b"other"), now=now)
    get_storage().delete(Blob.objects.get().key)
    assert not blobs.mount_blob(source=project, target=target, digest=digest, now=now)
    assert not Upload.objects.exists()


@pytest.mark.parametrize("to", ["itself", "a holder"])
def test_mount_of_what_is_there(project: Project, now: datetime, to: str) -> None:
    digest, later = push_blob(project, DATA), now + timedelta(hours=1)
    target = project if to == "itself" else make_project("target")
    push_blob(target, DATA)
    assert blobs.mount_blob(source=project, target=target, digest=digest, now=later)
    assert Blob.objects.get(project=target).touched == later
