"""Names of images (OCI distribution spec, "Pulling manifests"): `host[:port]/path[:tag][@digest]`."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from runners.agent.errors import ImageError

DOCKER_HUB = "registry-1.docker.io"
DIGEST = re.compile(r"(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})\Z")
_PATH = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*\Z")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}\Z")
_LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}


@dataclass(frozen=True, slots=True)
class Reference:
    """Where an image is: `base` is the registry's origin without a trailing slash."""

    base: str
    repository: str
    target: str

    @property
    def digest(self) -> str | None:
        return self.target if DIGEST.match(self.target) else None

    def __str__(self) -> str:
        separator = "@" if self.digest else ":"
        return f"{urlsplit(self.base).netloc}/{self.repository}{separator}{self.target}"


def for_job(registry: str, project: str, digest: str) -> Reference:
    """The image of a claimed job: repository = project UUID, scheme taken from the registry URL."""
    url = urlsplit(registry)
    if url.scheme not in {"http", "https"} or not url.netloc:
        raise ImageError(f"config.registry is not an http(s) URL: {registry!r}")
    check_digest(digest)
    return Reference(f"{url.scheme}://{url.netloc}", project, digest)


def parse(text: str, *, insecure: bool = False) -> Reference:
    """A reference as a person types it. Without a host it is Docker Hub's; loopback registries are plain HTTP, as for docker."""
    if text.startswith(("/", "./", "../", "~")):
        raise ImageError(f"there is no image folder {text!r}")
    name, at, digest = text.partition("@")
    if at:
        check_digest(digest)
    head, slash, rest = name.partition("/")
    if slash and ("." in head or ":" in head or head == "localhost"):
        host, path = head, rest
    else:
        host, path = DOCKER_HUB, name
    path, colon, tag = path.partition(":")
    if host == DOCKER_HUB and "/" not in path:
        path = f"library/{path}"
    if not _PATH.match(path):
        raise ImageError(f"not an image reference: {text!r} (expected host/path[:tag][@digest])")
    if colon and not _TAG.match(tag):
        raise ImageError(f"not a valid tag: {tag!r}")
    plain = insecure or host.rsplit(":", 1)[0] in _LOOPBACK or host in _LOOPBACK
    return Reference(f"{'http' if plain else 'https'}://{host}", path, digest or tag or "latest")


def check_digest(digest: str) -> str:
    """Returns `digest`; raises ImageError unless it is `sha256:<64 hex>` or `sha512:<128 hex>`."""
    if not DIGEST.match(digest):
        raise ImageError(f"not a digest: {digest!r} (expected sha256:<64 lower-case hex>)")
    return digest
