"""The JSON Web Tokens of rest.md 1.1: HS256 with SECRET_KEY, issuer = console address, one audience a purpose."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

import jwt
from django.conf import settings

CLIENT_LIFETIME = 2_592_000
CONFIRM_LIFETIME = 1800
INVITE_LIFETIME = 15 * 86400


class Audience(StrEnum):
    CLIENT = "client"
    API_KEY = "api_key"
    AUTH = "auth"
    INVITE = "invite"
    OCI_PUBLIC = "oci_public"
    OCI_AUTH = "oci_auth"
    OCI_PROJECT = "oci_project"
    OCI_RUNNER = "oci_runner"


class BadToken(Exception):
    """The token proves nothing: signature, issuer, audience, lifetime or claims are wrong."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What a proven token says. ``extra`` holds the optional claims ``org``, ``state``, ``oci``."""

    audience: Audience
    subject: str
    issued: int
    expires: int
    extra: dict[str, Any]


def mint(audience: Audience, subject: str | UUID, *, now: datetime, lifetime: int, **extra: Any) -> str:
    """A signed token about ``subject``, valid for ``lifetime`` seconds; ``extra`` claims that are None are left out."""
    issued = int(now.timestamp())
    claims = {"aud": audience.value, "exp": issued + lifetime, "iat": issued, "iss": settings.BENCHER_CONSOLE_URL, "sub": str(subject)}
    claims.update((name, value) for name, value in extra.items() if value is not None)
    return jwt.encode(claims, settings.SECRET_KEY, algorithm="HS256")


def read(token: str, *audiences: Audience, now: datetime) -> Claims:
    """The claims of a token for one of ``audiences``; raises BadToken."""
    try:
        claims = jwt.decode(
            token,
            settings.SECRET_KEY,
            algorithms=["HS256"],
            audience=[audience.value for audience in audiences],
            issuer=settings.BENCHER_CONSOLE_URL,
            options={"verify_exp": False, "verify_iat": False, "verify_nbf": False, "require": ["aud", "exp", "iat", "iss", "sub"]},
        )
    except (jwt.InvalidTokenError, ValueError, TypeError, RecursionError):
        raise BadToken from None
    audience, expires, issued = claims["aud"], claims["exp"], claims["iat"]
    if not isinstance(audience, str) or type(expires) is not int or type(issued) is not int or expires <= now.timestamp():
        raise BadToken
    extra: dict[str, Any] = {name: claims[name] for name in ("org", "state", "oci") if name in claims}
    return Claims(Audience(audience), str(claims["sub"]), issued, expires, extra)
