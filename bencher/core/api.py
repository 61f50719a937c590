"""The REST conventions of rest.md section 0, once: strict JSON in, exact shapes out, errors, headers, paging.

A view subclasses :class:`Endpoint` and returns :class:`Reply`. Bodies and queries are msgspec structs, so that one declaration validates, answers
and documents (``bencher/core/schema.py`` turns it into OpenAPI).
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import msgspec
from django.db import IntegrityError, InterfaceError, OperationalError, connection
from django.db.models import F, Model, Q, QuerySet
from django.db.models.functions import Collate
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions as drf
from rest_framework.views import APIView

from bencher.core.errors import Busy, Clash, Invalid, ServiceError
from bencher.core.ids import as_uuid
from bencher.core.newtypes import NUL, ResourceId, dec_hook
from bencher.core.retry import reason

logger = logging.getLogger("bencher.api")
T = TypeVar("T")
M = TypeVar("M", bound=Model)
ALL_METHODS = "GET, POST, PUT, PATCH, DELETE, OPTIONS"
JSON = "application/json"
_PATH = re.compile(r" - at `(?P<path>[^`]*)`$")


def ts(moment: datetime) -> str:
    """RFC 3339 in UTC, whole seconds (rest.md 0.6)."""
    return (moment if moment.tzinfo is UTC else moment.astimezone(UTC)).isoformat()[:19] + "Z"


def ts_or_none(moment: datetime | None) -> str | None:
    return None if moment is None else ts(moment)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a view answers: ``value`` is JSON-encodable (struct, dict, list), or bytes with a ``content-type`` among the headers.

    ``total`` becomes ``x-total-count``.
    """

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
    if code is not None:
        logger.error("request %s: error_code %s", request_id(request), code)
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
    """The request's JSON body as ``shape``; raises Invalid with the JSON path.

    Strings with NUL, which a database cannot store, are refused, but for the fields that the struct names in ``nul_allowed``.
    """
    kind = request.headers.get("Content-Type", "").split(";")[0].strip().lower()
    if kind not in ("", JSON):
        raise Invalid("this content type is not supported: send application/json")
    raw = request.body
    try:
        value = msgspec.json.decode(raw, type=shape, dec_hook=dec_hook)
    except msgspec.ValidationError as fault:
        raise Invalid(f"request body: {with_path(str(fault))}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise Invalid(f"request body is not valid JSON: {fault}") from None
    except RecursionError:
        raise Invalid("request body is nested too deeply") from None
    if b"\\u0000" in raw:
        _refuse_nul(value, "$")
    return value


def _refuse_nul(value: Any, path: str) -> None:
    if isinstance(value, str):
        if NUL in value:
            raise Invalid(f"request body: {path}: the NUL character is not allowed")
    elif isinstance(value, msgspec.Struct):
        allowed = getattr(type(value), "nul_allowed", ())
        for name in value.__struct_fields__:
            if name not in allowed:
                _refuse_nul(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, dict):
        for name, item in value.items():
            _refuse_nul(name, f"{path}[...]")
            _refuse_nul(item, f"{path}[...]")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _refuse_nul(item, f"{path}[{index}]")


def with_path(text: str) -> str:
    """msgspec's sentence about a wrong value, the place first."""
    found = _PATH.search(text)
    return f"{found['path']}: {text[: found.start()]}" if found else text


_WHOLE = re.compile(r"[+-]?[0-9]+")


def decode_query(request: HttpRequest, shape: type[T]) -> T:
    """The query string as ``shape``; of a parameter given twice the last counts."""
    return decode_parameters({name: request.GET[name] for name in request.GET}, shape)


def decode_parameters(values: dict[str, str], shape: type[T]) -> T:
    """The parameters of a query string as ``shape``; raises Invalid."""
    if any(NUL in text for text in values.values()):
        raise Invalid("query string: the NUL character is not allowed")
    try:
        query = msgspec.convert(values, type=shape, strict=False, dec_hook=dec_hook)
    except msgspec.ValidationError as fault:
        raise Invalid(f"query string: {with_path(str(fault))}") from None
    for name, text in values.items():
        value = getattr(query, name, text)
        if value is None:  # msgspec takes the word for the value
            raise Invalid(f"query string: $.{name}: {text!r} is no value")
        if type(value) is int and not _WHOLE.fullmatch(text):  # msgspec takes 1e1 for 10
            raise Invalid(f"query string: $.{name}: expected an integer, got {text[:40]!r}")
    return query


def path_id(text: str, name: str) -> str:
    """A UUID (lower case) or slug in a path."""
    try:
        return ResourceId.parse(text)  # type: ignore[attr-defined, no-any-return]
    except ValueError as fault:
        raise Invalid(f"path: {name}: {fault}") from None


def path_uuid(text: str, name: str) -> uuid.UUID:
    """A UUID in a path."""
    if (value := as_uuid(text)) is None:
        raise Invalid(f"path: {name}: expected a UUID")
    return value


class Endpoint(APIView):
    """A REST resource: one method per verb, each returning :class:`Reply`."""

    public: ClassVar[bool] = False
    """Answers advertise only ``Content-Type`` to everybody (rest.md 0.4)."""
    authenticated_headers: ClassVar[bool] = False
    """Answers advertise ``Authorization`` also to anonymous callers (``POST /v0/run``)."""

    def initial(self, request: Any, *args: Any, **kwargs: Any) -> None:
        """Before the handler. DRF's content negotiation, versions, permissions and throttles are not ours: whatever ``Accept`` says, JSON comes."""
        method = str(request.method).lower()
        if method == "options":
            return
        if method not in self.http_method_names or not hasattr(self, method):
            raise drf.MethodNotAllowed(str(request.method))
        self.authenticate()

    def authenticate(self) -> None:
        """Learn who calls; subclasses that need to know override this."""

    def security(self, method: str) -> list[dict[str, list[str]]]:
        """The ``security`` of that method in the OpenAPI document: none."""
        return []

    def error_statuses(self, method: str) -> tuple[int, ...]:
        """The statuses of refusals that that method may answer, for the OpenAPI document."""
        return (400, 429, 500, 503)

    def body(self, shape: type[T]) -> T:
        return decode_body(self.request._request, shape)

    def query(self, shape: type[T]) -> T:
        return decode_query(self.request._request, shape)

    def anonymous(self) -> bool:
        """Is the caller anonymous? Subclasses that authenticate override this."""
        return True

    def options(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponse:  # type: ignore[override]
        response = HttpResponse(b"", status=200, content_type=JSON)
        methods = [name.upper() for name in self.http_method_names if hasattr(self, name) and name not in ("options", "head", "trace")]
        _cors(response, ", ".join(methods), "Content-Type, Authorization")
        return response

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(response, Reply):
            raw = isinstance(response.value, bytes)
            body = b"" if response.status == 204 else response.value if raw else msgspec.json.encode(response.value)
            made = HttpResponse(body, status=response.status, headers=dict(response.headers))
            if response.status == 204:
                del made["content-type"]
            elif not raw:
                made["content-type"] = JSON
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
        return error_response(request, 405, "this method is not allowed here", {"Allow": allowed}, cors=False)
    if isinstance(fault, (Http404, drf.NotFound)):
        return error_response(request, 404, "not found")
    if isinstance(fault, (OperationalError, InterfaceError)):
        logger.warning("request %s: database fault: %s", request_id(request), reason(fault))
        return error_response(request, 503, "the database is busy, try again", Busy.headers)
    if isinstance(fault, IntegrityError):
        logger.info("request %s: integrity error", request_id(request), exc_info=fault)
        return error_response(request, Clash.status, "this conflicts with what is stored already")
    if isinstance(fault, drf.APIException):
        return error_response(request, fault.status_code, str(fault.detail))
    logger.error("request %s %s %s failed", request_id(request), request.method, request.path, exc_info=fault)
    return error_response(request, 500, "internal error: please report it to the operator, with the error_code of this answer")


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


class Listing(Page, kw_only=True):
    """A list that can be searched."""

    name: str | None = None
    search: str | None = None

    def filtered(self, rows: QuerySet[M], *fields: str) -> QuerySet[M]:
        """The rows with that exact ``name`` whose ``fields`` (default name and slug) or UUID contain ``search``."""
        if self.name is not None:
            rows = rows.filter(name=self.name)
        return searched(rows, self.search, *(fields or ("name", "slug")))


class Inventory(Listing, kw_only=True):
    """Lists of runners and specs: by name (ties by slug) or by age; ``archived=true`` includes archived ones (rest.md 4.1)."""

    sort: Literal["name", "created"] = "name"
    archived: bool = False

    def listed(self, rows: QuerySet[M]) -> tuple[list[M], int]:
        """(this page of the rows, the number of all)."""
        if not self.archived:
            rows = rows.filter(archived__isnull=True)
        found = self.filtered(rows)
        if self.sort == "created":
            return self.cut(ordered(found, self.direction, "created", default="desc"))
        return self.cut(ordered(found, self.direction, "name", "slug"))


def given(body: msgspec.Struct) -> dict[str, Any]:
    """The fields that a PATCH changes: absent ones are left out, and null ones too, unless null clears the field (type with ``UnsetType``)."""
    values = {}
    for one in msgspec.structs.fields(body):
        value = getattr(body, one.name)
        if value is not msgspec.UNSET and (value is not None or one.default is msgspec.UNSET):
            values[one.name] = value
    return values


_SOME_UUID = re.compile(r"[0-9a-fA-F-]*[0-9a-fA-F][0-9a-fA-F-]*")


def searched(rows: QuerySet[M], text: str | None, *fields: str, key: str = "id") -> QuerySet[M]:
    """The rows one of whose ``fields``, or whose UUID ``key``, contains ``text``."""
    if not text:
        return rows
    found = Q()
    for name in fields:
        found |= Q(**{f"{name}__icontains": text})
    if len(text) <= 36 and _SOME_UUID.fullmatch(text):
        found |= Q(**{f"{key}__icontains": text})
    return rows.filter(found)


def ordered(
    rows: QuerySet[M],
    direction: Direction | None,
    *fields: str,
    default: Direction = "asc",
    texts: Collection[str] = ("name", "slug", "user__name"),
) -> QuerySet[M]:
    """The rows by ``fields``, then by id, all in that direction. Texts sort by code point on every database."""
    down = (direction or default) == "desc"
    collate = connection.vendor == "postgresql"
    keys = [Collate(name, "C") if collate and name in texts else F(name) for name in fields]
    return rows.order_by(*(key.desc() if down else key.asc() for key in (*keys, F("id"))))
