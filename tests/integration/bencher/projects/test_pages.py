"""Pages of people and places: the session, confirmation by token, the list of projects (design.md section 11, rest.md 1.5)."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth import get_user
from django.core import mail
from django.db import IntegrityError, InterfaceError, OperationalError
from django.test import override_settings

from bencher.core import audit
from bencher.projects.models import Membership, Organization, Project, User
from bencher.projects.services.members import invite
from tests.browsing import Browser, links
from tests.restworld import NOW, fresh, key_of, make_project, make_user

pytestmark = pytest.mark.django_db
MAIL = override_settings(EMAIL_BACKEND="django.core.mail.backends.locmem.EmailBackend", BENCHER_CONSOLE_URL="http://testserver")


def who(browser: Browser) -> str | None:
    return getattr(get_user(browser.client), "email", None)  # type: ignore[arg-type]


def mailed_link() -> str:
    found = re.search(r"http://testserver(/auth/\S+)", mail.outbox[-1].body)
    assert found
    return found[1]


# -- logging in -----------------------------------------------------------------------------------------------------
@MAIL
def test_a_mailed_link_logs_in_by_its_button() -> None:
    user, browser = make_user(), Browser()
    page = browser.post("/auth/login", "/auth/login", email=user.email.upper(), next="/docs").content.decode()
    assert user.email in page
    assert "token" in page
    link = mailed_link()
    assert link.startswith("/auth/confirm?token=")
    text = browser.go(link)
    assert who(browser) is None, "looking at the link must not log in: mail scanners look, too"
    token = link.split("token=")[1]
    assert token in text
    response = browser.post(link, "/auth/confirm", token=token, next="/docs")
    assert (response.status_code, response["location"]) == (302, "/docs")
    assert who(browser) == user.email
    assert user.name in browser.go("/")


@pytest.mark.parametrize("token", ["", "nonsense", "a.b.c", "YQ.YQ.YQ"])
def test_a_worthless_token_is_refused_on_the_page(token: str) -> None:
    browser = Browser()
    response = browser.post("/auth/confirm", "/auth/confirm", token=token)
    assert response.status_code in (400, 401)
    assert 'role="alert"' in response.content.decode()
    assert who(browser) is None


@MAIL
def test_a_locked_user_gets_no_session() -> None:
    user, browser = make_user(), Browser()
    browser.post("/auth/login", "/auth/login", email=user.email)
    link = mailed_link()
    User.objects.filter(pk=user.pk).update(locked=True)
    assert browser.post(link, "/auth/confirm", token=link.split("token=")[1]).status_code == 403
    assert who(browser) is None
    assert browser.post("/auth/login", "/auth/login", email=user.email).status_code == 403


@pytest.mark.parametrize("admin", [True, False])
def test_a_user_key_or_a_password_logs_in(admin: bool) -> None:
    user = make_user(admin=admin)
    user.set_password("a long password")
    user.save()
    for password in (key_of(user), "a long password"):
        browser = Browser()
        assert browser.post("/auth/login", "/auth/login", email=user.email, password=password)["location"] == "/"
        assert who(browser) == user.email


def test_a_wrong_password_or_somebody_elses_key_does_not() -> None:
    user, other = make_user(), make_user()
    for password in ("wrong", key_of(other), "bencher_user_" + "A" * 30):
        browser = Browser()
        response = browser.post("/auth/login", "/auth/login", email=user.email, password=password)
        assert response.status_code == 401
        assert password not in response.content.decode()
        assert who(browser) is None


def test_the_admin_still_refuses_who_is_no_administrator() -> None:
    user = make_user()
    browser = Browser()
    browser.post("/auth/login", "/auth/login", email=user.email, password=key_of(user))
    assert browser.client.get("/admin/").status_code == 302


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "/\\evil.example", "docs", ""])
def test_nobody_is_sent_elsewhere(target: str) -> None:
    user, browser = make_user(), Browser()
    response = browser.post("/auth/login", "/auth/login", email=user.email, password=key_of(user), next=target)
    assert response["location"] == "/"


def test_logging_out_ends_the_session_and_needs_the_button() -> None:
    user = make_user()
    browser = Browser(user)
    assert browser.client.get("/auth/logout").status_code == 405
    assert browser.client.post("/auth/logout").status_code == 403  # no token of a page
    assert who(browser) == user.email
    assert browser.post("/", "/auth/logout")["location"] == "/"
    assert who(browser) is None


@override_settings(BENCHER_RATE_LIMITS="user.attempts=2/hour")
def test_attempts_are_limited() -> None:
    email, browser = f"{fresh('who')}@example.com", Browser()
    statuses = [browser.post("/auth/login", "/auth/login", email=email, password="x").status_code for _ in range(3)]
    assert statuses == [401, 401, 429]


# -- signing up -----------------------------------------------------------------------------------------------------
@MAIL
def test_signing_up_mails_a_link() -> None:
    browser, name = Browser(), fresh("Ada")
    response = browser.post("/auth/signup", "/auth/signup", name=name, email=f"{name}@example.com", i_agree="on")
    assert response.status_code == 200
    link = mailed_link()
    browser.post(link, "/auth/confirm", token=link.split("token=")[1])
    assert who(browser) == f"{name}@example.com".lower()


@pytest.mark.parametrize(
    ("fields", "status", "said"),
    [
        ({"name": "Ada", "email": "ada@example.com"}, 401, "agreement"),
        ({"name": "Ada", "email": "nonsense", "i_agree": "on"}, 400, "email"),
        ({"name": "<b>", "email": "ada@example.com", "i_agree": "on"}, 400, "name"),
        ({"email": "ada@example.com", "i_agree": "on"}, 400, "name"),
        ({"name": "a\0", "email": "ada@example.com", "i_agree": "on"}, 400, "NUL"),
    ],
)
def test_what_is_wrong_is_said_above_the_form(fields: dict[str, str], status: int, said: str) -> None:
    response = Browser().post("/auth/signup", "/auth/signup", **fields)
    text = response.content.decode()
    assert response.status_code == status
    assert said in re.findall(r'role="alert">([^<]*)', text)[0]
    assert "<b>" not in text
    assert not User.objects.filter(email="ada@example.com").exists()


@MAIL
def test_the_claim_link_of_the_command_line() -> None:
    """``/auth/signup?claim={organization}`` (rest.md 8.6): signs up as its leader, or claims for who is logged in."""
    for logged_in in (False, True):
        name = fresh("free")
        organization = Organization.objects.create(name=name, slug=name, created=NOW, modified=NOW)
        link = f"/auth/signup?claim={organization.pk}"
        if logged_in:
            user = make_user()
            assert Browser(user).post(link, "/auth/signup", claim=str(organization.pk))["location"] == "/"
        else:
            browser = Browser()
            assert str(organization.pk) in browser.go(link)
            email = f"{fresh('new')}@example.com"
            browser.post(link, "/auth/signup", name="New", email=email, i_agree="on", claim=str(organization.pk))
            user = User.objects.get(email=email)
        assert Membership.objects.filter(organization=organization, user=user, role="leader").exists()
        assert Browser(make_user()).post(link, "/auth/signup", claim=str(organization.pk)).status_code == 401


@MAIL
def test_the_invitation_link() -> None:
    leader, guest = make_user(), make_user()
    organization = Organization.objects.get(pk=leader.pk)
    invite(organization=organization, email=guest.email, name=None, role="leader", by=leader, now=NOW.replace(year=2026, month=11))
    link = mailed_link()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bencher.core.clock.now", lambda: NOW.replace(year=2026, month=11))
        browser = Browser(guest)
        assert browser.post(link, "/auth/signup", invite=link.split("invite=")[1]).status_code == 302
        assert browser.post(link, "/auth/signup", invite=link.split("invite=")[1]).status_code == 409
    assert Membership.objects.filter(organization=organization, user=guest).exists()


def test_logins_are_in_the_audit_log(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(audit, "record", lambda request, action, **values: seen.append(action))
    user, browser = make_user(), Browser()
    browser.post("/auth/login", "/auth/login", email=user.email, password="wrong")
    browser.post("/auth/login", "/auth/login", email=user.email, password=key_of(user))
    assert seen == ["login_failed", "login"]


# -- projects -------------------------------------------------------------------------------------------------------
def test_the_root_is_a_page_for_browsers_only() -> None:
    browser = Browser()
    assert "Projects" in browser.go("/")
    assert browser.client.get("/", headers={"accept": "*/*"}).content == b"null"
    assert browser.client.get("/", headers={"accept": "application/json"}).content == b"null"


def test_everybody_sees_public_projects_and_members_their_private_ones() -> None:
    owner, name = make_user(), fresh("hush")
    make_project(owner, visibility="private", name=name)
    shown = make_project(owner)
    for path in ("/", "/perf", "/console/projects"):
        assert shown.name in Browser().go(path)
        assert name not in Browser().go(path)
        assert name in Browser(owner).go(path)
        assert name not in Browser(make_user()).go(path)
    assert f"/console/projects/{shown.slug}" in links(Browser().go("/"))


def test_search_and_paging() -> None:
    owner = make_user()
    Project.objects.bulk_create(
        Project(organization_id=owner.pk, name=f"many {number:03}", slug=f"many-{number}", created=NOW, modified=NOW)
        for number in range(120)
    )
    browser = Browser()
    first = browser.go("/?search=many")
    assert "1–50 of 120" in first
    second = next(target for target in links(first) if "page=2" in target)
    assert "search=many" in second
    assert "51–100 of 120" in browser.go(f"/{second}")
    assert "nothing on this page, 120 in all" in browser.go("/?search=many&page=999999")
    assert "No project that you may see" in browser.go("/?search=%3Cscript%3E")


def test_the_list_costs_the_same_with_one_project_and_with_many() -> None:
    owner = make_user()
    make_project(owner)
    browser = Browser(owner)
    few, _ = browser.queries("/")
    for _ in range(10):
        make_project(owner)
    many, _ = browser.queries("/")
    assert many == few <= 5


# -- what goes wrong ------------------------------------------------------------------------------------------------
def test_pages_that_are_not_there() -> None:
    browser = Browser()
    assert "Nothing is here" in browser.go("/nothing/of/that/kind", 404)
    assert browser.client.get("/nothing", headers={"accept": "*/*"})["content-type"] == "application/json"


def test_a_form_of_another_session() -> None:
    response = Browser().client.post("/auth/login", {"email": "a@example.com"})
    assert response.status_code == 403
    assert "send that again" in response.content.decode()


def test_a_fault_of_ours_is_a_page_without_details(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr("bencher.projects.pages.visible_projects", fail)
    browser = Browser()
    browser.client.raise_request_exception = False
    page = browser.go("/", 500)
    assert "fault of the server" in page
    assert "a secret" not in page


@pytest.mark.parametrize(("fault", "status"), [(OperationalError, 503), (InterfaceError, 503), (IntegrityError, 409)])
def test_a_database_that_is_away_is_said_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fault: type[Exception], status: int
) -> None:
    def fail(*_: object) -> None:
        raise fault("details\nDETAIL: a stored row")

    monkeypatch.setattr("bencher.projects.pages.visible_projects", fail)
    browser = Browser()
    assert "details" not in browser.go("/", status)
    assert status != 503 or browser.client.get("/")["retry-after"] == "1"
    assert status != 503 or f"database fault: {fault.__name__}: details" in caplog.text
    assert "stored row" not in caplog.text


@override_settings(BENCHER_RATE_LIMITS="anonymous.requests=1/day")
def test_pages_are_requests() -> None:
    browser, address = Browser(), {"x-forwarded-for": "203.0.113.99"}
    assert [browser.client.get("/", headers=address).status_code for _ in range(2)] == [200, 429]
