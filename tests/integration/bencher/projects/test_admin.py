"""bencher/projects/admin.py and login.py: every change by a service, refusals as messages, everything audited."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from bencher.core.ids import new_key
from bencher.projects.models import ApiToken, Membership, Organization, Project, User, UserKey
from bencher.projects.services.keys import create_user_key, revoke
from tests.jobs_world import NOW, make_job, make_project, make_user, user_key

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> User:
    return make_user(admin=True)


@pytest.fixture
def web(admin: User) -> Client:
    client = Client()
    client.force_login(admin)
    return client


def address(row: Model, page: str = "change") -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_{page}", args=(row.pk,))


def act(web: Client, name: str, row: Model) -> str:
    """The page that the button leads to."""
    answer = web.post(address(row, f"{name}_this"), {"_form_submitted": "on"})
    return str(web.get(answer["HX-Redirect"]).content.decode())


def change(web: Client, row: Model, **values: Any) -> str:
    """The page after its form was sent."""
    names = {name: getattr(row, name) for name in ("name", "slug", "email", "priority", "visibility", "url") if hasattr(row, name)}
    formset = {f"{prefix}-{kind}_FORMS": "0" for prefix in ("memberships", "keys", "projects", "roles") for kind in ("TOTAL", "INITIAL")}
    data = {name: value for name, value in {**names, **formset, **values}.items() if value is not None}
    answer = web.post(address(row), data, follow=True)
    assert answer.status_code == 200
    return str(answer.content.decode())


# -- users -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("lock", {}, {"locked": True}),
        ("unlock", {"locked": True}, {"locked": False}),
        ("promote", {}, {"admin": True}),
        ("demote", {"admin": True}, {"admin": False}),
    ],
)
def test_standing_of_a_user(web: Client, name: str, before: dict[str, bool], after: dict[str, bool]) -> None:
    user = make_user()
    User.objects.filter(pk=user.pk).update(**before)
    act(web, name, user)
    assert User.objects.filter(pk=user.pk, **after).exists()


@pytest.mark.parametrize("name", ["lock", "demote"])
def test_nobody_shuts_themselves_out(web: Client, admin: User, name: str) -> None:
    assert "end your own session" in act(web, name, admin)
    assert User.objects.get(pk=admin.pk).is_staff


def test_a_user_is_changed_by_the_service(web: Client) -> None:
    """A new address revokes the tokens: only the service does that."""
    user = make_user()
    ApiToken.objects.create(user=user, name="old", hash="0" * 64, token="t", creation=NOW, expiration=NOW)
    change(web, user, email="New@Example.com")
    assert User.objects.get(pk=user.pk).email == "new@example.com"
    assert ApiToken.objects.get(user=user).revoked


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"slug": "No Slug"}, "expected a slug"),
        ({"name": "<b>"}, "letters, digits"),
        ({"email": "nobody"}, "valid email"),
        ({"name": ""}, "required"),
        ({"name": "a\x00b"}, "Null characters"),
    ],
)
def test_values_are_judged(web: Client, values: dict[str, str], sentence: str) -> None:
    user = make_user()
    assert sentence in change(web, user, **values)
    assert User.objects.get(pk=user.pk).name == user.name


def test_taken_between_check_and_write(web: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service's refusal is a message, and nothing is written."""
    user, other = make_user(), make_user()
    monkeypatch.setattr("django.db.models.Model.validate_unique", lambda *args, **kwargs: None)
    assert "used already" in change(web, user, slug=other.slug)
    assert User.objects.get(pk=user.pk).slug == user.slug
    assert not LogEntry.objects.exists()


def test_no_status_by_a_form(web: Client) -> None:
    user = make_user()
    change(web, user, admin="on", locked="on", password="x")
    assert User.objects.filter(pk=user.pk, admin=False, locked=False, password=user.password).exists()


# -- organizations and projects ----------------------------------------------------------------------------------------
def test_pending_jobs_follow_the_priority(web: Client) -> None:
    job, running = make_job(), make_job(status="running")
    for one in (job, running):
        change(web, one.organization, priority=777)
        one.refresh_from_db()
    assert (job.priority, running.priority) == (777, 100)


@pytest.mark.parametrize("priority", ["1001", "-1", "many", ""])
def test_a_priority_is_0_to_1000(web: Client, priority: str) -> None:
    organization = make_project(make_user()).organization
    change(web, organization, priority=priority)
    assert Organization.objects.get(pk=organization.pk).priority == 100


def test_projects(web: Client) -> None:
    project = make_project(make_user())
    act(web, "hide", project)
    assert Project.objects.get(pk=project.pk).visibility == "private"
    act(web, "publish", project)
    assert Project.objects.get(pk=project.pk).visibility == "public"
    change(web, project, url="https://example.com/x")
    assert Project.objects.get(pk=project.pk).url == "https://example.com/x"
    act(web, "remove", project)
    gone = Project.objects.get(pk=project.pk)
    assert gone.deleted
    assert gone.slug == f"deleted-{project.pk}"
    assert "deleted already" in act(web, "remove", project)
    assert "deleted" in act(web, "remove", project.organization)
    assert Organization.objects.get(pk=project.organization_id).deleted


