"""The commands that make an administrator able to get in (design.md section 11): create_admin and changepassword."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from bencher.projects.models import Organization, User
from tests.restworld import Api, fresh, make_user

pytestmark = pytest.mark.django_db


def create_admin(*arguments: str) -> str:
    out = StringIO()
    call_command("create_admin", *arguments, stdout=out)
    return out.getvalue()


def test_every_call_prints_one_line_with_a_new_key_and_earlier_ones_stay_valid() -> None:
    email = f"{fresh('ops')}@example.com"
    keys = [create_admin("--email", email.upper(), "--name", "Ops") for _ in range(2)]
    assert all(re.fullmatch(r"bencher_user_[0-9A-Za-z]{30}\n", key) for key in keys)
    assert keys[0] != keys[1]
    user = User.objects.get(email=email)
    assert (user.name, user.admin, user.locked) == ("Ops", True, False)
    assert Organization.objects.filter(pk=user.pk).exists()
    for key in keys:
        assert Api(key.strip()).ok("GET", f"/v0/users/{user.slug}")["admin"] is True


def test_a_user_is_promoted_and_unlocked_and_keeps_the_name() -> None:
    user = make_user()
    User.objects.filter(pk=user.pk).update(locked=True)
    create_admin("--email", user.email, "--name", "Other")
    again = User.objects.get(pk=user.pk)
    assert (again.name, again.admin, again.locked) == (user.name, True, False)


def test_without_a_name_it_is_the_beginning_of_the_address() -> None:
    name = fresh("ada")
    create_admin("--email", f"{name}@example.com")
    assert User.objects.get(email=f"{name}@example.com").name == name


@pytest.mark.parametrize(
    "arguments", [("--email", "nonsense"), ("--email", "a@example.com", "--name", "<b>"), ("--email", "a_b@example.com"), ()]
)
def test_what_is_wrong_is_a_sentence(arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError) as refused:
        create_admin(*arguments)
    assert str(refused.value)
    assert not User.objects.filter(email__in=["nonsense", "a@example.com", "a_b@example.com"]).exists()


def test_changepassword_opens_the_admin(monkeypatch: pytest.MonkeyPatch) -> None:
    user = make_user(admin=True)
    passwords: Any = iter(["a long password"] * 2)
    monkeypatch.setattr("getpass.getpass", lambda prompt: next(passwords))
    call_command("changepassword", user.email, stdout=StringIO())
    client = Client()
    assert client.post("/admin/login/?next=/admin/", {"username": user.email, "password": "a long password"}).status_code == 302
    assert client.get("/admin/").status_code == 200


def test_createsuperuser_names_the_command_that_serves() -> None:
    with pytest.raises(CommandError, match="create_admin"):
        call_command("createsuperuser", "--noinput", "--email", "a@example.com", "--name", "A", stdout=StringIO())
