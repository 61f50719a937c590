"""``/v0/auth/*`` (rest.md 1.5)."""

from __future__ import annotations

from typing import Any

from bencher.core.api import Reply, ts
from bencher.core.errors import NotAllowed
from bencher.core.schema import documented
from bencher.projects.endpoints import Access, ApiView
from bencher.projects.limiting import attempt
from bencher.projects.requests import JsonAccept, JsonConfirm, JsonLogin, JsonSignup
from bencher.projects.serializers import JsonConfirmed, JsonEmail, user_json
from bencher.projects.services import members, signup


class Signup(ApiView):
    access = Access.PUBLIC
    public = True

    @documented(body=JsonSignup, returns=JsonEmail, status=202, errors=(401, 403, 404, 409))
    def post(self, request: Any) -> Reply:
        """Make a user; a mail to confirm the address is sent."""
        body = self.body(JsonSignup)
        self.limit("attempts")
        if not body.i_agree:
            raise NotAllowed("i_agree: signing up needs your agreement")
        user = signup.sign_up(name=body.name, email=body.email, slug=body.slug, invite=body.invite, claim=body.claim, now=self.now)
        return Reply(JsonEmail(user.email), 202)


class Login(ApiView):
    access = Access.PUBLIC
    public = True

    @documented(body=JsonLogin, returns=JsonEmail, status=202, errors=(401, 403, 404, 409))
    def post(self, request: Any) -> Reply:
        """Mail a confirmation to a user."""
        body = self.body(JsonLogin)
        attempt(request.META, body.email, now=self.now)
        return Reply(JsonEmail(signup.log_in(email=body.email, invite=body.invite, now=self.now).email), 202)


class Confirm(ApiView):
    access = Access.PUBLIC
    public = True

    @documented(body=JsonConfirm, returns=JsonConfirmed, errors=(401, 403))
    def post(self, request: Any) -> Reply:
        """Exchange the mailed token for a session."""
        body = self.body(JsonConfirm)
        self.limit("attempts")
        session = signup.confirm(token=body.token, now=self.now)
        return Reply(JsonConfirmed(user_json(session.user), session.token, ts(session.creation), ts(session.expiration)))


class Accept(ApiView):
    access = Access.USER

    @documented(body=JsonAccept, returns=JsonEmail, status=202)
    def post(self, request: Any) -> Reply:
        """Join the organization of an invitation."""
        body = self.body(JsonAccept)
        members.accept(token=body.invite, user=self.user, now=self.now)
        return Reply(JsonEmail(self.user.email), 202)