def test_members(web: Client) -> None:
    project, user = make_project(make_user()), make_user()
    web.post("/admin/projects/membership/add/", {"organization": project.organization_id, "user": user.pk})
    member = Membership.objects.get(user=user)
    assert member.role == "member"
    act(web, "lead", member)
    assert Membership.objects.get(user=user).role == "leader"
    for each in Membership.objects.filter(organization=project.organization):
        act(web, "leave", each)
    organization = Organization.objects.get(pk=project.organization_id)
    assert (organization.claimed, organization.priority) == (None, 0)


# -- keys --------------------------------------------------------------------------------------------------------------
def test_a_key_is_revoked_once(web: Client) -> None:
    user_key(make_user())
    key = UserKey.objects.get()
    act(web, "revoke", key)
    assert UserKey.objects.get().revoked
    assert "revoked already" in act(web, "revoke", key)


# -- audit -------------------------------------------------------------------------------------------------------------
def test_what_is_done_is_audited(web: Client, admin: User, caplog: pytest.LogCaptureFixture) -> None:
    user = make_user()
    User.objects.filter(pk=user.pk).update(name='x" actor="somebody\nelse')
    with caplog.at_level(logging.INFO, "bencher.audit"):
        act(web, "lock", user)
        act(web, "lock", admin)  # refused
    (entry,) = LogEntry.objects.all()
    assert (entry.user_id, entry.object_id, entry.change_message) == (admin.pk, str(user.pk), "locked")
    (line,) = [record.getMessage() for record in caplog.records if record.name == "bencher.audit"]
    assert line == (
        f'action="admin.change" actor="{admin.email}" actor_id="{admin.pk}" ip="127.0.0.1" object="projects.user {user.pk}" detail="locked"'
    )


# -- login -------------------------------------------------------------------------------------------------------------
def log_in(username: str, password: str) -> tuple[Client, str]:
    client = Client()
    answer = client.post("/admin/login/", {"username": username, "password": password, "next": "/admin/"}, follow=True)
    return client, str(answer.content.decode())


def is_in(client: Client) -> bool:
    return client.get("/admin/").status_code == 200


def fresh_key(user: User) -> tuple[UserKey, str]:
    return create_user_key(user=user, name="pages", ttl=None, now=timezone.now())


def test_a_key_of_an_administrator_logs_in_until_it_is_revoked(admin: User, caplog: pytest.LogCaptureFixture) -> None:
    row, key = fresh_key(admin)
    with caplog.at_level(logging.INFO):
        client, _ = log_in(admin.email.upper(), key)
        assert is_in(client)
        assert client.session["_user_key"] == str(row.pk)
        revoke(key=row, now=timezone.now())
        assert not is_in(client)
    assert f'action="login" actor="{admin.email}"' in caplog.text
    assert key not in caplog.text


def test_a_login_that_would_lead_elsewhere_leads_to_a_page_of_ours(admin: User) -> None:
    client = Client()
    credentials = {"username": admin.email, "password": fresh_key(admin)[1]}
    answer = client.post("/admin/login/?next=https://elsewhere.example/", credentials, follow=True, headers={"accept": "text/html"})
    assert (answer.redirect_chain, answer.status_code) == ([("/", 302)], 200)


def test_a_password_logs_in(admin: User) -> None:
    admin.set_password("a long password")
    admin.save()
    client, _ = log_in(admin.email, "a long password")
    assert is_in(client)
    assert not is_in(log_in(admin.email, "another password")[0])


def test_a_locked_user_is_out_at_once(admin: User) -> None:
    client, _ = log_in(admin.email, fresh_key(admin)[1])
    assert is_in(client)
    User.objects.update(locked=True)
    assert not is_in(client)
    assert not is_in(log_in(admin.email, fresh_key(admin)[1])[0])


def test_who_does_not_get_in(admin: User, caplog: pytest.LogCaptureFixture) -> None:
    """All with the same sentence."""
    other, now = make_user(admin=True), timezone.now()
    revoked, expired, ordinary = fresh_key(admin), fresh_key(admin), fresh_key(make_user())
    revoke(key=revoked[0], now=now)
    UserKey.objects.filter(pk=expired[0].pk).update(expiration=now - timedelta(seconds=1))
    tries = [
        (other.email, fresh_key(admin)[1]),
        (admin.email, revoked[1]),
        (admin.email, expired[1]),
        (ordinary[0].user.email, ordinary[1]),
        (admin.email, new_key("bencher_user_")),
        (admin.email, "bencher_user_"),
        (admin.email, "bencher_user_日本"),
        (admin.email, ""),
        ("nobody@example.com", "wrong-password"),
        ("password-in-the-wrong-field", "wrong-password"),
        ("", ""),
    ]
    sentences = set()
    with caplog.at_level(logging.INFO):
        for username, password in tries:
            client, text = log_in(username, password)
            assert not is_in(client)
            sentences.add("Please enter the correct" in text or "required" in text)
            assert not password or password not in caplog.text
    assert sentences == {True}
    assert "wrong-field" not in caplog.text


def test_attempts_are_limited(admin: User, settings: Any) -> None:
    settings.BENCHER_RATE_LIMITS, settings.REDIS_URL = "user.attempts=2/day", ""
    key = fresh_key(admin)[1]
    assert not is_in(log_in(admin.email, "wrong")[0])
    assert is_in(log_in(admin.email, key)[0])
    client, text = log_in(admin.email, key)
    assert not is_in(client)
    assert "too many attempts: wait" in text
