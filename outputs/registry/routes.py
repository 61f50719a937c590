"""Which handler a path and method have (registry.md 1.1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from outputs.registry.body import Body
from outputs.registry.errors import NameUnknown, Unsupported
from outputs.registry.http import Request, Response
from outputs.registry.services.access import Bearer


@dataclass(frozen=True)
class Call:
    """One request on its way through a handler. ``name``: the repository as written; ``rest``: the path's last part, decoded."""

    request: Request
    body: Body
    now: datetime
    name: str = ""
    rest: str = ""
    clock: Callable[[], datetime] = field(kw_only=True)

    @property
    def bearer(self) -> Bearer:
        return Bearer(self.request.headers.get("authorization"), self.request.address)


Handler = Callable[[Call], Awaitable[Response]]
Methods = Mapping[str, Handler]


@dataclass(frozen=True)
class Routes:
    """Methods of each kind of path."""

    front: Methods
    uploads: Methods
    upload: Methods
    blob: Methods
    manifest: Methods
    tags: Methods
    referrers: Methods

    def find(self, path: str) -> tuple[Methods, str, str]:
        """(methods, repository, rest). Raises `NameUnknown`: also what merely looks like a repository of several segments."""
        match path.removeprefix("/v2").split("/")[1:]:
            case [] | [""]:
                return self.front, "", ""
            case [name, "blobs", "uploads"] | [name, "blobs", "uploads", ""]:
                return self.uploads, name, ""
            case [name, "blobs", "uploads", upload]:
                return self.upload, name, upload
            case [name, "blobs", digest]:
                return self.blob, name, digest
            case [name, "manifests", reference]:
                return self.manifest, name, reference
            case [name, "tags", "list"]:
                return self.tags, name, ""
            case [name, "referrers", digest]:
                return self.referrers, name, digest
        raise NameUnknown


def choose(methods: Methods, method: str) -> Handler:
    """Raises `Unsupported`, before anybody is asked who they are."""
    handler = methods.get(method)
    if handler is None:
        raise Unsupported(headers={"Allow": ", ".join([*methods, "OPTIONS"])})
    return handler
