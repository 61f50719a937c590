"""Bodies of the errors that the server answers without an application: rest.md 0.3, and registry.md's list of errors below ``/v2/``."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType

from bencher.serving.limits import in_registry

CORS = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-methods", b"GET, POST, PUT, PATCH, DELETE, OPTIONS"),
    (b"access-control-allow-headers", b"Content-Type, Authorization"),
    (b"access-control-expose-headers", b"X-Total-Count"),
]
OCI_CODES = {400: "UNSUPPORTED", 401: "UNAUTHORIZED", 403: "DENIED", 413: "SIZE_INVALID", 429: "TOOMANYREQUESTS"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A whole answer: status, header fields (lower case) and JSON body."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    @property
    def reason(self) -> bytes:
        return HTTPStatus(self.status).phrase.encode()

    def encode(self) -> bytes:
        """The bytes of the last response of an HTTP/1.1 connection."""
        fields = b"".join(b"%s: %s\r\n" % field for field in [*self.headers, (b"connection", b"close")])
        return b"HTTP/1.1 %d %s\r\n%s\r\n%s" % (self.status, self.reason, fields, self.body)


def refusal(target: bytes, status: int, message: str, more: Mapping[str, str] = MappingProxyType({})) -> Refusal:
    """The documented error for a request to ``target`` (which may not be known: then empty); ``more``: header fields besides."""
    request_id = str(uuid.uuid4())
    headers = [(b"content-type", b"application/json"), (b"x-request-id", request_id.encode())]
    if in_registry(target):
        content: dict[str, object] = {"errors": [{"code": OCI_CODES.get(status, "UNKNOWN"), "message": message}]}
        headers.append((b"docker-distribution-api-version", b"registry/2.0"))
    else:
        content = {"request_id": request_id, "message": message}
        headers += CORS
    fields = {name.lower(): value for name, value in more.items()}
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        fields.setdefault("retry-after", "1")
    headers += [(name.encode(), value.encode()) for name, value in fields.items()]
    body = json.dumps(content).encode()
    return Refusal(status, [*headers, (b"content-length", b"%d" % len(body))], body)


def body_too_large(target: bytes, limit: int) -> Refusal:
    """400, as the reference server has it; 413 in the registry."""
    return refusal(target, 413 if in_registry(target) else 400, f"body: larger than {limit} bytes")
