"""From the Authorization header to what the bearer's token says; the challenge that tells clients where tokens are had (registry.md 1.2)."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from urllib.parse import urlsplit

from django.conf import settings

from outputs.registry.errors import Denied, Unauthorized
from outputs.registry.scopes import PULL, PUSH
from outputs.registry.tokens import ANONYMOUS, PROJECT, RUNNER, USER, Claims, InvalidToken, read_token

TOKEN_PATH = "/v0/auth/oci/token"  # noqa: S105
_PULLERS = (RUNNER, PROJECT, USER, ANONYMOUS)
_PUSHERS = (PROJECT, USER, ANONYMOUS)
_DELETERS = (PROJECT, USER)


class BadCredentials(Exception):
    """The Basic header is unreadable."""


def challenge(scope: str = "", error: str = "") -> str:
    """The value of WWW-Authenticate. ``error``: a word of RFC 6750, 3.1."""
    service = urlsplit(settings.BENCHER_REGISTRY_URL).hostname or ""
    text = f'Bearer realm="{settings.BENCHER_REGISTRY_URL}{TOKEN_PATH}",service="{service}"'
    if scope:
        text += f',scope="{_unquoted(scope)}"'
    return f'{text},error="{error}"' if error else text


def _unquoted(scope: str) -> str:
    """Neither quotes nor anything that could end the header (names come from the path)."""
    return "".join(character for character in scope if character.isascii() and character.isprintable() and character not in '"\\')


def enter(authorization: str | None, now: datetime) -> Claims:
    """``/v2/`` itself: any token but a runner's. Raises `Unauthorized`."""
    return _read(authorization, _PUSHERS, "", now)


def for_pull(authorization: str | None, name: str, now: datetime) -> Claims:
    return _granted(_read(authorization, _PULLERS, f"repository:{name}:{PULL}", now), name, PULL)


def for_push(authorization: str | None, name: str, now: datetime) -> Claims:
    return _granted(_read(authorization, _PUSHERS, f"repository:{name}:{PUSH}", now), name, PUSH)


def for_status(authorization: str | None, name: str, now: datetime) -> Claims:
    """How far an upload is: clients ask with whichever token of the repository they have at hand."""
    claims = _read(authorization, _PUSHERS, f"repository:{name}:{PUSH}", now)
    return _granted(claims, name, PUSH if PUSH in claims.actions else PULL)


def for_delete(authorization: str | None, name: str, now: datetime) -> Claims:
    return _granted(_read(authorization, _DELETERS, f"repository:{name}:{PUSH}", now), name, PUSH)


def _read(authorization: str | None, kinds: tuple[str, ...], scope: str, now: datetime) -> Claims:
    scheme, _, token = (authorization or "").strip().partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthorized(scope=scope)
    try:
        claims = read_token(token.strip(), kinds, now)
    except InvalidToken:
        raise Unauthorized("the token is not valid (any more)", scope=scope) from None
    if claims.kind == ANONYMOUS and not settings.BENCHER_ALLOW_ANONYMOUS_RUNS:
        raise Unauthorized("anonymous access is switched off", scope=scope)
    return claims


def _granted(claims: Claims, name: str, action: str) -> Claims:
    """Names are compared as written: a token for the slug does not open the UUID's path.

    The refusal names what to ask for instead: clients that keep one token for all they do look for that.
    """
    scope = f"repository:{name}:{'pull,push' if action == PUSH else PULL}"
    if claims.repository != name:
        raise Denied("the token is for another repository", scope=scope)
    if action not in claims.actions:
        raise Denied(f"the token does not allow to {action}", scope=scope)
    return claims


def basic_credentials(authorization: str | None) -> tuple[str, str] | None:
    """(name, password); None when there is no Basic header. Raises `BadCredentials`."""
    scheme, _, encoded = (authorization or "").strip().partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        raise BadCredentials from None
    name, colon, password = text.partition(":")
    if not colon:
        raise BadCredentials
    return name, password
