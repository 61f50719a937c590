"""Who calls: from the ``Authorization`` header to a :class:`Caller`, with the exact refusals of rest.md 1.6.

A credential costs one indexed query; nothing of it is repeated in an error.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal, TypeVar

from bencher.core.compiled import Compiled, Slot
from bencher.core.errors import Invalid, Missing, NotAllowed, NotAuthenticated
from bencher.core.ids import is_key, key_hash
from bencher.core.newtypes import Jwt
from bencher.projects.models import ApiToken, ProjectKey, User, UserKey
from bencher.projects.tokens import Audience, BadToken, read

USER_KEY, PROJECT_KEY, RUNNER_KEY = "bencher_user_", "bencher_run_", "bencher_runner_"
K = TypeVar("K", UserKey, ProjectKey)
_USER_KEY = Compiled(lambda: UserKey.objects.select_related("user").filter(hash=Slot("hash")))
_PROJECT_KEY = Compiled(lambda: ProjectKey.objects.select_related("project__organization").filter(hash=Slot("hash")))


class Access(StrEnum):
    """The endpoint classes of rest.md 1.3."""

    PUBLIC = "public"
    """The header is not looked at."""
    USER = "user"
    """A user, by session, API token or user key."""
    ADMIN = "admin"
    """A user who is a server administrator."""
    ACTOR = "actor"
    """Anybody: anonymous, user or project key."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request, and how they proved it."""

    kind: Literal["anonymous", "user", "project_key"]
    user: User | None = None
    project_key: ProjectKey | None = None
    via: Literal["none", "jwt", "user_key", "api_token", "project_key"] = "none"
    user_key: UserKey | None = None

    @property
    def is_admin(self) -> bool:
        return self.user is not None and self.user.admin

    @property
    def is_anonymous(self) -> bool:
        return self.kind == "anonymous"


ANONYMOUS = Caller("anonymous")


def bearer(header: str | None) -> str | None:
    """The credential of an ``Authorization`` header; None when the header is missing or of another scheme."""
    scheme, _, credential = (header or "").strip().partition(" ")
    credential = credential.strip()
    return credential if credential and scheme.lower() == "bearer" else None


def authenticate(header: str | None, access: Access, *, now: datetime) -> Caller:
    """The caller of an endpoint of that class; raises the refusal of rest.md 1.6."""
    if access is Access.PUBLIC:
        return ANONYMOUS
    credential = bearer(header)
    if access is Access.ACTOR:
        return ANONYMOUS if credential is None else actor(credential, now=now)
    caller = strict(credential, now=now)
    if access is Access.ADMIN and not caller.is_admin:
        raise NotAllowed("this needs a server administrator")
    return caller


def strict(credential: str | None, *, now: datetime) -> Caller:
    """User and Admin class: what is no credential of a user is 400."""
    if credential is None:
        raise Invalid("the Authorization header must be 'Bearer' and a user key or token")
    if credential.startswith(USER_KEY):
        if not is_key(credential, USER_KEY):
            raise Invalid("the credential is not a well-formed user key")
        return _by_user_key(credential, now)
    if not _is_jwt(credential):
        raise Invalid("the credential is neither a token nor a user key")
    return _by_jwt(credential, now)


def actor(credential: str, *, now: datetime) -> Caller:
    """Actor class: a bearer that is no credential is 401, a token that proves nothing 400."""
    if credential.startswith(PROJECT_KEY) and is_key(credential, PROJECT_KEY):
        return _by_project_key(credential, now)
    if credential.startswith(USER_KEY) and is_key(credential, USER_KEY):
        return _by_user_key(credential, now)
    if not _is_jwt(credential):
        raise NotAuthenticated("the credential is malformed")
    return _by_jwt(credential, now)


def is_well_formed(credential: str) -> bool:
    """Does it look like something that :func:`actor` would look up?"""
    return is_key(credential, PROJECT_KEY) or is_key(credential, USER_KEY) or _is_jwt(credential)


def _is_jwt(credential: str) -> bool:
    try:
        Jwt.parse(credential)  # type: ignore[attr-defined]
    except ValueError:
        return False
    return True


def _by_user_key(credential: str, now: datetime) -> Caller:
    digest = key_hash(credential)
    key = _USER_KEY.first(hash=digest)
    if not _is_valid(key, digest, now) or key is None or key.user.locked:
        raise NotAuthenticated("the user key is unknown, revoked or expired")
    return Caller("user", key.user, None, "user_key", key)


def _by_project_key(credential: str, now: datetime) -> Caller:
    digest = key_hash(credential)
    key = _PROJECT_KEY.first(hash=digest)
    if not _is_valid(key, digest, now) or key is None or key.project.deleted or key.project.organization.deleted:
        raise NotAuthenticated("the project key is unknown, revoked or expired")
    return Caller("project_key", None, key, "project_key")


def _is_valid(key: UserKey | ProjectKey | None, digest: str, now: datetime) -> bool:
    return key is not None and secrets.compare_digest(key.hash, digest) and key.revoked is None and key.expiration > now


def _by_jwt(credential: str, now: datetime) -> Caller:
    try:
        claims = read(credential, Audience.CLIENT, Audience.API_KEY, now=now)
    except BadToken:
        raise Invalid("the token is expired or not valid here") from None
    user = User.objects.filter(email=claims.subject).first()
    if user is None:
        raise Missing("the user of this token does not exist any more")
    if user.locked:
        raise NotAllowed("the account is locked")
    if claims.audience is Audience.API_KEY and ApiToken.objects.filter(hash=key_hash(credential), revoked__isnull=False).exists():
        raise NotAuthenticated("the token was revoked")
    return Caller("user", user, None, "jwt" if claims.audience is Audience.CLIENT else "api_token")
