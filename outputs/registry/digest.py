"""Digests: the names of content (OCI image-spec, descriptor, "Digests"; registry.md 1.7)."""

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

DEFAULT_ALGORITHM = "sha256"
_HEX_LENGTH = {"sha256": 64, "sha512": 128}
_FORM = re.compile(r"(sha256|sha512):([0-9a-fA-F]+)", re.ASCII)


class Hash(Protocol):
    """What is used of a hashlib object."""

    def update(self, data: bytes, /) -> None: ...
    def hexdigest(self) -> str: ...
    def copy(self) -> "Hash": ...


_NEW: dict[str, Callable[[], Hash]] = {"sha256": hashlib.sha256, "sha512": hashlib.sha512}


class InvalidDigest(ValueError):
    """The text is no digest of a known algorithm."""


@dataclass(frozen=True, slots=True)
class Digest:
    """``sha256:`` and 64, or ``sha512:`` and 128 lower-case hexadecimal digits."""

    algorithm: str
    hex: str

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.hex}"


def parse_digest(text: str) -> Digest:
    """Upper-case digits are lowered. Raises `InvalidDigest`."""
    found = _FORM.fullmatch(text)
    if found is None or len(found[2]) != _HEX_LENGTH[found[1]]:
        raise InvalidDigest("a digest is sha256: and 64, or sha512: and 128 hexadecimal digits")
    return Digest(found[1], found[2].lower())


def new_hash(algorithm: str = DEFAULT_ALGORITHM) -> Hash:
    return _NEW[algorithm]()


def digest_of(data: bytes, algorithm: str = DEFAULT_ALGORITHM) -> Digest:
    return digest_of_pieces((data,), algorithm)


def digest_of_pieces(pieces: Iterable[bytes], algorithm: str = DEFAULT_ALGORITHM) -> Digest:
    running = new_hash(algorithm)
    for piece in pieces:
        running.update(piece)
    return Digest(algorithm, running.hexdigest())
