"""The base of every page that people look at: who looks, which project, and refusals that a person can read.

Pages are plain HTML made here: they work without scripts, and carry none. What one may see is decided by the same rules as for REST.
"""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import msgspec
from django.db import IntegrityError, InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.cache import patch_cache_control
from django.utils.http import url_has_allowed_host_and_scheme
from django.views import View

from bencher.core import clock
from bencher.core.api import decode_parameters, path_id, path_uuid, with_path
from bencher.core.errors import Busy, Clash, Invalid, Missing, NotAllowed, NotAuthenticated, ServiceError
from bencher.core.newtypes import NUL, dec_hook
from bencher.core.retry import reason
from bencher.projects.authentication import ANONYMOUS, Caller
from bencher.projects.limiting import limit
from bencher.projects.models import Project, User
from bencher.projects.permissions import Permission, may
from bencher.projects.selectors import find_project

logger = logging.getLogger("bencher.pages")
T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)
TITLES = {
    400: "That request cannot be read",
    401: "Please log in",
    403: "You may not do that",
    404: "Nothing is here",
    409: "That is not possible now",
    429: "Too many requests",
    503: "The server is busy",
}


def caller_of(request: HttpRequest) -> Caller:
    """Who is logged in, as the rest of the server knows callers. No query for a browser without a session."""
    user: Any = request.user
    return Caller("user", user) if user.is_authenticated else ANONYMOUS


def local(request: HttpRequest, target: str | None) -> str:
    """``target`` if it is a place of this site, else its front page: a link from outside cannot send people elsewhere."""
    safe = bool(target) and url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    return str(target) if safe and str(target).startswith("/") else "/"


def form(request: HttpRequest, shape: type[S], **more: Any) -> S:
    """A submitted form as the struct that REST takes for the same thing; Invalid names the field and the rule."""
    names = {field.name for field in msgspec.structs.fields(shape)}
    values = {name: text for name, text in request.POST.items() if name in names and text != ""}
    if any(NUL in str(text) for text in values.values()):
        raise Invalid("the NUL character is not allowed")
    try:
        return msgspec.convert({**values, **more}, type=shape, strict=False, dec_hook=dec_hook)
    except msgspec.ValidationError as fault:
        raise Invalid(with_path(str(fault)).removeprefix("$.")) from None


class Page(View):
    """A page. Handlers are ``get`` and ``post``; a ``ServiceError`` in them becomes a page that says so."""

    http_method_names = ["get", "head", "post"]
    template = ""
    caller: Caller = ANONYMOUS
    now: datetime
    """When the request arrived: what services take as ``now``."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        self.now = clock.now()
        try:
            self.caller = caller_of(request)
            limit(self.caller, "requests", request.META, now=self.now)
            response = super().dispatch(request, *args, **kwargs)
        except ServiceError as fault:
            response = self.refused(fault)
        except (OperationalError, InterfaceError) as fault:
            logger.warning("%s: database fault: %s", request.path, reason(fault))
            response = self.refused(Busy("The database did not answer in time. Try again in a moment."))
        except IntegrityError:
            response = self.refused(Clash("Somebody else changed this at the same time. Look again."))
        patch_cache_control(response, private=True, no_cache=True)
        return response

    def show(self, status: int = 200, **context: Any) -> HttpResponse:
        return render(self.request, self.template, {**self.common(), **context}, status=status)

    def common(self) -> dict[str, Any]:
        """What every page shows."""
        return {"viewer": self.caller.user, "now": self.now, "here": self.request.get_full_path()}

    def refused(self, fault: ServiceError) -> HttpResponse:
        context = {
            **Page.common(self),
            "title": TITLES.get(fault.status, "That did not work"),
            "message": fault.message,
            "suggest_login": self.caller.is_anonymous and fault.status in (401, 403, 404),
        }
        response = render(self.request, "site/error.html", context, status=fault.status)
        for name, value in fault.headers.items():
            response[name] = value
        return response

    @property
    def parameters(self) -> dict[str, str]:
        """The query string without empty fields, which forms send; of a parameter given twice the last counts."""
        return {name: self.request.GET[name] for name in self.request.GET if self.request.GET[name]}

    def query(self, shape: type[T]) -> T:
        """The query string as REST reads it."""
        return decode_parameters(self.parameters, shape)

    @property
    def user(self) -> User:
        if self.caller.user is None:
            raise NotAuthenticated("Log in to do that.")
        return self.caller.user


class ProjectPage(Page):
    """A page of the project in the path. A private project hides from those who may not see it."""

    found: Project

    def project(self, permission: Permission | str = Permission.VIEW) -> Project:
        """The project, if the viewer has that right in it: else 404, 401 or 403, as REST does (rest.md 1.6)."""
        try:
            found = find_project(path_id(self.kwargs["project"], "project"))
        except Invalid:
            found = None
        if found is None or not may(self.caller, Permission.VIEW, found):
            raise Missing("There is no such project, or it is private.")
        if permission != Permission.VIEW and not may(self.caller, permission, found):
            raise (NotAuthenticated if self.caller.is_anonymous else NotAllowed)("That needs a right in this project that you do not have.")
        self.found = found
        return found

    def may(self, permission: Permission) -> bool:
        return may(self.caller, permission, self.found)

    def uuid(self, name: str) -> UUID:
        """The UUID in that part of the path; anything else names nothing."""
        try:
            return path_uuid(self.kwargs[name], name)
        except Invalid:
            raise Missing("There is no such thing in this project.") from None

    def resource_id(self, name: str) -> str:
        """The UUID or slug in that part of the path."""
        try:
            return path_id(self.kwargs[name], name)
        except Invalid:
            raise Missing("There is no such thing in this project.") from None

    def common(self) -> dict[str, Any]:
        below = self.request.path.split(self.kwargs["project"], 1)[-1].strip("/").split("/")[0]
        section = below or ("perf" if self.request.path.startswith("/perf/") else "")
        return {**super().common(), "project": self.found, "section": section, **places(self.found)}

    def back(self, path: str) -> HttpResponseRedirect:
        """To another page of this project."""
        return HttpResponseRedirect(f"{places(self.found)['root']}{path}")


def places(project: Project) -> dict[str, str]:
    """Where a project's pages are: public ones at ``/perf/…``, private ones at ``/console/projects/…``, as the command line links them (rest.md 8.6).

    Both prefixes serve both.
    """
    console = f"/console/projects/{project.slug}"
    public = project.visibility == "public"
    root = f"/perf/{project.slug}" if public else console
    return {"root": root, "perf": root if public else f"{root}/perf", "overview": console}
