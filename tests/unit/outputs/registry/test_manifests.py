"""What documents are, what they need, what is refused."""

import json
from typing import Any

import pytest

from outputs.registry.digest import Digest, digest_of
from outputs.registry.manifests import (
    DOCKER_LIST,
    DOCKER_MANIFEST,
    OCI_INDEX,
    OCI_MANIFEST,
    InvalidManifest,
    is_tag,
    read_manifest,
    referrers_index,
)

CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip"
FOREIGN = [
    "application/vnd.oci.image.layer.nondistributable.v1.tar",
    "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
    "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd",
    "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
]


def named(text: str) -> Digest:
    return digest_of(text.encode())


def descriptor(text: str, media_type: str = LAYER_TYPE, **more: Any) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": str(named(text)), "size": len(text), **more}


def image(**fields: Any) -> dict[str, Any]:
    return {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": descriptor("config", CONFIG_TYPE),
        "layers": [descriptor("one"), descriptor("two")],
        **fields,
    }


def index(**fields: Any) -> dict[str, Any]:
    return {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [descriptor("child", OCI_MANIFEST)], **fields}


def without(document: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in names}


def read(document: Any, content_type: str | None = None) -> Any:
    return read_manifest(json.dumps(document).encode(), content_type)


def test_image() -> None:
    found = read(image(subject=descriptor("base", OCI_MANIFEST), annotations={"a": "ü"}, unknown={"kept": 1}))
    assert found.media_type == OCI_MANIFEST
    assert found.blobs == found.references == {named("config"), named("one"), named("two")}
    assert (found.children, found.subject, found.annotations) == (frozenset(), named("base"), {"a": "ü"})
    assert found.artifact_type == CONFIG_TYPE


def test_index() -> None:
    found = read(index(artifactType="a/b"))
    assert (found.media_type, found.artifact_type) == (OCI_INDEX, "a/b")
    assert found.children == found.references == {named("child")}
    assert read(index()).artifact_type == ""


@pytest.mark.parametrize("media_type", [DOCKER_MANIFEST, OCI_MANIFEST])
def test_image_types(media_type: str) -> None:
    assert read(image(mediaType=media_type), media_type).media_type == media_type


@pytest.mark.parametrize("media_type", [DOCKER_LIST, OCI_INDEX])
def test_index_types(media_type: str) -> None:
    assert read(index(mediaType=media_type), f"{media_type}; charset=utf-8").media_type == media_type


def test_artifact_type_of_the_manifest_wins() -> None:
    assert read(image(artifactType="application/vnd.example.sbom")).artifact_type == "application/vnd.example.sbom"


@pytest.mark.parametrize("media_type", FOREIGN)
def test_foreign_layers_need_not_be_held(media_type: str) -> None:
    assert named("far") not in read(image(layers=[descriptor("far", media_type, urls=["https://example.com"])])).blobs


@pytest.mark.parametrize("header", [None, "", OCI_MANIFEST])
def test_without_media_type_it_is_an_image(header: str | None) -> None:
    assert read(without(image(), "mediaType"), header).media_type == OCI_MANIFEST


def test_without_media_type_the_header_says() -> None:
    assert read(without(index(), "mediaType"), OCI_INDEX).media_type == OCI_INDEX


@pytest.mark.parametrize("document", [image(layers=[]), image(layers=None), index(manifests=[]), index(manifests=None)])
def test_lists_may_be_empty(document: dict[str, Any]) -> None:
    assert read(document).references <= {named("config")}


@pytest.mark.parametrize(
    "document",
    [
        image(schemaVersion=1),
        image(schemaVersion="2"),
        image(schemaVersion=2.0),
        image(schemaVersion=None),
        without(image(), "schemaVersion"),
        without(image(), "config"),
        without(image(), "layers"),
        without(index(), "manifests"),
        image(layers={}),
        image(config={"mediaType": "a/b"}),
        image(config=descriptor("c", size=-1)),
        image(layers=[descriptor("x", size=-1)]),
        image(layers=[descriptor("far", FOREIGN[0], digest="sha256:short")]),
        image(layers=[descriptor("x", digest="sha256:../../../../etc/passwd")]),
        image(layers=[descriptor("x", size="3")]),
        image(subject=descriptor("s", digest="latest")),
        image(annotations={"a": 1}),
        image(annotations={"a": "nul\0"}),
        image(artifactType="a" * 256),
        image(mediaType="text/plain"),
        image(mediaType=OCI_INDEX),
        [],
        None,
        "text",
        7,
    ],
)
def test_refused(document: Any) -> None:
    with pytest.raises(InvalidManifest) as problem:
        read(document)
    assert str(problem.value)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff", b"[" * 100_000, b'{"schemaVersion":' + b"9" * 5000 + b"}", b'{"schemaVersion":NaN}', b'{"a":' * 100_000],
    ids=["empty", "cut", "bytes", "deep", "long", "nan", "deep-object"],
)
def test_no_document(content: bytes) -> None:
    with pytest.raises(InvalidManifest):
        read_manifest(content)


def test_content_type_must_agree() -> None:
    with pytest.raises(InvalidManifest, match="Content-Type"):
        read(image(), DOCKER_MANIFEST)


@pytest.mark.parametrize("text", ["a", "_", "A.b-c_d", "0" * 128, "v1.0"])
def test_tags(text: str) -> None:
    assert is_tag(text)


@pytest.mark.parametrize("text", ["", ".a", "-a", "a b", "a/b", "a:b", "0" * 129, "ü", "a\n", "..", "a\0"])
def test_no_tags(text: str) -> None:
    assert not is_tag(text)


def test_referrers_index() -> None:
    document = json.loads(referrers_index([{"digest": "d"}]))
    assert document == {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [{"digest": "d"}]}
