"""Who may do what in which repository (registry.md 1.5): every request of the registry passes here first."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from bencher.core import ratelimits
from bencher.core.errors import Busy, Invalid, Missing, NotAllowed, NotAuthenticated, TooMany
from bencher.core.ids import as_uuid, is_slug
from bencher.projects import authentication as credentials
from bencher.projects.authentication import Caller
from bencher.projects.models import Project, User
from bencher.projects.permissions import Permission, may
from bencher.projects.selectors import find_project
from bencher.projects.services.resolve import project_for_push
from outputs.registry import authentication
from outputs.registry.errors import Denied, NameInvalid, NameUnknown, TooManyRequests, Unauthorized, Unavailable
from outputs.registry.tokens import ANONYMOUS, PROJECT, USER, Claims


@dataclass(frozen=True, slots=True)
class Bearer:
    """What a request shows of its sender: the Authorization header and the address it comes from."""

    authorization: str | None = None
    address: str = ""


@dataclass(frozen=True, slots=True)
class Access:
    """A caller inside a repository."""

    project: Project
    claims: Claims
    user: User | None = None


def enter(*, bearer: Bearer, now: datetime) -> None:
    """The front door. Raises `Unauthorized`."""
    _limit(authentication.enter(bearer.authorization, now), bearer, now)


def pull(*, bearer: Bearer, name: str, now: datetime) -> Access:
    """A user's right was looked at when the token was made. Raises `Unauthorized`, `Denied`, `NameUnknown`."""
    claims = authentication.for_pull(bearer.authorization, name, now)
    project = _existing(name)
    _stay_out(claims, project, f"repository:{name}:pull")
    _limit(claims, bearer, now, project)
    return Access(project, claims)


def push(*, bearer: Bearer, name: str, create: bool, now: datetime) -> Access:
    """A user's push to an unclaimed project claims it; ``create``: a slug that is not taken becomes a project.

    Raises `Unauthorized`, `Denied`, `NameUnknown`, `NameInvalid`, `Unavailable`.
    """
    claims = authentication.for_push(bearer.authorization, name, now)
    if claims.kind == PROJECT or not create:
        project = _existing(name)
        _check_own(claims, project)
        if claims.kind == PROJECT:
            _limit(claims, bearer, now, project)
            return Access(project, claims)
    scope = f"repository:{name}:push"
    user = _user(claims, scope) if claims.kind == USER else None
    caller = Caller("user", user) if user else credentials.ANONYMOUS
    try:
        project = project_for_push(caller=caller, name=name, now=now)
    except Missing:
        raise NameUnknown from None
    except Invalid:
        raise NameInvalid from None
    except NotAuthenticated as problem:
        raise Unauthorized(problem.message, scope=scope) from None
    except NotAllowed:
        raise Denied("you may not push to this project") from None
    except Busy as problem:
        raise Unavailable(problem.message) from None
    _limit(claims, bearer, now, project)
    return Access(project, claims, user)


def status(*, bearer: Bearer, name: str, now: datetime) -> Access:
    """For the state of an upload. Raises `Unauthorized`, `Denied`, `NameUnknown`."""
    claims = authentication.for_status(bearer.authorization, name, now)
    project = _existing(name)
    _stay_out(claims, project, f"repository:{name}:push")
    _limit(claims, bearer, now, project)
    return Access(project, claims)


def delete(*, bearer: Bearer, name: str, now: datetime) -> Access:
    """Never anonymous. Raises `Unauthorized`, `Denied`, `NameUnknown`."""
    claims = authentication.for_delete(bearer.authorization, name, now)
    project = _existing(name)
    _stay_out(claims, project, f"repository:{name}:push")
    _limit(claims, bearer, now, project)
    return Access(project, claims)


def mount_source(*, access: Access, name: str) -> Project | None:
    """The repository to take a blob from, if the caller may read it: asked of the caller's rights, for a token names one repository only.

    None does not tell whether it exists.
    """
    project = _find(name)
    if project is None or project.pk == access.project.pk:
        return project
    if access.claims.kind == PROJECT:
        return None
    if not is_claimed(project):
        return project
    return project if access.user and may(Caller("user", access.user), Permission.CREATE, project) else None


def is_claimed(project: Project) -> bool:
    return project.organization.claimed is not None


def _find(name: str) -> Project | None:
    return find_project(name) if as_uuid(name) or is_slug(name) else None


def _existing(name: str) -> Project:
    project = _find(name)
    if project is None:
        raise NameUnknown
    return project


def _stay_out(claims: Claims, project: Project, scope: str) -> None:
    """Tokens without an account open unclaimed projects only, a project's token that project only."""
    _check_own(claims, project)
    if claims.kind == ANONYMOUS and is_claimed(project):
        raise Unauthorized("this project has an owner", scope=scope)


def _check_own(claims: Claims, project: Project) -> None:
    if claims.kind == PROJECT and claims.subject != str(project.pk):
        raise Denied("the token is for another project")


def _limit(claims: Claims, bearer: Bearer, now: datetime, project: Project | None = None) -> None:
    """Count the request of its sender and of the project (registry.md 1.10). Raises `TooManyRequests`."""
    if not settings.BENCHER_RATE_LIMITS:
        return
    with limited():
        if claims.kind == ANONYMOUS:
            ratelimits.count("anonymous", "requests", bearer.address, now=now)
        elif claims.kind == USER:
            user = User.objects.filter(email=claims.subject).values_list("pk", flat=True).first()
            ratelimits.count("user", "requests", user, now=now)
        if project is not None:
            ratelimits.count("project", "requests", project.pk, now=now)


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """The limiter's refusal as the registry's."""
    try:
        yield
    except TooMany as problem:
        raise TooManyRequests(problem.message, headers=problem.headers) from None


def _user(claims: Claims, scope: str) -> User:
    user = User.objects.filter(email=claims.subject).first()
    if user is None or user.locked:
        raise Unauthorized("the user of this token is gone or locked", scope=scope)
    return user
