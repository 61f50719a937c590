"""Images made by hand: layers, manifests, indexes and layouts, good and bad."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zstandard

OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
OCI_LAYER = "application/vnd.oci.image.layer.v1.tar"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_LAYER = "application/vnd.docker.image.rootfs.diff.tar"

Entry = tuple[tarfile.TarInfo, bytes]


def entry(name: str, kind: bytes = tarfile.REGTYPE, content: bytes = b"", *, mode: int | None = None, link: str = "", **more: Any) -> Entry:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.mode = mode if mode is not None else (0o755 if kind == tarfile.DIRTYPE else 0o644)
    info.linkname = link
    info.size = len(content)
    info.mtime = 1_700_000_000
    for key, value in more.items():
        setattr(info, key, value)
    return info, content


def file(name: str, content: bytes | str = b"", **more: Any) -> Entry:
    return entry(name, content=content.encode() if isinstance(content, str) else content, **more)


def folder(name: str, **more: Any) -> Entry:
    return entry(name, tarfile.DIRTYPE, **more)


def symlink(name: str, target: str) -> Entry:
    return entry(name, tarfile.SYMTYPE, link=target)


def hardlink(name: str, target: str) -> Entry:
    return entry(name, tarfile.LNKTYPE, link=target)


def tar(*entries: Entry) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info, content in entries:
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def busybox(*more: Entry) -> bytes:
    """A layer in which a shell runs."""
    program = Path("/bin/busybox").read_bytes()
    tools = [
        "sh",
        "cat",
        "id",
        "ls",
        "env",
        "sleep",
        "echo",
        "dd",
        "rm",
        "ln",
        "mkdir",
        "head",
        "tail",
        "grep",
        "mount",
        "true",
        "false",
        "yes",
        "kill",
        "ps",
        "printf",
        "setsid",
        "touch",
        "sort",
        "wc",
    ]
    return tar(
        folder("bin"), folder("etc"), folder("tmp", mode=0o1777), file("bin/busybox", program, mode=0o755),
        *(symlink(f"bin/{tool}", "busybox") for tool in tools),
        file("etc/passwd", "root:x:0:0::/root:/bin/sh\nbench:x:1234:5678::/home/bench:/bin/sh\n"),
        file("etc/group", "root:x:0:\nstaff:x:50:\n"), *more,
    )  # fmt: skip


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass
class Blobs:
    """Content by digest, as a registry or a layout holds it."""

    content: dict[str, bytes] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)

    def add(self, content: bytes, media_type: str = "application/octet-stream") -> dict[str, Any]:
        digest = sha256(content)
        self.content[digest] = content
        self.types[digest] = media_type
        return {"mediaType": media_type, "digest": digest, "size": len(content)}

    def image(
        self, *layers: bytes, compress: str = "gzip", docker: bool = False, config: dict[str, Any] | None = None, **top: Any
    ) -> dict[str, Any]:
        """Descriptor of an image of uncompressed `layers`."""
        settings = {"Env": ["PATH=/bin"], "Cmd": ["sh"]} | (config or {})
        rootfs = {"type": "layers", "diff_ids": [sha256(layer) for layer in layers]}
        text = json.dumps({"architecture": "amd64", "os": "linux", "config": settings, "rootfs": rootfs} | top)
        base, separator = (DOCKER_LAYER, ".") if docker else (OCI_LAYER, "+")
        suffix = {"plain": "", "gzip": f"{separator}gzip", "zstd": f"{separator}zstd"}[compress]
        squeeze = {"plain": bytes, "gzip": gzip.compress, "zstd": zstandard.compress}[compress]
        manifest = {
            "schemaVersion": 2,
            "mediaType": DOCKER_MANIFEST if docker else OCI_MANIFEST,
            "config": self.add(text.encode(), OCI_CONFIG),
            "layers": [self.add(squeeze(layer), base + suffix) for layer in layers],
        }
        return self.add(json.dumps(manifest).encode(), str(manifest["mediaType"]))

    def index(self, entries: Iterable[dict[str, Any]], *, docker: bool = False) -> dict[str, Any]:
        media_type = DOCKER_LIST if docker else OCI_INDEX
        return self.add(json.dumps({"schemaVersion": 2, "mediaType": media_type, "manifests": list(entries)}).encode(), media_type)

    def layout(self, folder: Path, *entries: dict[str, Any]) -> Path:
        """Writes everything as an OCI layout whose index names `entries`."""
        for digest, content in self.content.items():
            algorithm, _, encoded = digest.partition(":")
            path = folder / "blobs" / algorithm / encoded
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
        (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": list(entries)}))
        return folder


def tagged(descriptor: dict[str, Any], tag: str) -> dict[str, Any]:
    return descriptor | {"annotations": {"org.opencontainers.image.ref.name": tag}}


def on(descriptor: dict[str, Any], architecture: str, os: str = "linux") -> dict[str, Any]:
    return descriptor | {"platform": {"os": os, "architecture": architecture}}
