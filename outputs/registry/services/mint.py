"""Tokens for credentials: who gets which (registry.md 1.3)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from bencher.core import ratelimits
from bencher.core.errors import ServiceError
from bencher.core.ids import as_uuid, is_slug
from bencher.projects.authentication import PROJECT_KEY, Caller, actor
from bencher.projects.models import Project
from bencher.projects.permissions import Permission, may
from bencher.projects.selectors import find_project
from outputs.registry.errors import Denied, Unauthorized
from outputs.registry.scopes import PULL, PUSH, Scope
from outputs.registry.services.access import is_claimed, limited
from outputs.registry.tokens import LIFE_S, USER, mint_anonymous_token, mint_project_token, mint_user_token

LIFE = LIFE_S[USER]


@dataclass(frozen=True, slots=True)
class Granted:
    """``life`` in seconds; ``scope`` as granted, in the grammar of the request."""

    token: str
    life: int
    issued: datetime
    scope: str


def grant_token(*, credentials: tuple[str, str] | None, scope: Scope, address: str, now: datetime) -> Granted:
    """``credentials``: (name, password), None = anonymous. The password's form says what it is.

    ``address``: where the request comes from. Raises `Unauthorized` (always to be answered with the challenge), `Denied`, `TooManyRequests`.
    """
    if credentials is None:
        token = _anonymous(scope, address, now)
    elif credentials[1].startswith(PROJECT_KEY):
        token = _for_project(*credentials, scope, now)
    else:
        token = _for_user(*credentials, scope, now)
    text = f"repository:{scope.repository}:{','.join(scope.actions)}" if scope.repository is not None else ""
    return Granted(token, LIFE, now, text)


def _anonymous(scope: Scope, address: str, now: datetime) -> str:
    """For any name: whether the project honours it shows when the token is used."""
    if not settings.BENCHER_ALLOW_ANONYMOUS_RUNS:
        raise Unauthorized("anonymous access is switched off: log in")
    _count("anonymous", address, now)
    return mint_anonymous_token(repository=scope.repository, actions=scope.actions, now=now)


def _for_project(name: str, key: str, scope: Scope, now: datetime) -> str:
    caller = _caller(key, now)
    project = caller.project_key.project if caller.project_key else None
    if project is None or not _names(name, project):
        raise Unauthorized("the name is not the project's of this key")
    _count("project", project.pk, now)
    if scope.repository is not None and not _names(scope.repository, project):
        raise Denied("a project key is for its own project only")
    if scope.actions == (PULL,):
        raise Denied("a project key gets no token that only pulls: ask for pull,push")
    return mint_project_token(project_id=project.pk, repository=scope.repository, actions=scope.actions, now=now)


def _for_user(email: str, password: str, scope: Scope, now: datetime) -> str:
    caller = _caller(password, now)
    user = caller.user
    if user is None or caller.via not in ("user_key", "api_token") or user.email != email.strip().lower():
        raise Unauthorized("the name is not the e-mail address of this credential's user")
    _count("user", user.pk, now)
    if PUSH in scope.actions:
        _check_push(caller, scope.repository or "")
    elif PULL in scope.actions and not user.admin:
        raise Denied("only server administrators get a token that only pulls: ask for pull,push")
    return mint_user_token(email=user.email, repository=scope.repository, actions=scope.actions, now=now)


def _check_push(caller: Caller, name: str) -> None:
    """A claimed project wants the right to create in it; what does not exist yet, or has no owner, is open to every user."""
    project = find_project(name) if as_uuid(name) or is_slug(name) else None
    if project is not None and is_claimed(project) and not may(caller, Permission.CREATE, project):
        raise Denied("you may not push to this project")


def _caller(password: str, now: datetime) -> Caller:
    """All ways of being wrong look the same from outside."""
    try:
        return actor(password, now=now)
    except ServiceError:
        raise Unauthorized("the credentials are not valid") from None


def _count(who: str, key: object, now: datetime) -> None:
    with limited():
        ratelimits.count(who, "requests", key, now=now)


def _names(text: str, project: Project) -> bool:
    return text in (project.slug, str(project.pk))
