"""``/v0/users*``: users, their keys and legacy tokens (rest.md 1.5)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from bencher.core.api import Reply, given, ordered
from bencher.core.errors import NotAllowed
from bencher.core.newtypes import ResourceId
from bencher.core.schema import documented
from bencher.projects.endpoints import Access, ApiView
from bencher.projects.models import ApiToken, User, UserKey
from bencher.projects.requests import ByName, JsonNewKey, JsonUpdateKey, JsonUpdateUser, KeyList
from bencher.projects.selectors import find_credential, get_user
from bencher.projects.serializers import (
    JsonToken,
    JsonUser,
    JsonUserKey,
    JsonUserKeyCreated,
    token_json,
    user_json,
    user_key_created_json,
    user_key_json,
)
from bencher.projects.services import keys, users
from bencher.projects.views.credentials import OneCredential


class UserView(ApiView):
    """Below one user: for that user and for administrators."""

    path_shapes = {"user": ResourceId, "key": UUID, "token": UUID}

    def subject(self) -> User:
        """The user of the path; 404 when there is none, 403 for other users."""
        user = get_user(self.resource_id("user"))
        if user.pk != self.user.pk and not self.user.admin:
            raise NotAllowed("this belongs to another user")
        return user


class Users(ApiView):
    access = Access.ADMIN

    @documented(query=ByName, returns=list[JsonUser])
    def get(self, request: Any) -> Reply:
        """All users, by name."""
        query = self.query(ByName)
        rows, total = query.cut(ordered(query.filtered(User.objects.all(), "name", "slug", "email"), query.direction, "name"))
        return Reply([user_json(row) for row in rows], total=total)


class OneUser(UserView):
    @documented(returns=JsonUser)
    def get(self, request: Any, user: str) -> Reply:
        """One user: oneself, or any for an administrator."""
        return Reply(user_json(self.subject()))

    @documented(body=JsonUpdateUser, returns=JsonUser)
    def patch(self, request: Any, user: str) -> Reply:
        """Change a user; ``admin`` and ``locked`` are for administrators."""
        values = given(self.body(JsonUpdateUser))
        return Reply(user_json(users.change_user(user=self.subject(), by=self.user, values=values, now=self.now)))


class Keys(UserView):
    @documented(query=KeyList, returns=list[JsonUserKey])
    def get(self, request: Any, user: str) -> Reply:
        """The keys of a user, by name."""
        query = self.query(KeyList)
        rows, total = query.listed(UserKey.objects.filter(user=self.subject()))
        return Reply([user_key_json(row) for row in rows], total=total)

    @documented(body=JsonNewKey, returns=JsonUserKeyCreated, status=201)
    def post(self, request: Any, user: str) -> Reply:
        """Make a key; the answer is the only place where it shows. Keys make no keys: a session is needed."""
        body = self.body(JsonNewKey)
        subject = self.subject()
        if self.caller.via == "user_key":
            raise NotAllowed("a user key cannot make user keys: log in")
        self.limit("credentials")
        row, key = keys.create_user_key(user=subject, name=body.name, ttl=body.ttl, now=self.now)
        return Reply(user_key_created_json(row, key), 201)


class OneKey(OneCredential, UserView):
    json = staticmethod(user_key_json)

    def row(self) -> UserKey:
        subject, pk = self.subject(), self.uuid("key")
        if self.caller.user_key is not None and self.caller.user_key.pk != pk:
            raise NotAllowed("a user key may address itself only: log in")
        return find_credential(UserKey.objects.filter(user=subject), pk)

    @documented(returns=JsonUserKey)
    def get(self, request: Any, user: str, key: str) -> Reply:
        """One key, without its secret."""
        return self.shown()

    @documented(body=JsonUpdateKey, returns=JsonUserKey)
    def patch(self, request: Any, user: str, key: str) -> Reply:
        """Rename a key."""
        return self.renamed()


class Tokens(UserView):
    @documented(query=KeyList, returns=list[JsonToken])
    def get(self, request: Any, user: str) -> Reply:
        """The legacy tokens of a user, by name."""
        query = self.query(KeyList)
        rows, total = query.listed(ApiToken.objects.filter(user=self.subject()))
        return Reply([token_json(row) for row in rows], total=total)

    @documented(body=JsonNewKey, returns=JsonToken, status=201)
    def post(self, request: Any, user: str) -> Reply:
        """Refused: tokens were replaced by keys."""
        self.body(JsonNewKey)
        self.subject()
        raise NotAllowed("API tokens are not made any more: make a user key")


class OneToken(OneCredential, UserView):
    json = staticmethod(token_json)

    def row(self) -> ApiToken:
        return find_credential(ApiToken.objects.filter(user=self.subject()), self.uuid("token"))

    @documented(returns=JsonToken)
    def get(self, request: Any, user: str, token: str) -> Reply:
        """One legacy token."""
        return self.shown()

    @documented(body=JsonUpdateKey, returns=JsonToken)
    def patch(self, request: Any, user: str, token: str) -> Reply:
        """Rename a legacy token."""
        return self.renamed()
