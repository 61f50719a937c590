"""rest.md 1.5: users, their keys, legacy tokens."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from bencher.core.ids import key_hash
from bencher.projects.models import ApiToken, User
from bencher.projects.services.users import create_admin
from bencher.projects.tokens import Audience, mint
from tests.restworld import NOW, NOWHERE, Api, api_of, make_user

pytestmark = pytest.mark.django_db


def session(user: User) -> Api:
    return Api(mint(Audience.CLIENT, user.email, now=timezone.now(), lifetime=60))


def test_other_users() -> None:
    admin, user, other = make_user(admin=True), make_user(), make_user()
    path = f"/v0/users/{other.slug}"
    assert other.email not in api_of(user).refused("GET", path, 403)
    api_of(user).refused("PATCH", path, 403, {"name": "Mine"})
    assert api_of(admin).ok("GET", path)["email"] == other.email
    api_of(admin).refused("GET", f"/v0/users/{NOWHERE}", 404)
    api_of(user).refused("GET", "/v0/users", 403)
    api_of(user).refused("GET", "/v0/users/Not A Slug", 400)


def test_change_oneself() -> None:
    user, other = make_user(), make_user()
    api, path = api_of(user), f"/v0/users/{user.pk}"
    assert api.ok("PATCH", path, {}) == api.ok("GET", path)
    assert api.ok("PATCH", path, {"name": "New Name", "slug": "new"})["name"] == "New Name"
    for values in ({"slug": other.slug}, {"email": other.email}):
        api.refused("PATCH", path, 409, values)
    assert (api.ok("GET", path)["slug"], api.ok("GET", path)["email"]) == ("new", user.email)


@pytest.mark.parametrize("values", [{"admin": False}, {"locked": False}, {"admin": True}])
def test_privileges(values: dict[str, bool]) -> None:
    user = make_user()
    api_of(user).refused("PATCH", f"/v0/users/{user.pk}", 403, {"name": "New", **values})
    assert User.objects.get(pk=user.pk).name == user.name
    assert api_of(make_user(admin=True)).ok("PATCH", f"/v0/users/{user.pk}", values) | values == api_of(make_user(admin=True)).ok(
        "GET", f"/v0/users/{user.pk}"
    )


def test_new_address_revokes_tokens() -> None:
    user = make_user()
    text = mint(Audience.API_KEY, user.email, now=timezone.now(), lifetime=60)
    ApiToken.objects.create(user=user, name="old", hash=key_hash(text), token=text, creation=NOW, expiration=NOW)
    api_of(user).ok("PATCH", f"/v0/users/{user.pk}", {"email": user.email})
    assert ApiToken.objects.get().revoked is None
    api_of(user).ok("PATCH", f"/v0/users/{user.pk}", {"email": "moved@example.com"})
    assert ApiToken.objects.get().revoked is not None


def test_keys() -> None:
    user = make_user()
    api, path = session(user), f"/v0/users/{user.slug}/keys"
    made = api.ok("POST", path, {"name": "laptop"})
    assert (made["user"], made["name"], len(made["key"])) == (str(user.pk), "laptop", 43)
    assert made["expiration"][:3] == "216"
    [listed] = api.ok("GET", path)
    assert listed == {key: value for key, value in made.items() if key != "key"}
    one = f"{path}/{made['uuid']}"
    assert api.ok("PATCH", one, {"name": "desk"})["name"] == "desk"
    assert api.ok("PATCH", one, {})["name"] == "desk"
    api.ok("DELETE", one)
    api.refused("DELETE", one, 409)
    assert api.ok("GET", path) == []
    assert api.ok("GET", path, query={"revoked": "true"})[0]["revoked"]


def test_keys_address_only_themselves() -> None:
    user = make_user()
    by_key, by_session, path = api_of(user), session(user), f"/v0/users/{user.slug}/keys"
    other = by_session.ok("POST", path, {"name": "other"})["uuid"]
    by_key.refused("POST", path, 403, {"name": "more"})
    for method, body in (("GET", None), ("PATCH", {"name": "x"}), ("DELETE", None)):
        by_key.refused(method, f"{path}/{other}", 403, body)
    by_session.refused("GET", f"{path}/{NOWHERE}", 404)
    by_session.refused("GET", f"{path}/word", 400)


@pytest.mark.parametrize("body", [{}, {"name": ""}, {"name": "x", "ttl": 0}, {"name": "x", "ttl": 1 << 32}, {"name": "x", "ttl": 1.5}])
def test_wrong_keys(body: dict[str, Any]) -> None:
    user = make_user()
    session(user).refused("POST", f"/v0/users/{user.slug}/keys", 400, body)


def test_tokens_are_history() -> None:
    user = make_user()
    api, path = session(user), f"/v0/users/{user.slug}/tokens"
    api.refused("POST", path, 403, {"name": "new"})
    assert api.ok("GET", path) == []
    text = mint(Audience.API_KEY, user.email, now=timezone.now(), lifetime=60)
    row = ApiToken.objects.create(user=user, name="old", hash=key_hash(text), token=text, creation=NOW, expiration=NOW)
    Api(text).ok("GET", f"/v0/users/{user.slug}")
    assert api.ok("GET", f"{path}/{row.pk}")["token"] == text
    assert api.ok("PATCH", f"{path}/{row.pk}", {"name": "older"})["name"] == "older"
    api.ok("DELETE", f"{path}/{row.pk}")
    Api(text).refused("GET", f"/v0/users/{user.slug}", 401)


def test_create_admin_makes_promotes_and_unlocks() -> None:
    first, key = create_admin(email="ops@example.com", name="Ops", now=timezone.now())
    Api(key).ok("GET", "/v0/users")
    User.objects.filter(pk=first.pk).update(admin=False, locked=True)
    again, second = create_admin(email="ops@example.com", name="Other", now=timezone.now())
    assert (again.pk, again.name, again.admin, again.locked) == (first.pk, "Ops", True, False)
    assert key != second
    for one in (key, second):
        Api(one).ok("GET", "/v0/users")
