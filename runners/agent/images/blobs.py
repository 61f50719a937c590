"""Blobs by digest in a folder (`<algorithm>/<hex>`, the arrangement of an OCI layout), written only when the digest is right."""

import gzip
import hashlib
import io
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from runners.agent.errors import BadLayer, ImageError
from runners.agent.images.manifests import GZIP, PLAIN

_ZSTD_WINDOW = 1 << 27  # 128 MiB, what `zstd --long` writes at most by default


class Blobs:
    """Verified blobs. Files appear under their final name complete or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, digest: str) -> Path:
        algorithm, _, encoded = digest.partition(":")
        return self.folder / algorithm / encoded

    def has(self, digest: str, size: int) -> bool:
        try:
            return self.path(digest).stat().st_size == size
        except FileNotFoundError:
            return False

    def store(self, digest: str, size: int, chunks: Iterable[bytes]) -> Path:
        """Streams `chunks` to disk. ImageError when they are not the `size` bytes that `digest` names."""
        target = self.path(digest)
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        try:
            with temporary.open("xb") as file:
                written, hasher = 0, hashlib.new(digest.partition(":")[0])
                for chunk in chunks:
                    written += len(chunk)
                    if written > size:
                        raise ImageError(f"blob {digest} is longer than the {size} bytes that the manifest states")
                    hasher.update(chunk)
                    file.write(chunk)
            if written != size:
                raise ImageError(f"blob {digest} has {written} bytes; the manifest states {size}")
            check(digest, hasher.hexdigest())
            temporary.rename(target)
        finally:
            temporary.unlink(missing_ok=True)
        return target


def check(digest: str, found: str) -> None:
    algorithm, _, expected = digest.partition(":")
    if found != expected:
        raise ImageError(f"content of {digest} is corrupt: its digest is {algorithm}:{found}")


def verify(digest: str, content: bytes) -> bytes:
    """`content`, if `digest` names it."""
    check(digest, hashlib.new(digest.partition(":")[0], content).hexdigest())
    return content


class TarStream(io.RawIOBase):
    """The uncompressed bytes of a layer, hashed and counted as they pass, for the diff id and against bombs."""

    def __init__(self, path: Path, compression: str, limit: int) -> None:
        self._file = path.open("rb")
        self._source = _decompressor(self._file, compression)
        self._left = limit
        self._hasher = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        try:
            data = self._source.read(size)
        except (OSError, EOFError, zstandard.ZstdError) as error:
            raise BadLayer(f"layer cannot be decompressed: {error}") from None
        self._left -= len(data)
        if self._left < 0:
            raise BadLayer("the unpacked image is larger than this runner accepts (--max-image-size)")
        self._hasher.update(data)
        return data

    def diff_id(self) -> str:
        """Digest of the whole uncompressed archive: reads what the archive's reader left over."""
        while self.read(1 << 18):
            pass
        return f"sha256:{self._hasher.hexdigest()}"

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _decompressor(file: BinaryIO, compression: str) -> BinaryIO:
    if compression == PLAIN:
        return file
    if compression == GZIP:
        return cast(BinaryIO, gzip.GzipFile(fileobj=file, mode="rb"))
    reader = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).stream_reader(file, read_across_frames=True)
    return cast(BinaryIO, reader)
