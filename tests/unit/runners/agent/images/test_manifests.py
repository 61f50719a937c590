"""Manifests, indexes, media types and the choice of a platform."""

import json
from typing import Any

import pytest

from runners.agent.errors import ImageError
from runners.agent.images import manifests
from tests.unit.runners.agent.kit import DOCKER_LIST, DOCKER_MANIFEST, OCI_INDEX, OCI_MANIFEST, on, sha256

LAYER = {"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": sha256(b"l"), "size": 1}
CONFIG = {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": sha256(b"c"), "size": 1}


def manifest(**changes: Any) -> bytes:
    return json.dumps({"schemaVersion": 2, "config": CONFIG, "layers": [LAYER]} | changes).encode()


@pytest.mark.parametrize("declared", [OCI_MANIFEST, DOCKER_MANIFEST, "", None])
@pytest.mark.parametrize("transport", [OCI_MANIFEST, "application/json", ""])
def test_a_manifest_is_known_by_its_own_word_or_its_shape(declared: str | None, transport: str) -> None:
    text = manifest(mediaType=declared) if declared is not None else manifest()
    assert isinstance(manifests.read(text, transport), manifests.Manifest)


@pytest.mark.parametrize("declared", [OCI_INDEX, DOCKER_LIST, None])
def test_so_is_an_index(declared: str | None) -> None:
    text = {"schemaVersion": 2, "manifests": [LAYER]} | ({"mediaType": declared} if declared else {})
    assert isinstance(manifests.read(json.dumps(text).encode()), manifests.Index)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "malformed"),
        (b"[]", "malformed"),
        (b"\xff\xfe", "malformed"),
        (manifest(schemaVersion=1), "schemaVersion 1"),
        (manifest(mediaType="application/vnd.example.thing"), "unknown manifest media type"),
        (manifest(config=None), "malformed"),
        (manifest(layers=[LAYER | {"digest": "sha256:../../etc/passwd"}]), "not a digest"),
        (manifest(layers=[LAYER | {"digest": "md5:d41d8cd98f00b204e9800998ecf8427e"}]), "not a digest"),
        (manifest(layers=[LAYER | {"size": -1}]), "negative size"),
        (manifest(layers=[LAYER | {"mediaType": "application/x-7z-compressed"}]), "unknown media type"),
        (manifest(layers=[LAYER] * 513), "limit is 512"),
        (b"[" * 100_000, "malformed"),
    ],
)
def test_refused(text: bytes, message: str) -> None:
    with pytest.raises(ImageError, match=message):
        manifests.read(text)


@pytest.mark.parametrize(
    ("media_type", "expected"),
    [
        ("application/vnd.oci.image.layer.v1.tar", "plain"),
        ("application/vnd.oci.image.layer.v1.tar+gzip", "gzip"),
        ("application/vnd.oci.image.layer.v1.tar+zstd", "zstd"),
        ("application/vnd.oci.image.layer.nondistributable.v1.tar+gzip", "gzip"),
        ("application/vnd.docker.image.rootfs.diff.tar", "plain"),
        ("application/vnd.docker.image.rootfs.diff.tar.gzip", "gzip"),
        ("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", "gzip"),
        ("application/vnd.docker.image.rootfs.diff.tar.zstd", "zstd"),
    ],
)
def test_layer_media_types(media_type: str, expected: str) -> None:
    assert manifests.compression(manifests.Descriptor(sha256(b""), 0, media_type)) == expected


def entries(*platforms: tuple[str, str] | None) -> list[manifests.Descriptor]:
    plain = {"digest": sha256(b"m"), "size": 1}
    texts = [on(plain, architecture, os) if platform else plain for platform in platforms for os, architecture in [platform or ("", "")]]
    return [manifests.decode(manifests.Descriptor, json.dumps(text).encode(), "entry") for text in texts]


@pytest.mark.parametrize(
    ("platforms", "machine", "chosen"),
    [
        ([("linux", "arm64"), ("linux", "amd64")], "x86_64", 1),
        ([("linux", "arm64"), ("linux", "amd64")], "aarch64", 0),
        ([("windows", "amd64"), ("linux", "riscv64")], "riscv64", 1),
        ([("linux", "s390x"), ("linux", "arm64")], "x86_64", 0),
        ([("unknown", "unknown"), ("linux", "arm64")], "x86_64", 1),
        ([None], "x86_64", 0),
    ],
)
def test_the_choice(platforms: list[tuple[str, str] | None], machine: str, chosen: int) -> None:
    listed = entries(*platforms)
    assert manifests.choose(listed, machine) is listed[chosen]


def test_an_empty_index_is_an_error() -> None:
    with pytest.raises(ImageError, match="empty"):
        manifests.choose([])
