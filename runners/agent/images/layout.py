"""Local images: a folder in the OCI image layout (OCI image spec, "Image Layout"), named `folder` or `folder:tag`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from runners.agent.control import Control
from runners.agent.errors import ImageError
from runners.agent.images import manifests
from runners.agent.images.reference import check_digest
from runners.agent.images.registry import MAX_DOCUMENT_BYTES

_TAG = "org.opencontainers.image.ref.name"


class _Marker(msgspec.Struct, rename={"version": "imageLayoutVersion"}):
    version: str


@dataclass(frozen=True, slots=True)
class Layout:
    """A folder with `oci-layout`, `index.json` and `blobs/`. Reads; whoever uses a blob verifies its digest."""

    folder: Path
    tag: str | None
    control: Control

    @classmethod
    def find(cls, text: str, control: Control) -> "Layout | None":
        """The layout that `text` names, or None if no such folder is there. `folder:tag` when a folder stands before the colon."""
        if Path(text).exists():
            return cls(Path(text), None, control)
        path, colon, tag = text.rpartition(":")
        return cls(Path(path), tag, control) if colon and path and Path(path).is_dir() else None

    def entry(self) -> manifests.Descriptor:
        """What `index.json` offers under the tag, or, without a tag, for this machine."""
        if not self.folder.is_dir():
            raise ImageError(f"{self.folder} is not an OCI layout folder (archives are not supported; unpack it first)")
        marker = manifests.decode(_Marker, self._file("oci-layout"), "oci-layout")
        if marker.version != "1.0.0":
            raise ImageError(f"{self.folder}: OCI layout version {marker.version!r} is not supported; only 1.0.0 is")
        index = manifests.read(self._file("index.json"), manifests.OCI_INDEX)
        if not isinstance(index, manifests.Index):
            raise ImageError(f"{self.folder}/index.json is not an image index")
        if self.tag is None:
            return manifests.choose(index.manifests)
        tagged = [entry for entry in index.manifests if (entry.annotations or {}).get(_TAG) == self.tag]
        if not tagged:
            known = ", ".join(sorted({(entry.annotations or {}).get(_TAG, "") for entry in index.manifests} - {""}))
            raise ImageError(f"{self.folder} has no image tagged {self.tag!r} (tags: {known or 'none'})")
        return manifests.choose(tagged)

    def manifest(self, target: str) -> tuple[bytes, str]:
        return self.small_blob(target), ""

    def small_blob(self, digest: str) -> bytes:
        return self._file(str(self._blob(digest)))

    def blob(self, digest: str) -> Iterator[bytes]:
        try:
            with (self.folder / self._blob(digest)).open("rb") as file:
                while chunk := file.read(1 << 18):
                    self.control.check()
                    yield chunk
        except OSError as error:
            raise ImageError(f"{self.folder}: cannot read blob {digest}: {error.strerror}") from None

    def _blob(self, digest: str) -> Path:
        algorithm, _, encoded = check_digest(digest).partition(":")
        return Path("blobs", algorithm, encoded)

    def _file(self, name: str) -> bytes:
        path = self.folder / name
        try:
            with path.open("rb") as file:
                content = file.read(MAX_DOCUMENT_BYTES + 1)
        except OSError as error:
            raise ImageError(f"{path}: {error.strerror}") from None
        if len(content) > MAX_DOCUMENT_BYTES:
            raise ImageError(f"{path} is larger than {MAX_DOCUMENT_BYTES} bytes")
        return content

    def __str__(self) -> str:
        return f"{self.folder}:{self.tag}" if self.tag else str(self.folder)
