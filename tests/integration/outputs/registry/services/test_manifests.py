"""Manifests and tags in the database and the storage."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from bencher.projects.models import Project
from outputs.models import Blob, Manifest, ManifestReference, Tag
from outputs.registry.digest import digest_of
from outputs.registry.errors import DigestInvalid, ManifestBlobUnknown, ManifestInvalid, ManifestUnknown, TagInvalid
from outputs.registry.manifests import OCI_INDEX, OCI_MANIFEST
from outputs.registry.selectors import list_referrers, list_tags, resolve_tag
from outputs.registry.services import manifests
from outputs.registry.storage import get_storage
from tests.integration.outputs.registry.conftest import Image, image_of, make_project, push_blob

PushImage = Callable[..., Image]


def put(project: Project, content: bytes, reference: str, now: datetime, **more: Any) -> manifests.Stored:
    return manifests.put_manifest(project=project, reference=reference, content=content, content_type=None, now=now, **more)


def get(project: Project, reference: str, now: datetime) -> manifests.Served:
    return manifests.get_manifest(project=project, reference=reference, content=True, now=now)


def test_put_and_get(project: Project, push_image: PushImage, now: datetime) -> None:
    image = push_image("v1")
    for reference in ("v1", image.digest, image.digest.upper().replace("SHA", "sha")):
        served = get(project, reference, now)
        assert (served.content, served.media_type, served.digest) == (image.content, OCI_MANIFEST, image.digest)
    assert {row.digest for row in ManifestReference.objects.all()} == {str(image.config), str(image.layer)}
    assert resolve_tag(project_id=project.pk, tag="v1") == image.digest
    assert resolve_tag(project_id=project.pk, tag="v2") is None
    assert resolve_tag(project_id=project.pk, tag="no tag\0") is None


def test_the_head_has_no_bytes_and_is_no_pull(project: Project, push_image: PushImage, now: datetime) -> None:
    image = push_image("v1")
    served = manifests.get_manifest(project=project, reference="v1", content=False, now=now)
    assert (served.content, served.size) == (b"", len(image.content))
    assert Manifest.objects.get().last_pulled is None


def test_pulls_are_noted_once_a_minute(project: Project, push_image: PushImage, now: datetime) -> None:
    push_image("v1")
    for seconds, noted in ((0, 0), (30, 0), (61, 61)):
        get(project, "v1", now + timedelta(seconds=seconds))
        assert Manifest.objects.get().last_pulled == now + timedelta(seconds=noted)


def test_a_tag_moves(project: Project, push_image: PushImage, now: datetime) -> None:
    first, second = push_image("v1"), push_image("v1", now=now + timedelta(hours=1))
    assert get(project, "v1", now).digest == second.digest
    assert get(project, first.digest, now).digest == first.digest
    tag = Tag.objects.get()
    assert (tag.created, tag.modified) == (now, now + timedelta(hours=1))


def test_tag_parameters(project: Project, push_image: PushImage, now: datetime) -> None:
    image = push_image("v1")
    put(project, image.content, image.digest, now, tags=["b", "a", "b"])
    assert list_tags(project=project, after="", limit=10) == (["a", "b", "v1"], False)
    with pytest.raises(TagInvalid):
        put(project, image.content, image.digest, now, tags=["-bad"])


def test_pushed_again(project: Project, push_image: PushImage, now: datetime) -> None:
    """One row and one object; a lost object is repaired."""
    image = push_image("v1")
    before = Manifest.objects.get().key
    put(project, image.content, "v2", now)
    assert Manifest.objects.get().key == before
    get_storage().delete(before)
    with pytest.raises(ManifestUnknown):
        get(project, "v1", now)
    put(project, image.content, "v1", now)
    assert get(project, "v1", now).content == image.content


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
def test_digests(project: Project, now: datetime, algorithm: str) -> None:
    config = push_blob(project, b"config", algorithm=algorithm)
    content = image_of(config)
    digest = str(digest_of(content, algorithm))
    assert put(project, content, digest, now).digest == digest
    assert get(project, digest, now).content == content
    with pytest.raises(DigestInvalid):
        put(project, content + b" ", digest, now)


@pytest.mark.parametrize(
    ("reference", "problem"), [("sha256:short", DigestInvalid), ("a:b", DigestInvalid), ("-bad", TagInvalid), ("", TagInvalid)]
)
def test_bad_references(project: Project, now: datetime, reference: str, problem: type[Exception]) -> None:
    with pytest.raises(problem):
        put(project, b"{}", reference, now)
    for use in (get, lambda *args: manifests.get_manifest(project=args[0], reference=args[1], content=False, now=args[2])):
        with pytest.raises(ManifestUnknown):
            use(project, reference, now)
    with pytest.raises(ManifestUnknown):
        manifests.delete_manifest(project=project, reference=reference)


def test_what_is_missing(project: Project, push_image: PushImage, now: datetime) -> None:
    """Blobs never sent, blobs of another project, blobs that the storage lost: nothing is stored, no tag appears."""
    elsewhere = push_blob(make_project("other"), b"elsewhere")
    here = push_blob(project, b"here")
    for content in (image_of(here, digest_of(b"never")), image_of(here, elsewhere)):
        with pytest.raises(ManifestBlobUnknown):
            put(project, content, "v1", now)
    get_storage().delete(Blob.objects.get(project=project).key)
    with pytest.raises(ManifestBlobUnknown):
        put(project, image_of(here), "v1", now)
    assert not Tag.objects.exists()
    assert {entry.key.split("/")[1] for entry in get_storage().list()} == {"blobs"}


def test_a_blob_that_goes_between_looking_and_storing(project: Project, now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are looked at again under lock, and the object of the refused manifest goes."""
    blob = push_blob(project, b"config")
    monkeypatch.setattr(manifests, "_check_held", lambda project, document: Blob.objects.all().delete())
    with pytest.raises(ManifestBlobUnknown):
        put(project, image_of(blob), "v1", now)
    assert not Manifest.objects.exists()
    assert not list(get_storage().list(f"{project.pk}/manifests"))


