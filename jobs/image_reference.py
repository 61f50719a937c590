"""Image references of runs, as a grammar (rest.md 7.3, registry.md 1.12). Pure.

Any text but the empty one has a reading; what is wrong with a reading (foreign registry, impossible tag or digest) is said by a check of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

DEFAULT_REGISTRY = "docker.io"
"""What a reference without registry names; here it means: this server."""
DEFAULT_TAG = "latest"
_LIBRARY = "library/"
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}\Z")  # OCI distribution specification, "Pulling manifests"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")
_PORTS = {"http": 80, "https": 443}


class InvalidImage(ValueError):
    """The text names no image that this server could run. The message is for the caller."""


@dataclass(frozen=True, slots=True)
class ImageReference:
    """``text`` as it was given; either ``tag`` or ``digest`` is set."""

    text: str
    registry: str
    repository: str
    tag: str | None
    digest: str | None

    @property
    def project(self) -> str | None:
        """The project that the repository's single segment names; None when it has several."""
        repository = self.repository.removeprefix(_LIBRARY) if self.registry == DEFAULT_REGISTRY else self.repository
        return None if "/" in repository else repository


def parse(text: str) -> ImageReference:
    """Read a reference. Raises :class:`InvalidImage` for the empty text only."""
    if not text:
        raise InvalidImage("the image reference is empty")
    if "@" in text:
        name, _, digest = text.partition("@")
        return _reference(text, name, None, digest)
    head, colon, suffix = text.rpartition(":")
    is_port = "/" in suffix or ("/" in head and suffix.isascii() and suffix.isdigit())
    if not colon or is_port:
        return _reference(text, text, DEFAULT_TAG, None)
    return _reference(text, head, suffix, None)


def _reference(text: str, name: str, tag: str | None, digest: str | None) -> ImageReference:
    first, slash, rest = name.partition("/")
    if not slash:
        registry, repository = DEFAULT_REGISTRY, _LIBRARY + name
    elif "." in first or ":" in first or first == "localhost":
        registry, repository = first, rest
    else:
        registry, repository = DEFAULT_REGISTRY, name
    return ImageReference(text, registry, repository, tag, digest)


def is_ours(registry: str, url: str) -> bool:
    """Does ``registry`` mean the registry at ``url``: no registry at all, its host, or its host and (explicit or usual) port?"""
    if registry == DEFAULT_REGISTRY:
        return True
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = parts.port or _PORTS.get(parts.scheme)
    return registry.lower() in {host, f"{host}:{port}"}


def is_runnable(digest: str) -> bool:
    """Is ``digest`` of the one kind that a runner's configuration takes (protocol.md section 2)?"""
    return _DIGEST.match(digest) is not None


def check(reference: ImageReference, *, registry_url: str) -> None:
    """Raise :class:`InvalidImage` unless the reference's registry is the one at ``registry_url`` and its tag or digest is well formed."""
    if not is_ours(reference.registry, registry_url):
        raise InvalidImage(f"images of other registries are not supported: push it to {urlsplit(registry_url).netloc} first")
    if reference.digest is not None and not is_runnable(reference.digest):
        raise InvalidImage("the digest must be sha256: and 64 lower-case hexadecimal digits")
    if reference.tag is not None and not _TAG.match(reference.tag):
        raise InvalidImage("a tag is 1 to 128 letters, digits, '_', '.' and '-', and starts with none of the last two")
