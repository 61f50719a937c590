"""rest.md 1.5: signing up, logging in, confirming, inviting."""

from __future__ import annotations

import re
from typing import Any

import jwt
import pytest
from django.core import mail

from bencher.core.mail import ConsoleBackend
from bencher.projects import mails
from bencher.projects.authentication import ANONYMOUS
from bencher.projects.models import Organization, User
from bencher.projects.services.organizations import create_organization
from bencher.projects.services.resolve import project_for_run
from tests.restworld import NOW, Api, api_of, fresh, make_user

pytestmark = pytest.mark.django_db
TOKEN = re.compile(r"^eyJ[\w-]+\.[\w-]+\.[\w-]+$", re.MULTILINE)


def mailed() -> str:
    """The token of the latest mail; its link carries the same one."""
    body = mail.outbox[-1].body
    [token] = TOKEN.findall(body)
    assert f"={token}\n" in body
    return str(token)


def signup(name: str, **values: Any) -> dict[str, Any]:
    return {"name": name, "email": f"{name}@example.com", "i_agree": True, **values}


def confirmed(token: str) -> dict[str, Any]:
    return Api().ok("POST", "/v0/auth/confirm", {"token": token}, 200)


def test_signup_confirm_login() -> None:
    assert Api().ok("POST", "/v0/auth/signup", signup("first"), 202) == {"email": "first@example.com"}
    assert mail.outbox[-1].to == ["first@example.com"]
    session = confirmed(mailed())
    assert session["user"]["admin"] is True
    me = Api(session["token"]).ok("GET", "/v0/users/first")
    assert me == session["user"]
    Api().ok("POST", "/v0/auth/login", {"email": "First@Example.com"}, 202)
    assert confirmed(mailed())["user"]["uuid"] == me["uuid"]


def test_only_the_first_user_is_administrator() -> None:
    for name in ("first", "second", "third"):
        Api().ok("POST", "/v0/auth/signup", signup(name), 202)
    assert list(User.objects.filter(admin=True).values_list("name", flat=True)) == ["first"]


def test_personal_organization() -> None:
    Api().ok("POST", "/v0/auth/signup", signup("first"), 202)
    user = User.objects.get()
    organization = Organization.objects.get()
    assert (organization.pk, organization.name, organization.slug, organization.priority) == (user.pk, "first", "first", 100)
    assert organization.claimed is not None
    assert list(organization.members.all()) == [user]


def test_lifetimes() -> None:
    Api().ok("POST", "/v0/auth/signup", signup("first"), 202)
    mailed_token = mailed()
    for token, audience, seconds in ((mailed_token, "auth", 1800), (confirmed(mailed_token)["token"], "client", 2_592_000)):
        claims = jwt.decode(token, options={"verify_signature": False})
        assert (claims["aud"], claims["sub"], claims["exp"] - claims["iat"]) == (audience, "first@example.com", seconds)


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ({"i_agree": False}, 403),
        ({"i_agree": "yes"}, 400),
        ({"name": "semi;colon"}, 400),
        ({"email": "no-at-sign"}, 400),
        ({"slug": "A B"}, 400),
        ({"invite": "word"}, 400),
        ({"invite": "YQ.YQ.YQ"}, 401),
        ({"claim": "word"}, 400),
        ({"claim": "00000000-0000-4000-8000-000000000001"}, 404),
    ],
)
def test_refused_signups_leave_nothing(values: dict[str, Any], status: int) -> None:
    Api().refused("POST", "/v0/auth/signup", status, signup("first") | values)
    assert not User.objects.exists()
    assert not Organization.objects.exists()
    assert not mail.outbox


def test_address_is_used_once() -> None:
    Api().ok("POST", "/v0/auth/signup", signup("first"), 202)
    message = Api().refused("POST", "/v0/auth/signup", 409, signup("other", email="FIRST@example.com"))
    assert "first" not in message
    assert User.objects.count() == 1


def test_claim_by_signing_up() -> None:
    project = project_for_run(caller=ANONYMOUS, project="nobodys", image_repository=None, context={}, now=NOW)
    Api().ok("POST", "/v0/auth/signup", signup("first", claim=str(project.organization_id)), 202)
    organization = Organization.objects.get()
    assert organization.claimed is not None
    assert [user.name for user in organization.members.all()] == ["first"]


@pytest.mark.parametrize(("token", "status"), [("YQ.YQ.YQ", 401), ("word", 400), ("", 400), (None, 400)])
def test_confirming_nonsense(token: str | None, status: int) -> None:
    Api().refused("POST", "/v0/auth/confirm", status, {"token": token})


def test_login_of_nobody_and_of_the_locked() -> None:
    Api().refused("POST", "/v0/auth/login", 404, {"email": "nobody@example.com"})
    Api().ok("POST", "/v0/auth/signup", signup("first"), 202)
    token = mailed()
    User.objects.update(locked=True)
    Api().refused("POST", "/v0/auth/login", 403, {"email": "first@example.com"})
    Api().refused("POST", "/v0/auth/confirm", 403, {"token": token})


# -- invitations -------------------------------------------------------------------------------------------------------
def test_invitation() -> None:
    leader, guest, other = make_user(), make_user(), make_user()
    organization = create_organization(name=fresh("org"), slug=None, leader=leader, now=NOW)
    path = f"/v0/organizations/{organization.slug}/members"
    assert api_of(leader).ok("POST", path, {"email": guest.email, "role": "leader"}, 202) == {"email": guest.email}
    invite = {"invite": mailed()}
    api_of(other).refused("POST", "/v0/auth/accept", 401, invite)
    assert api_of(guest).ok("POST", "/v0/auth/accept", invite, 202) == {"email": guest.email}
    api_of(guest).refused("POST", "/v0/auth/accept", 409, invite)
    assert set(organization.members.all()) == {leader, guest}


def test_invited_signup() -> None:
    leader = make_user()
    organization = create_organization(name=fresh("org"), slug=None, leader=leader, now=NOW)
    path = f"/v0/organizations/{organization.slug}/members"
    api_of(leader).ok("POST", path, {"name": "Guest", "email": "guest@example.com", "role": "leader"}, 202)
    invite = mailed()
    Api().refused("POST", "/v0/auth/signup", 401, signup("thief", invite=invite))
    Api().ok("POST", "/v0/auth/signup", signup("guest", invite=invite), 202)
    guest = User.objects.get(name="guest")
    assert [one.pk for one in guest.organizations.all()] == [organization.pk]


def test_existing_member_is_a_conflict() -> None:
    leader = make_user()
    path = f"/v0/organizations/{leader.slug}/members"
    api_of(leader).ok("POST", path, {"email": leader.email, "role": "leader"}, 202)
    api_of(leader).refused("POST", "/v0/auth/accept", 409, {"invite": mailed()})


# -- mail --------------------------------------------------------------------------------------------------------------
def test_console_mail_is_readable(caplog: pytest.LogCaptureFixture) -> None:
    token = "eyJ" + "x" * 200 + ".y.z"
    with caplog.at_level("INFO", "bencher.mail"):
        ConsoleBackend().send_messages([mails.confirmation("a@example.com", "Ä", token)])
    assert "a@example.com" in caplog.text
    assert f"/auth/confirm?token={token}\n" in caplog.text
    assert "=\n" not in caplog.text


def test_mail_server_is_away(settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", 1, 1
    response = Api().send("POST", "/v0/auth/signup", signup("first"))
    assert (response.status_code, response["retry-after"]) == (503, "1")
    assert User.objects.get().name == "first"
