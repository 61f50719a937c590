"""Image manifests, indexes and configs (OCI image spec 1.1, Docker schema 2): typed decoding and the choice of a platform."""

import platform
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from runners.agent.errors import ImageError
from runners.agent.images.reference import check_digest

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
INDEX_TYPES = frozenset({OCI_INDEX, DOCKER_LIST})
MANIFEST_TYPES = frozenset({OCI_MANIFEST, DOCKER_MANIFEST})
ACCEPT = ", ".join((OCI_MANIFEST, OCI_INDEX, DOCKER_MANIFEST, DOCKER_LIST))

PLAIN, GZIP, ZSTD = "plain", "gzip", "zstd"
_OCI_LAYER = "application/vnd.oci.image.layer.v1.tar"
_OCI_FOREIGN = "application/vnd.oci.image.layer.nondistributable.v1.tar"
_DOCKER_LAYER = "application/vnd.docker.image.rootfs.diff.tar"
_DOCKER_FOREIGN = "application/vnd.docker.image.rootfs.foreign.diff.tar"
COMPRESSION = {
    **dict.fromkeys((_OCI_LAYER, _OCI_FOREIGN, _DOCKER_LAYER, _DOCKER_FOREIGN), PLAIN),
    **{f"{base}+gzip": GZIP for base in (_OCI_LAYER, _OCI_FOREIGN)},
    **{f"{base}.gzip": GZIP for base in (_DOCKER_LAYER, _DOCKER_FOREIGN)},
    **{f"{base}+zstd": ZSTD for base in (_OCI_LAYER, _OCI_FOREIGN)},
    **{f"{base}.zstd": ZSTD for base in (_DOCKER_LAYER, _DOCKER_FOREIGN)},
}
_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
MAX_NESTING = 4
MAX_LAYERS = 512


class Platform(msgspec.Struct):
    os: str = ""
    architecture: str = ""


class Descriptor(msgspec.Struct, rename={"media_type": "mediaType"}):
    digest: str
    size: int
    media_type: str = ""
    platform: Platform | None = None
    annotations: dict[str, str] | None = None


class Index(msgspec.Struct):
    manifests: list[Descriptor]


class Manifest(msgspec.Struct):
    config: Descriptor
    layers: list[Descriptor]


class RunConfig(msgspec.Struct, rename="pascal"):
    """How the image wants to be run. `null` is what many builders write for "nothing"."""

    entrypoint: list[str] | None = None
    cmd: list[str] | None = None
    env: list[str] | None = None
    working_dir: str | None = None
    user: str | None = None


class RootFs(msgspec.Struct):
    diff_ids: list[str] = []


class ImageConfig(msgspec.Struct):
    config: RunConfig | None = None
    rootfs: RootFs | None = None


class _Head(msgspec.Struct, rename={"media_type": "mediaType", "schema_version": "schemaVersion"}):
    media_type: str = ""
    schema_version: int = 2
    manifests: msgspec.Raw = msgspec.Raw(b"")


_T = TypeVar("_T")


def decode(kind: type[_T], text: bytes, what: str) -> _T:
    """Typed, strict decoding; ImageError names what was wrong with `what`."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ImageError(f"{what} is malformed: {error}") from None


def read(text: bytes, media_type: str = "") -> Index | Manifest:
    """A manifest or an index. The body's own `mediaType` wins over the transport's, and the shape decides when both are silent."""
    head = decode(_Head, text, "manifest")
    declared = head.media_type or media_type.partition(";")[0].strip()
    if head.schema_version != 2:
        raise ImageError(f"manifest has schemaVersion {head.schema_version}; only 2 is supported")
    if declared in INDEX_TYPES or (declared not in MANIFEST_TYPES and bytes(head.manifests)):
        index = decode(Index, text, "image index")
        for entry in index.manifests:
            _check(entry)
        return index
    if declared and declared not in MANIFEST_TYPES and "json" not in declared and declared != "application/octet-stream":
        raise ImageError(f"unknown manifest media type {declared!r}")
    manifest = decode(Manifest, text, "image manifest")
    if len(manifest.layers) > MAX_LAYERS:
        raise ImageError(f"image has {len(manifest.layers)} layers; the limit is {MAX_LAYERS}")
    for entry in (manifest.config, *manifest.layers):
        _check(entry)
    for layer in manifest.layers:
        compression(layer)
    return manifest


def _check(entry: Descriptor) -> None:
    check_digest(entry.digest)
    if entry.size < 0:
        raise ImageError(f"descriptor of {entry.digest} has the negative size {entry.size}")


def compression(layer: Descriptor) -> str:
    """`plain`, `gzip` or `zstd`; ImageError for a media type that is not a layer's."""
    try:
        return COMPRESSION[layer.media_type]
    except KeyError:
        raise ImageError(f"layer {layer.digest} has the unknown media type {layer.media_type!r}") from None


def choose(entries: Sequence[Descriptor], machine: str | None = None) -> Descriptor:
    """linux on this machine's architecture, else the first entry that is not a mere attestation."""
    if not entries:
        raise ImageError("the image index is empty")
    machine = machine or platform.machine()
    architecture = _ARCHITECTURES.get(machine, machine)
    for entry in entries:
        if entry.platform and (entry.platform.os, entry.platform.architecture) == ("linux", architecture):
            return entry
    images = [entry for entry in entries if not (entry.platform and entry.platform.os == "unknown")]
    return (images or list(entries))[0]
