"""The OpenAPI document of the whole REST API, made once a process."""

from __future__ import annotations

import functools
from typing import Any

import msgspec
from drf_spectacular.generators import SchemaGenerator

from bencher.core.api import Endpoint


def only_endpoints(endpoints: list[tuple[str, str, str, Any]]) -> list[tuple[str, str, str, Any]]:
    """drf-spectacular's preprocessing hook: what is no :class:`Endpoint` is not part of the REST API."""
    return [one for one in endpoints if issubclass(getattr(one[3], "cls", object), Endpoint)]


@functools.cache
def document() -> bytes:
    """JSON text of the document."""
    generator: Any = SchemaGenerator()  # type: ignore[no-untyped-call]
    return msgspec.json.encode(generator.get_schema(request=None, public=True))
