"""Images ready to run: pulled once, unpacked once, kept by digest, the least recently used thrown away first."""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from runners.agent.control import Control
from runners.agent.disk import free_bytes
from runners.agent.errors import ImageError
from runners.agent.images import manifests
from runners.agent.images.blobs import Blobs, TarStream, verify
from runners.agent.images.unpack import Budget, LayerWriter
from runners.agent.rooted import Rooted, remove_tree

GIB = 1 << 30
_ENTRY_BYTES = 1024  # what a file costs beside its content, for the cache's accounts


class Source(Protocol):
    """Where an image comes from: a registry's repository or a local layout."""

    def manifest(self, target: str) -> tuple[bytes, str]: ...
    def small_blob(self, digest: str) -> bytes: ...
    def blob(self, digest: str) -> Iterator[bytes]: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """What an image may be, and what the cache may keep. Bytes and numbers of entries."""

    image_bytes: int = 8 * GIB
    image_entries: int = 500_000
    cache_bytes: int = 20 * GIB
    reserve_bytes: int = GIB // 4


@dataclass(frozen=True, slots=True)
class Image:
    """An unpacked image. `root` belongs to the cache: never write to it."""

    digest: str
    root: Path
    config: manifests.RunConfig
    cached: bool
    pull_seconds: float = 0.0
    unpack_seconds: float = 0.0


class _Record(msgspec.Struct):
    config: manifests.RunConfig
    bytes: int
    owner: tuple[int, int] | None = None


Note = Callable[[str], None]


