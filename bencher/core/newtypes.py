"""The checked texts and moments of rest.md section 7: one class a rule, usable as the type of a msgspec field.

A field typed ``ResourceName`` decodes to a plain ``str`` that obeys the rule, ``Timestamp`` to an aware ``datetime`` in UTC with whole seconds. A value
that does not obey is a ``ValidationError`` that names the JSON path and the limit. ``parse`` applies a rule to any text (path parts, form fields).
Limits count bytes of UTF-8 where the specification says bytes.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, ClassVar
from urllib.parse import urlsplit

import msgspec

from bencher.core.ids import SLUG_MAX, as_uuid, is_slug

U32_MAX = 2**32 - 1
I32_MAX = 2**31 - 1
I64_MAX = 2**63 - 1
NUL = "\x00"
UUID_PATTERN = "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
_SLUG_PATTERN = "[a-z0-9]+(-[a-z0-9]+)*"
_TRIMMED = r"^[^\s\u0000\u001c-\u001f\u0085]([^\u0000]*[^\s\u0000\u001c-\u001f\u0085])?$"
"""For the OpenAPI document: no NUL, no white space at the ends."""


class _Kind(type):
    """Lets ``dec_hook`` answer a plain value for a field of this type: msgspec asks ``isinstance``."""

    python: type

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.python)


class Checked(metaclass=_Kind):
    """A value that is read from a JSON string."""

    python: ClassVar[type] = str
    schema: ClassVar[dict[str, Any]] = {"type": "string"}

    @classmethod
    def parse(cls, value: object) -> Any:
        """The checked value; TypeError for no string, ValueError with the rule that was broken."""
        if not isinstance(value, str):
            raise TypeError(f"Expected `str`, got `{_json_type(value)}`")
        return cls.check(value)

    @classmethod
    def check(cls, text: str) -> Any:
        raise NotImplementedError


def _json_type(value: object) -> str:
    names = {type(None): "null", dict: "object", list: "array"}
    return names.get(type(value), type(value).__name__)


def dec_hook(kind: type, value: Any) -> Any:
    """For ``msgspec.json.decode`` and ``msgspec.convert``."""
    if isinstance(kind, _Kind):
        return kind.parse(value)  # type: ignore[attr-defined]
    raise NotImplementedError(f"no rule for {kind}")


def schema_hook(kind: type) -> dict[str, Any]:
    """For ``msgspec.json.schema_components``."""
    if isinstance(kind, _Kind):
        return dict(kind.schema)  # type: ignore[attr-defined]
    raise NotImplementedError(f"no schema for {kind}")


class _Name(Checked):
    """Text of 1 to ``limit`` bytes without white space at its ends."""

    limit: ClassVar[int] = 64
    trimmed: ClassVar[bool] = True

    @classmethod
    def check(cls, text: str) -> str:
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        if not 1 <= size <= cls.limit:
            raise ValueError(f"expected 1 to {cls.limit} bytes, got {size}")
        if cls.trimmed and text != text.strip():
            raise ValueError("white space at the start or the end is not allowed")
        if NUL in text:
            raise ValueError("the NUL character is not allowed")
        return text


class _ResourceName(_Name):
    """Name of a project, testbed, measure, runner, spec, key, organization; plot title; units."""

    schema = {"type": "string", "pattern": _TRIMMED, "maxLength": 64, "description": "1 to 64 bytes, no white space at the ends"}


class _BenchmarkName(_Name):
    limit, trimmed = 1024, False
    schema = {"type": "string", "pattern": r"^[^\u0000]+$", "maxLength": 1024, "description": "1 to 1024 bytes"}


class _UserName(_Name):
    schema = {"type": "string", "maxLength": 64, "pattern": r"^[0-9A-Za-z,.\-']([0-9A-Za-z ,.\-']*[0-9A-Za-z,.\-'])?$"}
    _allowed = re.compile(r"[0-9A-Za-z ,.\-']+")

    @classmethod
    def check(cls, text: str) -> str:
        text = super().check(text)
        if not cls._allowed.fullmatch(text):
            raise ValueError("a user's name consists of letters, digits, spaces and , . - '")
        return text


class _NonEmpty(_Name):
    limit = 1 << 20
    schema = {"type": "string", "pattern": _TRIMMED, "maxLength": 1 << 20, "description": "no white space at the ends"}


class _Slug(Checked):
    schema = {"type": "string", "maxLength": SLUG_MAX, "pattern": f"^{_SLUG_PATTERN}$"}

    @classmethod
    def check(cls, text: str) -> str:
        if not is_slug(text):
            raise ValueError(f"expected a slug: 1 to {SLUG_MAX} of a-z, 0-9 and single hyphens between them")
        return text


class _ResourceId(Checked):
    """A UUID (lower case) or a slug."""

    schema = {"type": "string", "maxLength": SLUG_MAX, "pattern": f"^({_SLUG_PATTERN}|{UUID_PATTERN})$", "description": "UUID or slug"}

    @classmethod
    def check(cls, text: str) -> str:
        if (value := as_uuid(text)) is not None:
            return str(value)
        if is_slug(text):
            return text
        raise ValueError("expected a UUID or a slug")


class _NameId(_Name):
    """A UUID, a slug, or a name."""

    limit = 1024
    schema = {"type": "string", "pattern": _TRIMMED, "maxLength": 1024, "description": "UUID, slug or name"}


class _GitHash(Checked):
    schema = {"type": "string", "pattern": "^[0-9a-fA-F]{40}$"}
    _form = re.compile(r"[0-9a-fA-F]{40}")

    @classmethod
    def check(cls, text: str) -> str:
        if not cls._form.fullmatch(text):
            raise ValueError("expected 40 hexadecimal digits")
        return text


class _Email(Checked):
    """An address, lower-cased."""

    schema = {"type": "string", "maxLength": 254, "format": "email"}
    _form = re.compile(r"[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")

    @classmethod
    def check(cls, text: str) -> str:
        lower = text.lower()
        if len(lower) > 254 or not cls._form.fullmatch(lower):
            raise ValueError("expected an e-mail address of at most 254 characters")
        return lower


class _Url(Checked):
    schema = {"type": "string", "format": "uri", "maxLength": 4096}

    @classmethod
    def check(cls, text: str) -> str:
        try:
            parts = urlsplit(text)
        except ValueError:
            parts = None
        if parts is None or not parts.scheme or not (parts.netloc or parts.path) or len(text) > 4096 or re.search(r"[\s\x00-\x1f]", text):
            raise ValueError("expected an absolute URL of at most 4096 characters")
        return text


class _Jwt(Checked):
    schema = {"type": "string", "pattern": r"^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$"}
    _form = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")

    @classmethod
    def check(cls, text: str) -> str:
        if not cls._form.fullmatch(text):
            raise ValueError("expected a JSON Web Token: three base64url parts")
        return text


class _Timestamp(Checked):
    """RFC 3339 with an offset; becomes UTC, whole seconds."""

    python = datetime
    schema = {"type": "string", "format": "date-time"}

    @classmethod
    def check(cls, text: str) -> datetime:
        try:
            moment = msgspec.convert(text, Annotated[datetime, msgspec.Meta(tz=True)])
            utc: datetime = moment.astimezone(UTC).replace(microsecond=0)
            return utc
        except (msgspec.ValidationError, OverflowError):
            raise ValueError("expected a date and time with an offset (RFC 3339), such as 2026-01-31T12:00:00Z") from None


if TYPE_CHECKING:
    ResourceName = str
    BenchmarkName = str
    UserName = str
    NonEmpty = str
    Slug = str
    ResourceId = str
    NameId = str
    GitHash = str
    Email = str
    Url = str
    Jwt = str
    Timestamp = datetime
else:
    ResourceName, BenchmarkName, UserName, NonEmpty = _ResourceName, _BenchmarkName, _UserName, _NonEmpty
    Slug, ResourceId, NameId, GitHash, Email, Url, Jwt, Timestamp = _Slug, _ResourceId, _NameId, _GitHash, _Email, _Url, _Jwt, _Timestamp

# -- numbers (rest.md 7.2) ------------------------------------------------------------------------------------------
U32 = Annotated[int, msgspec.Meta(ge=0, le=U32_MAX)]
PositiveU32 = Annotated[int, msgspec.Meta(ge=1, le=U32_MAX)]
"""SampleSize, Window, key ``ttl``."""
PositiveI32 = Annotated[int, msgspec.Meta(ge=1, le=I32_MAX)]
"""Timeout, Cpu."""
PositiveI64 = Annotated[int, msgspec.Meta(ge=1, le=I64_MAX)]
"""Memory, Disk: bytes."""

# -- answers --------------------------------------------------------------------------------------------------------
Moment = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]
"""A moment in an answer: what ``bencher.core.api.ts`` makes."""
