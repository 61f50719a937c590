"""Pages of people and places: logging in (session login, the same users as the admin), signing up, the list of projects."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import auth
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from bencher.core.api import Listing, ordered
from bencher.core.errors import Invalid, Missing, NotAuthenticated, ServiceError
from bencher.core.newtypes import NUL
from bencher.core.paging import paged
from bencher.projects.browsing import Page, form, local
from bencher.projects.limiting import attempt, limit
from bencher.projects.models import User
from bencher.projects.requests import JsonAccept, JsonConfirm, JsonLogin, JsonSignup
from bencher.projects.selectors import find_organization, visible_projects
from bencher.projects.services import members, organizations, signup

BY_TOKEN = "django.contrib.auth.backends.ModelBackend"  # noqa: S105
"""Who answers for a session that a mailed token opened."""


class Projects(Page):
    """The projects that the viewer may see."""

    template = "site/projects.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        query = self.query(Listing)
        rows = ordered(query.filtered(visible_projects(self.caller)), query.direction, "name")
        return self.show(page=paged(rows, self.parameters), search=query.search or "")


class Entrance(Page):
    """What logging in, signing up and confirming share: a refusal is shown above the form, with what was typed in it."""

    def again(self, fault: ServiceError, **context: Any) -> HttpResponse:
        response = self.show(fault.status, error=fault.message, **self.typed(), **context)
        for name, value in fault.headers.items():
            response[name] = value
        return response

    def typed(self) -> dict[str, Any]:
        values = {**self.parameters, **{name: str(text) for name, text in self.request.POST.items()}}
        return {name: values.get(name, "") for name in ("name", "email", "invite", "claim", "token")} | {
            "next": local(self.request, values.get("next"))
        }

    def sent(self, user: User) -> HttpResponse:
        """The page after a mail went out: where the token can be pasted, too."""
        self.template = "auth/confirm.html"
        in_log = settings.EMAIL_BACKEND == "bencher.core.mail.ConsoleBackend"
        return self.show(**{**self.typed(), "token": ""}, sent_to=user.email, in_log=in_log)

    def enter(self, user: User, backend: str | None) -> HttpResponse:
        """Open the session; on to where the viewer wanted to go."""
        auth.login(self.request, user, backend=backend)
        return HttpResponseRedirect(self.typed()["next"])


class Login(Entrance):
    template = "auth/login.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.show(**self.typed())

    def post(self, request: HttpRequest) -> HttpResponse:
        """With a password (or user key) at once; without, by a mailed token."""
        try:
            attempt(request.META, request.POST.get("email", ""), now=self.now)
            if password := request.POST.get("password"):
                email = request.POST.get("email", "")
                if NUL in email + password:
                    raise Invalid("An address and a password have no NUL character.")
                user = auth.authenticate(request, username=email, password=password, anybody=True)
                if not isinstance(user, User):
                    raise NotAuthenticated("The address and the password or key do not belong together, or the account is locked.")
                return self.enter(user, None)
            body = form(request, JsonLogin)
            return self.sent(signup.log_in(email=body.email, invite=body.invite, now=self.now))
        except ServiceError as fault:
            return self.again(fault)


class Signup(Entrance):
    """Sign up; or, for who is logged in already, claim the organization or accept the invitation of the link."""

    template = "auth/signup.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.show(**self.typed())

    def post(self, request: HttpRequest) -> HttpResponse:
        try:
            limit(self.caller, "attempts", request.META, now=self.now)
            if self.caller.user is not None:
                return self._join(self.caller.user)
            body = form(request, JsonSignup, i_agree=request.POST.get("i_agree") == "on")
            if not body.i_agree:
                raise NotAuthenticated("Signing up needs your agreement.")
            claim, invite = body.claim, body.invite
            return self.sent(signup.sign_up(name=body.name, email=body.email, slug=None, invite=invite, claim=claim, now=self.now))
        except ServiceError as fault:
            return self.again(fault)

    def _join(self, user: User) -> HttpResponse:
        if self.request.POST.get("invite"):
            members.accept(token=form(self.request, JsonAccept).invite, user=user, now=self.now)
            return HttpResponseRedirect("/")
        organization = find_organization(str(_uuid(self.request.POST.get("claim", ""))))
        if organization is None:
            raise Missing("There is no such organization to claim.")
        organizations.claim_organization(organization=organization, user=user, now=self.now)
        return HttpResponseRedirect("/")


class Confirm(Entrance):
    """The link of a mail. Looking at it does nothing, so that mail scanners do not use it up; its button logs in."""

    template = "auth/confirm.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.show(**self.typed())

    def post(self, request: HttpRequest) -> HttpResponse:
        try:
            limit(self.caller, "attempts", request.META, now=self.now)
            return self.enter(signup.confirm(token=form(request, JsonConfirm).token, now=self.now).user, BY_TOKEN)
        except ServiceError as fault:
            return self.again(fault)


class Logout(Page):
    def post(self, request: HttpRequest) -> HttpResponse:
        auth.logout(request)
        return HttpResponseRedirect("/")


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Missing("There is no such organization to claim.") from None
