"""One live server for all tests of this folder, and images made by hand."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import subprocess
import tarfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from bencher.demo.processes import Server

EMAIL = "admin@example.com"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


@dataclass(frozen=True)
class Registry:
    """A server and its administrator's key."""

    server: Server
    key: str

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")

    @property
    def credentials(self) -> str:
        return f"{EMAIL}:{self.key}"

    def token(self, *scopes: str) -> str:
        response = httpx.get(f"{self.url}/v0/auth/oci/token", params=[("scope", scope) for scope in scopes], auth=(EMAIL, self.key))
        return str(response.raise_for_status().json()["token"])

    def repository(self, name: str) -> httpx.Client:
        """A client that may push to that repository."""
        headers = {"Authorization": f"Bearer {self.token(f'repository:{name}:pull,push')}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=120)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    server = Server(tmp_path_factory.mktemp("registry")).start()
    try:
        yield Registry(server, server.admin_key(EMAIL))
    finally:
        server.stop()


@pytest.fixture
def name() -> str:
    """Of a repository that nobody else uses; a push makes it."""
    return f"image-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., str]:
    """Run a program at a home of its own; its standard output."""

    def call(*command: str | Path, fails: bool = False, **env: str) -> str:
        known = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), "STORAGE_DRIVER": "vfs", **env}
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=known, timeout=110, check=False)
        assert (done.returncode != 0) == fails, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stderr if fails else done.stdout

    return call


@pytest.fixture
def skopeo(run: Callable[..., str], tmp_path: Path) -> Callable[..., str]:
    """skopeo over plain HTTP. Its cache, which makes it try mounts, is the test's own."""

    def call(command: str, *arguments: str | Path, **options: Any) -> str:
        return run("skopeo", "--insecure-policy", "--tmpdir", tmp_path, command, *arguments, **options)

    return call


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def descriptor(media_type: str, data: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest_of(data), "size": len(data)}


def layer_of(content: bytes, packed: bool = True) -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        entry = tarfile.TarInfo("content")
        entry.size = len(content)
        tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(archive.getvalue(), 1, mtime=0) if packed else archive.getvalue()


def image_of(content: bytes, packed: bool = True) -> tuple[bytes, bytes, bytes]:
    """(manifest, config, layer) of an image with one file."""
    layer = layer_of(content, packed)
    diff = digest_of(layer_of(content, packed=False))
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": [diff]}}).encode()
    layers = [descriptor(LAYER if packed else LAYER.removesuffix("+gzip"), layer)]
    manifest = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": descriptor(CONFIG, config), "layers": layers}).encode()
    return manifest, config, layer


def write_layout(folder: Path, content: bytes, packed: bool = True) -> Path:
    """An OCI layout whose image is tagged v1."""
    blobs = folder / "blobs/sha256"
    blobs.mkdir(parents=True)
    manifest, *others = image_of(content, packed)
    for blob in (manifest, *others):
        (blobs / digest_of(blob).removeprefix("sha256:")).write_bytes(blob)
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    entry = {**descriptor(MANIFEST, manifest), "annotations": {"org.opencontainers.image.ref.name": "v1"}}
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [entry]}))
    return folder


def blobs_in(layout: Path) -> dict[str, bytes]:
    """Checked against their names."""
    found = {path.name: path.read_bytes() for path in (layout / "blobs/sha256").iterdir()}
    assert all(digest_of(data) == f"sha256:{name}" for name, data in found.items())
    return found
