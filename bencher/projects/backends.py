"""Logging in to the pages with a user key as the password (design.md section 10); an ordinary password works too."""

from __future__ import annotations

import secrets
from functools import partial
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib import auth
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from bencher.core import audit, clock
from bencher.core.errors import NotAuthenticated
from bencher.projects.authentication import USER_KEY, Access, authenticate
from bencher.projects.models import User, UserKey

SESSION_KEY = "_user_key"
"""In a session: the UUID of the key that opened it. The session ends with the key."""


class KeyBackend(ModelBackend):
    """E-mail address and a valid user key of an unlocked administrator; with ``anybody`` of any unlocked user."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, anybody: bool = False, **_: Any
    ) -> User | None:
        if username is None or password is None or not password.startswith(USER_KEY):
            return None
        try:
            caller = authenticate(f"Bearer {password}", Access.ACTOR, now=clock.now())
        except NotAuthenticated:
            return None
        user, key = caller.user, caller.user_key
        if (
            user is None
            or key is None
            or not secrets.compare_digest(user.email.encode(), username.strip().lower().encode("utf-8", "replace"))
        ):
            return None
        if not (anybody or user.is_staff):
            return None
        user.opened_by = key.pk  # type: ignore[attr-defined]
        return user


class SessionUsers(AuthenticationMiddleware):
    """``request.user``, as long as the key that opened the session is valid."""

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        request.user = SimpleLazyObject(partial(session_user, request))  # type: ignore[assignment]
        request.auser = sync_to_async(partial(session_user, request))


def session_user(request: HttpRequest) -> User | AnonymousUser:
    known: Any = getattr(request, "_session_user", None)
    if known is None:
        known = request._session_user = _session_user(request)  # type: ignore[attr-defined]
    return known  # type: ignore[no-any-return]


def _session_user(request: HttpRequest) -> User | AnonymousUser:
    user: Any = auth.get_user(request)
    opened_by = request.session.get(SESSION_KEY) if user.is_authenticated else None
    if opened_by and not UserKey.objects.filter(pk=opened_by, revoked=None, expiration__gt=clock.now()).exists():
        request.session.flush()
        return AnonymousUser()
    return user  # type: ignore[no-any-return]


# -- the framework's signals about logins ----------------------------------------------------------------------------
def logged_in(*, request: HttpRequest, user: User, **_: Any) -> None:
    opened_by: UUID | None = getattr(user, "opened_by", None)
    if opened_by is not None:
        request.session[SESSION_KEY] = str(opened_by)
    audit.record(None, "login", actor=user.email, actor_id=user.pk, ip=audit.address(request), key=opened_by)


def logged_out(*, request: HttpRequest, user: User | None, **_: Any) -> None:
    audit.record(None, "logout", actor=getattr(user, "email", None), actor_id=getattr(user, "pk", None), ip=audit.address(request))


def login_failed(*, credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    username = str(credentials.get("username"))
    tried = username if "@" in username else None  # a password in the wrong field is no name to log
    audit.record(None, "login_failed", tried=tried, ip=audit.address(request))
