"""The REST conventions of rest.md section 0, once: strict JSON in, exact shapes out, errors, headers, paging.

A view subclasses :class:`Endpoint` and returns :class:`Reply`. Bodies and queries are msgspec structs, so that one declaration validates, answers
and documents (``bencher/core/schema.py`` turns it into OpenAPI).
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import msgspec
from django.db import IntegrityError, InterfaceError, OperationalError
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions as drf
from rest_framework.views import APIView

from bencher.core.errors import Busy, Clash, Invalid, ServiceError

logger = logging.getLogger("bencher.api")
T = TypeVar("T")
M = TypeVar("M", bound=Model)
ALL_METHODS = "GET, POST, PUT, PATCH, DELETE, OPTIONS"
JSON = "application/json"
_PATH = re.compile(r" - at `(?P<path>[^`]*)`$")


def ts(moment: datetime) -> str:
    """RFC 3339 in UTC, whole seconds (rest.md 0.6)."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def ts_or_none(moment: datetime | None) -> str | None:
    return None if moment is None else ts(moment)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a view answers: ``value`` is JSON-encodable (struct, dict, list); ``total`` becomes ``x-total-count``."""

    value: Any
    status: int = 200
    total: int = 1
    headers: Mapping[str, str] = field(default_factory=dict)


def no_content() -> Reply:
    return Reply(None, 204, 0)


class JsonError(msgspec.Struct, omit_defaults=True):
    """Every error body (rest.md 0.3)."""

    request_id: str
    message: str
    error_code: str | None = None


def request_id(request: HttpRequest) -> str:
    """The id of this request, made once; log lines and the error body share it."""
    known: str | None = getattr(request, "bencher_request_id", None)
    if known is None:
        known = str(uuid.uuid4())
        request.bencher_request_id = known  # type: ignore[attr-defined]
    return known


def error_response(
    request: HttpRequest, status: int, message: str, headers: Mapping[str, str] | None = None, *, cors: bool = True
) -> HttpResponse:
    code = str(uuid.uuid4()) if status == 500 else None
    body = msgspec.json.encode(JsonError(request_id(request), message, code))
    response = HttpResponse(body, status=status, content_type=JSON, headers=dict(headers or {}))
    response["x-request-id"] = request_id(request)
    if cors:
        _cors(response, ALL_METHODS, "Content-Type, Authorization")
    return response


def _cors(response: HttpResponse, methods: str, allowed: str) -> None:
    response["access-control-allow-origin"] = "*"
    response["access-control-allow-methods"] = methods
    response["access-control-allow-headers"] = allowed
    response["access-control-expose-headers"] = "X-Total-Count"


def decode_body(request: HttpRequest, shape: type[T]) -> T:
    """The request's JSON body as ``shape``; raises Invalid with the JSON path."""
    kind = request.headers.get("Content-Type", "").split(";")[0].strip().lower()
    if kind not in ("", JSON):
        raise Invalid(f"content type {kind[:80]!r} is not supported: send application/json")
    try:
        return msgspec.json.decode(request.body, type=shape)
    except msgspec.ValidationError as fault:
        raise Invalid(f"request body: {_with_path(str(fault))}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise Invalid(f"request body is not valid JSON: {fault}") from None
    except RecursionError:
        raise Invalid("request body is nested too deeply") from None


def _with_path(text: str) -> str:
    found = _PATH.search(text)
    return f"{found['path']}: {text[: found.start()]}" if found else text


def decode_query(request: HttpRequest, shape: type[T]) -> T:
    """The query string as ``shape``; a parameter given twice counts once (the last)."""
    values = {name: request.GET[name] for name in request.GET}
    try:
        return msgspec.convert(values, type=shape, strict=False)
    except msgspec.ValidationError as fault:
        raise Invalid(f"query string: {_with_path(str(fault))}") from None


class Endpoint(APIView):
    """A REST resource: one method per verb, each returning :class:`Reply`."""

    public: ClassVar[bool] = False
    """Answers advertise only ``Content-Type`` to everybody (rest.md 0.4)."""
    authenticated_headers: ClassVar[bool] = False
    """Answers advertise ``Authorization`` also to anonymous callers (``POST /v0/run``)."""

    def body(self, shape: type[T]) -> T:
        return decode_body(self.request._request, shape)

    def query(self, shape: type[T]) -> T:
        return decode_query(self.request._request, shape)

    def anonymous(self) -> bool:
        """Is the caller anonymous? Subclasses that authenticate override this."""
        return True

    def options(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        response = HttpResponse(b"", status=200, content_type=JSON)
        methods = [name.upper() for name in self.http_method_names if hasattr(self, name) and name not in ("options", "head", "trace")]
        _cors(response, ", ".join(methods), "Content-Type, Authorization")
        return response

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        if isinstance(response, Reply):
            body = b"" if response.status == 204 else msgspec.json.encode(response.value)
            made = HttpResponse(body, status=response.status, headers=dict(response.headers))
            if response.status != 204:
                made["content-type"] = JSON
            else:
                del made["content-type"]
            made["x-total-count"] = str(response.total)
            open_to_all = self.public or (self.anonymous() and not self.authenticated_headers)
            _cors(made, request.method, "Content-Type" if open_to_all else "Content-Type, Authorization")
            response = made
        response["x-request-id"] = request_id(request._request)
        return response


def exception_handler(fault: Exception, context: dict[str, Any]) -> HttpResponse:
    """Any exception of a view as the documented error body. Texts of unknown exceptions stay in the log."""
    request = context["request"]._request
    if isinstance(fault, ServiceError):
        return error_response(request, fault.status, fault.message, fault.headers)
    if isinstance(fault, drf.MethodNotAllowed):
        allowed = ", ".join(sorted(context["view"].allowed_methods))
        return error_response(request, 405, f"method {request.method} is not allowed here", {"Allow": allowed}, cors=False)
    if isinstance(fault, (Http404, drf.NotFound)):
        return error_response(request, 404, "not found")
    if isinstance(fault, (OperationalError, InterfaceError)):
        logger.warning("request %s: database fault: %s", request_id(request), type(fault).__name__)
        return error_response(request, 503, "the database is busy, try again", Busy.headers)
    if isinstance(fault, IntegrityError):
        logger.info("request %s: integrity error", request_id(request), exc_info=fault)
        return error_response(request, Clash.status, "this conflicts with what is stored already")
    if isinstance(fault, drf.APIException):
        return error_response(request, fault.status_code, str(fault.detail))
    logger.error("request %s %s %s failed", request_id(request), request.method, request.path, exc_info=fault)
    return error_response(request, 500, "internal error: please report it with this body's error_code to the operator")


# -- paging ------------------------------------------------------------------------------------------------------
PerPage = Annotated[int, msgspec.Meta(ge=0, le=255)]
PageNumber = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]
Direction = Literal["asc", "desc"]


class Page(msgspec.Struct, kw_only=True):
    """Query parameters of every list (rest.md 0.5)."""

    per_page: PerPage = 8
    page: PageNumber = 1
    direction: Direction | None = None

    def cut(self, rows: QuerySet[M]) -> tuple[list[M], int]:
        """(the rows of this page, the number of all rows). ``rows`` must be ordered down to its key."""
        total = rows.count()
        start = (max(self.page, 1) - 1) * self.per_page
        if not self.per_page or start >= total:
            return [], total
        return list(rows[start : start + self.per_page]), total
