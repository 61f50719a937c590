"""A small OCI image, made of programs of this host (OCI image specification, media types below)."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import platform
import shutil
import subprocess
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip"
PROGRAMS = ("sh", "sort", "sha256sum", "gzip", "date", "cat", "mktemp", "rm")
"""What ``bench.sh`` calls."""
HARNESS = "hyperfine"
"""What it measures with, where this host has it."""
PLACES = "/usr/bin:/bin:/usr/local/bin"
NUMBERS = "\n".join(str(number * 7919 % 100_003) for number in range(40_000)) + "\n"
"""What the benchmark sorts, sums up and compresses: always the same, so that runs can be compared."""
SCRIPT = Path(__file__).with_name("bench.sh")
MODIFIED = 1577836800
"""Of every file, seconds: the same each time, and no time that ``gzip`` would warn of."""
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Image:
    """An image in three documents; blobs are named by their digest."""

    manifest: bytes
    config: bytes
    layer: bytes

    @property
    def digest(self) -> str:
        return digest(self.manifest)


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def libraries(listing: str) -> set[str]:
    """The files in an output of ``ldd``: what is linked, and the loader."""
    words = [line.split(" => ")[-1].split(" (")[0].strip() for line in listing.splitlines()]
    return {word for word in words if word.startswith("/")}


def host_files(programs: Iterable[str] = PROGRAMS) -> dict[str, Path]:
    """Path in the image -> file of this host: the programs in ``/bin`` and what they are linked with."""
    files: dict[str, Path] = {}
    for name in programs:
        found = shutil.which(name, path=PLACES)
        if found is None:
            raise FileNotFoundError(f"the demo needs the program {name!r}: install coreutils, dash and gzip")
        files[f"bin/{name}"] = Path(found).resolve()
        linked = subprocess.run(["ldd", found], capture_output=True, text=True, check=False)  # fails for a static program: nothing to add
        files |= {library.lstrip("/"): Path(library).resolve() for library in libraries(linked.stdout)}
    return files


def layer(files: Mapping[str, bytes]) -> bytes:
    """An uncompressed tar of executable files with their folders; the same files give the same bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        folders = {str(parent) for name in files for parent in Path(name).parents if str(parent) != "."} | {"tmp"}
        for folder in sorted(folders):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755, MODIFIED
            tar.addfile(entry)
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), 0o755, MODIFIED
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _document(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def image(tar: bytes, *, command: list[str], working_dir: str) -> Image:
    """One layer, its configuration and the manifest over both."""
    compressed = gzip.compress(tar, compresslevel=6, mtime=0)
    config = _document(
        {
            "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
            "os": "linux",
            "config": {"Env": ["PATH=/usr/bin:/bin"], "Cmd": command, "WorkingDir": working_dir},
            "rootfs": {"type": "layers", "diff_ids": [digest(tar)]},
        }
    )
    manifest = _document(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": {"mediaType": CONFIG_TYPE, "digest": digest(config), "size": len(config)},
            "layers": [{"mediaType": LAYER_TYPE, "digest": digest(compressed), "size": len(compressed)}],
        }
    )
    return Image(manifest, config, compressed)


def demo_image() -> Image:
    """The benchmark of the demo. Its words are relative to its folder, so that it also runs without a sandbox."""
    programs = (*PROGRAMS, HARNESS) if shutil.which(HARNESS, path=PLACES) else PROGRAMS
    files = {name: path.read_bytes() for name, path in host_files(programs).items()}
    files |= {"bench/bench.sh": SCRIPT.read_bytes(), "bench/numbers": NUMBERS.encode()}
    return image(layer(files), command=["/bin/sh", "bench.sh"], working_dir="/bench")


def write_layout(made: Image, folder: Path, tag: str = "latest") -> None:
    """The image as an OCI image layout, for clients that push from a folder."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    for blob in (made.manifest, made.config, made.layer):
        (blobs / digest(blob).removeprefix("sha256:")).write_bytes(blob)
    (folder / "oci-layout").write_bytes(_document({"imageLayoutVersion": "1.0.0"}))
    entry = {
        "mediaType": MANIFEST_TYPE,
        "digest": made.digest,
        "size": len(made.manifest),
        "annotations": {"org.opencontainers.image.ref.name": tag},
    }
    (folder / "index.json").write_bytes(
        _document({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [entry]})
    )
