"""Manifests and indexes: what a pushed document is, what it refers to, how it is listed (OCI image-spec 1.1; registry.md 1.7, 1.8)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from outputs.registry.digest import Digest, InvalidDigest, parse_digest

OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
IMAGE_TYPES = frozenset({OCI_MANIFEST, DOCKER_MANIFEST})
INDEX_TYPES = frozenset({OCI_INDEX, DOCKER_LIST})

# Layers that may be fetched from elsewhere only: the registry need not hold them.
_NOT_HELD = re.compile(
    r"application/vnd\.(oci\.image\.layer\.nondistributable\.v1\.tar(\+\w+)?|docker\.image\.rootfs\.foreign\.diff\.tar(\.\w+)?)", re.ASCII
)
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}", re.ASCII)
_MEDIA_TYPE_LENGTH = 255

D = TypeVar("D", bound="_Document")


class InvalidManifest(ValueError):
    """The document is no manifest; the text says where and why."""


class _Descriptor(msgspec.Struct):
    mediaType: str
    digest: str
    size: int


class _Document(msgspec.Struct):
    schemaVersion: int
    mediaType: str | None = None
    artifactType: str | None = None
    subject: _Descriptor | None = None
    annotations: dict[str, str] | None = None


class _Image(_Document, kw_only=True):
    config: _Descriptor
    layers: list[_Descriptor] | None  # null is how an empty list of Go programs may look


class _Index(_Document, kw_only=True):
    manifests: list[_Descriptor] | None


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the registry needs to know of a document.

    ``artifact_type`` is the type under which it is listed as a referrer: its own, else its config's; "" = none.
    ``blobs`` must be held as blobs, ``children`` as manifests (or, for other media types, as blobs).
    """

    media_type: str
    artifact_type: str
    subject: Digest | None
    annotations: dict[str, str] = field(default_factory=dict)
    blobs: frozenset[Digest] = frozenset()
    children: frozenset[Digest] = frozenset()

    @property
    def references(self) -> frozenset[Digest]:
        return self.blobs | self.children


def is_tag(text: str) -> bool:
    return _TAG.fullmatch(text) is not None


def read_manifest(content: bytes, content_type: str | None = None) -> Manifest:
    """Decode and check.

    ``content_type`` is the request's header; its part before ``;`` must agree with the document's mediaType. A document without
    mediaType is what the header says, and an OCI image manifest when that says nothing. Raises `InvalidManifest`.
    """
    document = _decode(content, _Document)
    if document.schemaVersion != 2:
        raise InvalidManifest("schemaVersion must be 2")
    said = (content_type or "").split(";")[0].strip().lower()
    kind = document.mediaType or said or OCI_MANIFEST
    if said and said != kind.lower():
        raise InvalidManifest(f"the document is {kind[:100]!r}, Content-Type says {said[:100]!r}")
    if kind in IMAGE_TYPES:
        return _read_image(kind, _decode(content, _Image))
    if kind in INDEX_TYPES:
        return _read_index(kind, _decode(content, _Index))
    raise InvalidManifest(f"unknown mediaType {kind[:100]!r}")


def _read_image(kind: str, image: _Image) -> Manifest:
    layers = [(_digest(layer), layer.mediaType) for layer in image.layers or ()]
    held = {digest for digest, media_type in layers if not _NOT_HELD.fullmatch(media_type)}
    return Manifest(
        media_type=kind,
        artifact_type=_media_type(image.artifactType or image.config.mediaType),
        subject=_subject(image),
        annotations=_annotations(image),
        blobs=frozenset({_digest(image.config), *held}),
    )


def _read_index(kind: str, index: _Index) -> Manifest:
    return Manifest(
        media_type=kind,
        artifact_type=_media_type(index.artifactType or ""),
        subject=_subject(index),
        annotations=_annotations(index),
        children=frozenset(map(_digest, index.manifests or ())),
    )


def _decode(content: bytes, kind: type[D]) -> D:
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as problem:
        raise InvalidManifest(str(problem)) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise InvalidManifest("the document is no JSON") from None
    except RecursionError:
        raise InvalidManifest("the document is nested too deeply") from None


def _subject(document: _Document) -> Digest | None:
    return _digest(document.subject) if document.subject else None


def _digest(descriptor: _Descriptor) -> Digest:
    if descriptor.size < 0:
        raise InvalidManifest("a descriptor's size is negative")
    try:
        return parse_digest(descriptor.digest)
    except InvalidDigest as problem:
        raise InvalidManifest(f"digest of a descriptor: {problem}") from None


def _media_type(text: str) -> str:
    if len(text) > _MEDIA_TYPE_LENGTH or "\0" in text:
        raise InvalidManifest(f"a media type has more than {_MEDIA_TYPE_LENGTH} characters or a NUL")
    return text


def _annotations(document: _Document) -> dict[str, str]:
    """Only referrers are listed with their annotations. A NUL could not be stored (and means nothing)."""
    annotations = document.annotations or {}
    if any("\0" in name or "\0" in value for name, value in annotations.items()):
        raise InvalidManifest("an annotation contains a NUL")
    return annotations


def referrers_index(descriptors: Iterable[dict[str, object]]) -> bytes:
    """The answer to "who refers to this?": an image index of descriptors."""
    return msgspec.json.encode({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": list(descriptors)})
