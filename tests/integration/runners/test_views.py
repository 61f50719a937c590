"""rest.md 4.1: runners, their keys and their specs."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from bencher.core.ids import key_hash
from runners.models import Runner
from tests.jobs_world import make_spec
from tests.restworld import NOW, NOWHERE, Api, api_of, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> Api:
    return api_of(make_user(admin=True))


def create(admin: Api, name: str, **values: Any) -> dict[str, Any]:
    made: dict[str, Any] = admin.ok("POST", "/v0/runners", {"name": name, **values})
    return made


def test_create(admin: Api) -> None:
    made = create(admin, "Big Iron")
    assert set(made) == {"uuid", "key"}
    assert len(made["key"]) == 45
    assert Runner.objects.get().key_hash == key_hash(made["key"])
    shown = admin.ok("GET", "/v0/runners/big-iron")
    assert (shown["uuid"], shown["specs"], shown["archived"], shown["last_heartbeat"]) == (made["uuid"], [], None, None)
    assert made["key"] not in str(shown)


def test_slugs_get_no_suffix(admin: Api) -> None:
    create(admin, "Same")
    for body in ({"name": "Same"}, {"name": "SAME"}, {"name": "Other", "slug": "same"}):
        admin.refused("POST", "/v0/runners", 409, body)
    assert Runner.objects.count() == 1


def test_name_without_letters(admin: Api) -> None:
    for _ in range(2):
        create(admin, "::")
    slugs = {uuid.UUID(slug) for slug in Runner.objects.values_list("slug", flat=True)}
    assert len(slugs) == 2


@pytest.mark.parametrize("body", [{}, {"name": ""}, {"name": " x"}, {"name": "x" * 65}, {"name": 5}, {"name": "x", "slug": "A"}])
def test_wrong_runners(admin: Api, body: dict[str, Any]) -> None:
    admin.refused("POST", "/v0/runners", 400, body)


def test_change(admin: Api) -> None:
    create(admin, "one"), create(admin, "two")
    assert admin.ok("PATCH", "/v0/runners/one", {})["name"] == "one"
    assert admin.ok("PATCH", "/v0/runners/one", {"name": "First", "slug": "first"})["slug"] == "first"
    admin.refused("PATCH", "/v0/runners/first", 409, {"slug": "two"})
    admin.refused("GET", "/v0/runners/one", 404)
    archived = admin.ok("PATCH", "/v0/runners/first", {"archived": True})["archived"]
    assert admin.ok("PATCH", "/v0/runners/first", {"archived": True})["archived"] == archived is not None
    assert admin.ok("PATCH", "/v0/runners/first", {"archived": False})["archived"] is None
    assert admin.send("DELETE", "/v0/runners/first").status_code == 405


def test_rotation(admin: Api) -> None:
    made = create(admin, "one")
    for body in (None, {}):
        again = admin.ok("POST", "/v0/runners/one/key", body)
        assert again["uuid"] == made["uuid"]
        assert Runner.objects.get().key_hash == key_hash(again["key"]) != key_hash(made["key"])
    admin.ok("PATCH", "/v0/runners/one", {"archived": True})
    admin.refused("POST", "/v0/runners/one/key", 409)
    assert Runner.objects.get().key_hash == key_hash(again["key"])


def test_specs(admin: Api) -> None:
    create(admin, "one")
    specs = [make_spec() for _ in range(10)]
    specs[3].archived = NOW
    specs[3].save()
    for number, spec in enumerate(specs):
        named = spec.slug if number % 2 else str(spec.pk)
        assert admin.ok("POST", "/v0/runners/one/specs", {"spec": named})["uuid"] == str(spec.pk)
    response = admin.send("GET", "/v0/runners/one/specs")
    assert response["x-total-count"] == "10"
    ids = [str(spec.pk) for spec in specs]
    assert [one["uuid"] for one in response.json()] == admin.ok("GET", "/v0/runners/one")["specs"] == ids
    admin.refused("POST", "/v0/runners/one/specs", 409, {"spec": ids[0]})
    admin.ok("DELETE", f"/v0/runners/one/specs/{specs[0].slug}")
    admin.refused("DELETE", f"/v0/runners/one/specs/{specs[0].slug}", 404)
    admin.refused("DELETE", f"/v0/runners/one/specs/{NOWHERE}", 404)
    for body, status in (({"spec": NOWHERE}, 404), ({"spec": "none"}, 404), ({}, 400), ({"spec": 5}, 400)):
        admin.refused("POST", "/v0/runners/one/specs", status, body)


def test_lists(admin: Api) -> None:
    for name in ("Gamma", "Alpha", "Beta"):
        create(admin, name)
    admin.ok("PATCH", "/v0/runners/beta", {"archived": True})
    Runner.objects.filter(name="Alpha").update(created=NOW)

    def names(**query: Any) -> list[str]:
        return [one["name"] for one in admin.ok("GET", "/v0/runners", query=query)]

    assert names() == ["Alpha", "Gamma"]
    assert names(archived="true") == ["Alpha", "Beta", "Gamma"]
    assert names(sort="created") == ["Gamma", "Alpha"]
    assert names(sort="created", direction="asc") == ["Alpha", "Gamma"]
    assert names(search="amm") == names(name="Gamma") == ["Gamma"]


def test_who(admin: Api) -> None:
    key = create(admin, "one")["key"]
    stranger = api_of(make_user())
    for method, path, body in (
        ("GET", "/v0/runners", None),
        ("POST", "/v0/runners", {"name": "x"}),
        ("GET", "/v0/runners/one", None),
        ("PATCH", "/v0/runners/one", {}),
        ("POST", "/v0/runners/one/key", None),
        ("GET", "/v0/runners/one/specs", None),
    ):
        stranger.refused(method, path, 403, body)
        Api(key).refused(method, path, 400, body)
    for method, path in (("GET", ""), ("PATCH", ""), ("POST", "/key"), ("GET", "/specs")):
        admin.refused(method, f"/v0/runners/{NOWHERE}{path}", 404, {} if method == "PATCH" else None)
