"""The registry's bearer tokens: JWTs of four kinds, minted and never stored (registry.md 1.4).

One key signs every kind of the server's tokens; the audience keeps them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import jwt
from django.conf import settings

from outputs.registry.scopes import PULL

ALGORITHM = "HS256"
ANONYMOUS, USER, PROJECT, RUNNER = "oci_public", "oci_auth", "oci_project", "oci_runner"
LIFE_S = {ANONYMOUS: 300, USER: 300, PROJECT: 300, RUNNER: 600}


class InvalidToken(Exception):
    """Not one of ours, of another kind, or expired."""


@dataclass(frozen=True, slots=True)
class Claims:
    """``kind`` is the audience; ``subject`` a user's e-mail, a project's or a runner's UUID, None for anonymous callers."""

    kind: str
    subject: str | None
    repository: str | None
    actions: frozenset[str]


def mint_runner_token(*, runner_id: UUID, project_id: UUID, now: datetime) -> str:
    """What a runner pulls its job's image with: pull only, from that project, named by its UUID, for 600 s."""
    return _mint(RUNNER, str(runner_id), str(project_id), [PULL], now)


def mint_user_token(*, email: str, repository: str | None, actions: Iterable[str], now: datetime) -> str:
    return _mint(USER, email, repository, actions, now)


def mint_project_token(*, project_id: UUID, repository: str | None, actions: Iterable[str], now: datetime) -> str:
    return _mint(PROJECT, str(project_id), repository, actions, now)


def mint_anonymous_token(*, repository: str | None, actions: Iterable[str], now: datetime) -> str:
    return _mint(ANONYMOUS, None, repository, actions, now)


def read_token(token: str, kinds: Sequence[str], now: datetime) -> Claims:
    """Signature, audience, issuer and expiry, without leeway. Raises `InvalidToken`."""
    try:
        payload: dict[str, Any] = jwt.decode(
            token,
            settings.SECRET_KEY,
            algorithms=[ALGORITHM],
            audience=kinds,
            issuer=_issuer(),
            options={"require": ["aud", "exp", "iss"], "verify_exp": False, "verify_iat": False},
        )
    except (jwt.InvalidTokenError, ValueError, RecursionError) as problem:
        raise InvalidToken(type(problem).__name__) from None
    return _claims(payload, now)


def _claims(payload: dict[str, Any], now: datetime) -> Claims:
    kind, subject, oci, expiry = payload["aud"], payload.get("sub"), payload.get("oci"), payload["exp"]
    if not isinstance(kind, str) or not isinstance(oci, dict) or not isinstance(expiry, int | float):
        raise InvalidToken("claims")
    if expiry < now.timestamp():
        raise InvalidToken("expired")
    repository, actions = oci.get("repository"), oci.get("actions")
    if (kind != ANONYMOUS and not isinstance(subject, str)) or not isinstance(repository, str | None) or not isinstance(actions, list):
        raise InvalidToken("claims")
    return Claims(kind, subject, repository, frozenset(action for action in actions if isinstance(action, str)))


def _mint(kind: str, subject: str | None, repository: str | None, actions: Iterable[str], now: datetime) -> str:
    issued = int(now.astimezone(UTC).timestamp())
    payload: dict[str, Any] = {
        "aud": kind,
        "exp": issued + LIFE_S[kind],
        "iat": issued,
        "iss": _issuer(),
        "oci": {"repository": repository, "actions": list(actions)},
    }
    if subject is not None:
        payload["sub"] = subject
    return jwt.encode(payload, settings.SECRET_KEY, ALGORITHM)


def _issuer() -> str:
    return str(settings.BENCHER_CONSOLE_URL)