class ImageStore:
    """One per state folder; used by one job at a time."""

    def __init__(self, folder: Path, limits: Limits, owner: tuple[int, int] | None = None) -> None:
        """`owner` are user and group that unpacked files are given to; None: they stay the runner's."""
        self._folder = folder
        self._owner = owner
        self._limits = limits
        self._blobs = Blobs(folder / "blobs")
        self._images = folder / "images"
        self._choices = folder / "choices"
        for path in (self._blobs.folder, self._images, self._choices):
            path.mkdir(parents=True, exist_ok=True, mode=0o700)

    def clean(self) -> None:
        """Throws away what a killed predecessor left half done."""
        for path in self._folder.glob("unpack-*"):
            remove_tree(path)
        for path in self._blobs.folder.glob("*/.*"):
            path.unlink(missing_ok=True)

    def cached(self, target: str) -> Image | None:
        """The image of a digest if it is here, without asking anybody."""
        if ":" not in target:  # a tag may have moved
            return None
        digest = self._chosen(target)
        folder = self._entry(digest)
        try:
            record = msgspec.json.decode((folder / "image.json").read_bytes(), type=_Record)
        except (OSError, msgspec.DecodeError):
            return None
        if record.owner != self._owner:
            return None
        os.utime(folder)
        return Image(digest, folder / "root", record.config, cached=True)

    def obtain(self, source: Source, target: str, control: Control, note: Note, clock: Callable[[], float]) -> Image:
        """The image, pulled and unpacked if need be. Raises ImageError, or the reason of a stop."""
        if image := self.cached(target):
            return image
        began = clock()
        digest, manifest = self._resolve(source, target, note)
        if image := self.cached(digest):
            return image
        config = manifests.decode(
            manifests.ImageConfig, verify(manifest.config.digest, source.small_blob(manifest.config.digest)), "image config"
        )
        self._make_room(sum(layer.size for layer in manifest.layers))
        for number, layer in enumerate(manifest.layers, 1):
            self._fetch(source, layer, f"layer {number}/{len(manifest.layers)}", note)
        pulled = clock()
        note(f"unpacking {len(manifest.layers)} layers")
        self._unpack(digest, manifest, config, control)
        self.evict(keep=digest)
        return Image(digest, self._entry(digest) / "root", config.config or manifests.RunConfig(), False, pulled - began, clock() - pulled)

    def _resolve(self, source: Source, target: str, note: Note) -> tuple[str, manifests.Manifest]:
        note(f"pulling {target}")
        wanted, asked = target, target
        for _ in range(manifests.MAX_NESTING):
            text, media_type = source.manifest(wanted)
            digest = wanted if ":" in wanted else f"sha256:{_sha256(text)}"
            document = manifests.read(verify(digest, text), media_type)
            if isinstance(document, manifests.Manifest):
                if ":" in asked and digest != asked:
                    self._choice(asked).write_text(digest)
                return digest, document
            wanted = manifests.choose(document.manifests).digest
        raise ImageError(f"image indexes are nested deeper than {manifests.MAX_NESTING}")

    def _fetch(self, source: Source, layer: manifests.Descriptor, name: str, note: Note) -> None:
        path = self._blobs.path(layer.digest)
        if self._blobs.has(layer.digest, layer.size):
            os.utime(path)
            note(f"{name} is cached")
            return
        note(f"{name}: {layer.size / 1e6:.1f} MB")
        self._blobs.store(layer.digest, layer.size, source.blob(layer.digest))

    def _unpack(self, digest: str, manifest: manifests.Manifest, config: manifests.ImageConfig, control: Control) -> None:
        limit = min(self._limits.image_bytes, max(0, free_bytes(self._folder) - self._limits.reserve_bytes))
        budget = Budget(limit, self._limits.image_entries)
        diff_ids = config.rootfs.diff_ids if config.rootfs else []
        if diff_ids and len(diff_ids) != len(manifest.layers):
            raise ImageError(f"image config lists {len(diff_ids)} layers, the manifest {len(manifest.layers)}")
        temporary = Path(tempfile.mkdtemp(prefix="unpack-", dir=self._folder))
        try:
            (temporary / "root").mkdir(mode=0o755)
            with Rooted.at(temporary / "root") as root:
                for position, layer in enumerate(manifest.layers):
                    with TarStream(self._blobs.path(layer.digest), manifests.compression(layer), 2 * limit) as stream:
                        LayerWriter(root, budget, control.check).apply(stream)  # type: ignore[arg-type]
                        if diff_ids and diff_ids[position].startswith("sha256:") and stream.diff_id() != diff_ids[position]:
                            raise ImageError(f"layer {layer.digest} does not unpack to its diff id {diff_ids[position]}")
            used = limit - budget.bytes + _ENTRY_BYTES * (self._limits.image_entries - budget.entries)
            self._give_away(temporary / "root")
            record = _Record(config.config or manifests.RunConfig(), used, self._owner)
            (temporary / "image.json").write_bytes(msgspec.json.encode(record))
            os.sync()  # complete on disk before it has its name; and no write-back while a benchmark is measured
            remove_tree(self._entry(digest))
            os.rename(temporary, self._entry(digest))
        except OSError as error:
            raise ImageError(f"cannot unpack: {error}") from error
        finally:
            if temporary.exists():
                remove_tree(temporary)

    def _give_away(self, root: Path) -> None:
        if self._owner is None:
            return
        command = ["chown", "-hR", f"{self._owner[0]}:{self._owner[1]}", "--", str(root)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode != 0:
            raise ImageError(f"cannot give the image's files away: {done.stderr.decode(errors='replace').strip()}")

    def _make_room(self, size: int) -> None:
        self.evict()
        free = free_bytes(self._folder) - self._limits.reserve_bytes
        if size > free:
            raise ImageError(f"the image's layers have {size} bytes, the disk has room for {max(free, 0)}")

    def evict(self, keep: str = "") -> None:
        """Removes the least recently used images and blobs until the cache is within its size."""
        entries = [(path, self._size(path)) for path in (*self._images.iterdir(), *self._blobs.folder.glob("*/*"))]
        entries.sort(key=lambda entry: entry[0].stat().st_mtime)
        total = sum(size for _, size in entries)
        for path, size in entries:
            if total <= self._limits.cache_bytes:
                return
            if path != self._entry(keep):
                remove_tree(path)
                total -= size

    def _size(self, path: Path) -> int:
        if path.is_file():
            return path.stat().st_size
        try:
            return msgspec.json.decode((path / "image.json").read_bytes(), type=_Record).bytes
        except (OSError, msgspec.DecodeError):
            return 0

    def _entry(self, digest: str) -> Path:
        return self._images / digest.replace(":", "-")

    def _choice(self, digest: str) -> Path:
        return self._choices / digest.replace(":", "-")

    def _chosen(self, target: str) -> str:
        """The manifest that an index led to on this machine, or `target` itself."""
        try:
            return self._choice(target).read_text()
        except OSError:
            return target


def _sha256(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