def test_index(project: Project, push_image: PushImage, now: datetime) -> None:
    image = push_image("v1")
    entry = {"mediaType": OCI_MANIFEST, "digest": image.digest, "size": len(image.content)}
    index = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [entry]}).encode()
    outer = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [{**entry, "digest": str(digest_of(index)), "mediaType": OCI_INDEX}]}
    with pytest.raises(ManifestBlobUnknown):
        put(project, json.dumps(outer).encode(), "outer", now)
    put(project, index, "index", now)
    put(project, json.dumps(outer).encode(), "outer", now)
    assert get(project, "outer", now).media_type == OCI_INDEX


def test_pushing_touches_what_it_needs(project: Project, push_image: PushImage, now: datetime) -> None:
    image, later = push_image("v1"), now + timedelta(days=1)
    put(project, image.content, "v2", later)
    assert {blob.touched for blob in Blob.objects.all()} == {later}


def test_delete_a_tag(project: Project, push_image: PushImage, now: datetime) -> None:
    image = push_image("v1")
    put(project, image.content, "v2", now)
    assert manifests.delete_manifest(project=project, reference="v1") == image.digest
    assert [tag.name for tag in Tag.objects.all()] == ["v2"]
    with pytest.raises(ManifestUnknown):
        manifests.delete_manifest(project=project, reference="v1")


def test_delete_a_manifest(project: Project, push_image: PushImage, now: datetime, django_capture_on_commit_callbacks: Any) -> None:
    image, other = push_image("v1"), push_image("other")
    key = Manifest.objects.get(digest=image.digest).key
    with django_capture_on_commit_callbacks(execute=True):
        manifests.delete_manifest(project=project, reference=image.digest)
    assert [tag.name for tag in Tag.objects.all()] == ["other"]
    assert [row.digest for row in Manifest.objects.all()] == [other.digest]
    assert Blob.objects.count() == 4
    assert not get_storage().exists(key)
    put(project, image.content, "v1", now)
    assert get(project, "v1", now).content == image.content


def test_not_a_manifest(project: Project, now: datetime) -> None:
    with pytest.raises(ManifestInvalid):
        put(project, b'{"schemaVersion": 1}', "v1", now)


# -- lists ---------------------------------------------------------------------------------------------------------------
def test_tags_in_the_order_of_their_bytes(project: Project, push_image: PushImage, now: datetime) -> None:
    image, names = push_image("a"), ["b", "B", "a10", "a2", "_x", "A-b", "a", "A.b", "a_b", "Z"]
    put(project, image.content, image.digest, now, tags=names)
    assert list_tags(project=project, after="", limit=100) == (sorted(names), False)
    assert list_tags(project=project, after="a", limit=2) == (["a10", "a2"], True)
    assert list_tags(project=project, after="B0", limit=1) == (["Z"], True)
    assert list_tags(project=project, after="", limit=0) == ([], False)
    assert list_tags(project=project, after="", limit=len(names)) == (sorted(names), False)


def test_referrers(project: Project, push_image: PushImage, now: datetime) -> None:
    base = push_image("base")
    subject = {"mediaType": OCI_MANIFEST, "digest": base.digest, "size": len(base.content)}
    about = push_image("about", subject=subject, artifactType="a/b", annotations={"x": "ü"}, now=now + timedelta(seconds=1))
    plain = push_image("plain", subject=subject, now=now + timedelta(seconds=2))

    def listed(artifact_type: str | None = None, of: Project = project) -> list[dict[str, Any]]:
        return list(list_referrers(project=of, subject=digest_of(base.content), artifact_type=artifact_type))

    assert listed() == [
        {"mediaType": OCI_MANIFEST, "digest": about.digest, "size": len(about.content), "artifactType": "a/b", "annotations": {"x": "ü"}},
        {
            "mediaType": OCI_MANIFEST,
            "digest": plain.digest,
            "size": len(plain.content),
            "artifactType": "application/vnd.oci.image.config.v1+json",
        },
    ]
    assert [entry["digest"] for entry in listed("a/b")] == [about.digest]
    assert listed("none") == listed(of=make_project("other")) == []
    manifests.delete_manifest(project=project, reference=about.digest)
    assert [entry["digest"] for entry in listed()] == [plain.digest]
