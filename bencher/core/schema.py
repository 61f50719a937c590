"""OpenAPI 3.0 from the msgspec structs that validate requests and answer them (drf-spectacular collects the routes).

:func:`documented` says on a handler what it takes and gives; paths, parameters, error answers and security are derived.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent

from bencher.core.api import Endpoint, JsonError
from bencher.core.newtypes import schema_hook

F = TypeVar("F", bound=Callable[..., Any])
TEMPLATE = "#/components/schemas/{name}"
TEXTS = {
    200: "done",
    201: "created",
    202: "accepted",
    204: "done; no content",
    400: "the request is malformed, or carries no usable credential where one is needed",
    401: "not authenticated",
    402: "needs a plan",
    403: "not allowed",
    404: "not found, or hidden from this caller",
    409: "conflicts with what is stored",
    429: "too many requests: wait as many seconds as the header Retry-After says",
    500: "a fault of the server",
    503: "busy: try again after the seconds of the header Retry-After",
}


@dataclass(frozen=True, slots=True)
class Documentation:
    body: type[msgspec.Struct] | None
    query: type[msgspec.Struct] | None
    returns: Any
    status: int
    errors: tuple[int, ...]
    media: str


def documented(
    *,
    body: type[msgspec.Struct] | None = None,
    query: type[msgspec.Struct] | None = None,
    returns: Any = None,
    status: int = 200,
    errors: Sequence[int] = (),
    media: str = "application/json",
) -> Callable[[F], F]:
    """What a handler takes and gives.

    ``body``, ``query``: the structs it decodes; ``returns``: a struct, ``list[struct]``, ``bytes`` (with another ``media``), or None for no content;
    ``errors``: statuses beyond 400, 401, 403, 404, 409 (writes), 429, 500 and 503, which are derived.
    """

    def decorate(handler: F) -> F:
        handler.documentation = Documentation(body, query, returns, status, tuple(errors), media)  # type: ignore[attr-defined]
        return handler

    return decorate


def documentation_of(handler: Any) -> Documentation:
    found: Documentation = getattr(handler, "documentation", Documentation(None, None, None, 200, (), "application/json"))
    return found


class EndpointSchema(AutoSchema):
    """Describes an :class:`bencher.core.api.Endpoint`."""

    view: Endpoint  # type: ignore[override]

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: ComponentRegistry
    ) -> dict[str, Any] | None:
        self.registry = registry
        self.path, self.path_regex, self.path_prefix, self.method = path, path_regex, path_prefix, method.upper()
        handler = getattr(self.view, method.lower())
        says = documentation_of(handler)
        operation: dict[str, Any] = {
            "operationId": operation_id(path, method),
            "description": " ".join((handler.__doc__ or "").split()),
            "tags": [tag(path)],
            "parameters": [*self._path_parameters(path), *self._query_parameters(says.query)],
            "security": self.view.security(self.method),
            "responses": self._answers(says),
        }
        if says.body is not None:
            operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": self._schema(says.body)}}}
        return {key: value for key, value in operation.items() if value or key == "security"}

    def _path_parameters(self, path: str) -> list[dict[str, Any]]:
        shapes = getattr(self.view, "path_shapes", {})
        return [
            {"name": name, "in": "path", "required": True, "schema": self._schema(shapes.get(name, str))}
            for name in re.findall(r"{(\w+)}", path)
        ]

    def _query_parameters(self, shape: type[msgspec.Struct] | None) -> list[dict[str, Any]]:
        if shape is None:
            return []
        whole = components((shape,))[1][shape.__name__]
        required = whole.get("required", ())
        return [
            {"name": name, "in": "query", "required": name in required, "schema": _without_null(schema)}
            for name, schema in whole["properties"].items()
        ]

    def _answers(self, says: Documentation) -> dict[str, Any]:
        headers = {"x-request-id": _header("uuid"), "x-total-count": _header("integer")}
        good: dict[str, Any] = {"description": TEXTS[says.status], "headers": headers}
        if says.status != 204:
            schema = {"type": "string", "format": "binary"} if says.returns is bytes else self._schema(says.returns)
            good["content"] = {says.media: {"schema": schema}}
        answers = {str(says.status): good}
        for status in sorted({*self.view.error_statuses(self.method), *says.errors}):
            content = {"application/json": {"schema": self._schema(JsonError)}}
            answers[str(status)] = {"description": TEXTS[status], "headers": {"x-request-id": _header("uuid")}, "content": content}
        return answers

    def _schema(self, shape: Any) -> dict[str, Any]:
        """The schema of any type, its structs registered as components."""
        (schema,), parts = components((shape,))
        for name, part in parts.items():
            self.registry.register_on_missing(ResolvedComponent(name=name, type=ResolvedComponent.SCHEMA, object=name, schema=part))  # type: ignore[no-untyped-call]
        return schema


def components(shapes: tuple[Any, ...]) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    """(schemas, named components) in the dialect of OpenAPI 3.0."""
    schemas, parts = msgspec.json.schema_components(shapes, schema_hook=schema_hook, ref_template=TEMPLATE)
    return tuple(_dialect(schema) for schema in schemas), {name: _dialect(part) for name, part in parts.items()}


def _dialect(schema: Any) -> Any:
    """JSON Schema 2020-12 as OpenAPI 3.0 says it: ``nullable`` for null, one-value enumerations for ``const``."""
    if isinstance(schema, list):
        return [_dialect(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _dialect(value) for key, value in schema.items() if not (key == "default" and value is None)}
    if "const" in made:
        made["enum"] = [made.pop("const")]
    if made.get("type") == "null":
        return {"nullable": True, "enum": [None]}
    if "enum" in made and None in made["enum"] and len(made["enum"]) > 1:
        made["nullable"] = True
    if "anyOf" in made:
        options = [option for option in made["anyOf"] if option != {"nullable": True, "enum": [None]}]
        if len(options) < len(made["anyOf"]):
            made.pop("anyOf")
            made = {**options[0], **made} if len(options) == 1 and "$ref" not in options[0] else {**made, "anyOf": options}
            made["nullable"] = True
            if "enum" in made and None not in made["enum"]:
                made["enum"] = [*made["enum"], None]
    return made


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A query parameter is absent or has a value; it is never null."""
    made = {key: value for key, value in schema.items() if key != "nullable"}
    if "enum" in made:
        made["enum"] = [value for value in made["enum"] if value is not None]
    return made


def _header(kind: str) -> dict[str, Any]:
    return {"schema": {"type": "string", "format": "uuid"} if kind == "uuid" else {"type": kind}}


def operation_id(path: str, method: str) -> str:
    """``GET /v0/projects/{project}/jobs`` is ``get_projects_project_jobs``."""
    words = [part.strip("{}") for part in path.split("/") if part and part != "v0"]
    return "_".join([method.lower(), *words]).replace("-", "_")


def tag(path: str) -> str:
    """The group of a route in the browsable document."""
    words = [part for part in path.split("/") if part and part != "v0"]
    if len(words) > 2 and words[0] == "projects" and not words[2].startswith("{"):
        return words[2]
    return words[0] if words else "server"
