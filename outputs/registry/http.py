"""Requests and answers of the registry: what ASGI gives, made handy."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from django.conf import settings

from bencher.core.client_ip import source_ip
from outputs.registry.errors import RegistryError
from outputs.registry.storage.base import Reader

OCTETS = "application/octet-stream"
JSON = "application/json"
NO_CONTENT = 204


@dataclass(frozen=True)
class Request:
    """``query``: name and value pairs as sent; ``headers``: lower-case names, of repeated ones the last (no rule here needs more);
    ``address``: where it comes from, trusted proxies believed.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    address: str = ""

    def parameter(self, name: str) -> str | None:
        """The first value of a query parameter."""
        return next(iter(self.parameters(name)), None)

    def parameters(self, name: str) -> list[str]:
        return [value for key, value in self.query if key == name]

    @property
    def content_length(self) -> int | None:
        text = self.headers.get("content-length", "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


@dataclass
class Response:
    """``reader`` gives the body piece by piece, then its Content-Length must be among ``headers``."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    reader: Reader | None = None


def read_request(scope: Mapping[str, Any]) -> Request:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True, max_num_fields=1000)
    peer = (scope.get("client") or [""])[0]
    fly, forwarded = headers.get("fly-client-ip", ""), headers.get("x-forwarded-for", "")
    address = source_ip(peer, fly=fly, forwarded=forwarded, trusted=settings.BENCHER_TRUSTED_PROXIES)
    return Request(scope["method"].upper(), scope["path"], tuple(query), headers, address)


def json_response(status: int, document: Any, headers: Mapping[str, str] | None = None) -> Response:
    return Response(status, {"Content-Type": JSON, **(headers or {})}, json.dumps(document).encode())


def refusal(problem: RegistryError, headers: Mapping[str, str] | None = None) -> Response:
    """The body that the OCI specification asks for, bare."""
    document = {"errors": [{"code": problem.code, "message": problem.message}]}
    return json_response(problem.status, document, {**problem.headers, **(headers or {})})


def cors(methods: Iterable[str]) -> dict[str, str]:
    return {
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Allow-Methods": ", ".join(methods),
        "Access-Control-Allow-Headers": "Content-Type, Authorization",
    }
