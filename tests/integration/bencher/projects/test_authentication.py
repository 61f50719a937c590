"""rest.md 1.6: what a bad credential gets, by class of endpoint; what a good one is worth."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings as configured

from bencher.core.errors import ServiceError
from bencher.core.ids import key_hash
from bencher.projects.authentication import Access, authenticate, bearer
from bencher.projects.models import ApiToken, ProjectKey, User, UserKey
from bencher.projects.services.keys import create_project_key, create_user_key, revoke
from bencher.projects.tokens import Audience, mint
from tests.restworld import make_project, make_user

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 1, tzinfo=UTC)
USER_KEY, PROJECT_KEY, RUNNER_KEY = "bencher_user_" + "A" * 30, "bencher_run_" + "A" * 30, "bencher_runner_" + "A" * 30


def status(header: str | None, access: Access) -> int:
    """The status of the refusal, 200 for none."""
    try:
        authenticate(header, access, now=NOW)
    except ServiceError as fault:
        return fault.status if not _repeats(header, fault.message) else 0
    return 200


def _repeats(header: str | None, message: str) -> bool:
    credential = (header or "").partition(" ")[2]
    return len(credential) >= 8 and credential in message


def token(user: User, audience: Audience = Audience.CLIENT, **changes: Any) -> str:
    return mint(audience, user.email, **{"now": NOW, "lifetime": 60, **changes})


@pytest.mark.parametrize(
    ("header", "strict", "actor"),
    [
        (None, 400, 200),
        ("", 400, 200),
        ("Bearer", 400, 200),
        ("Bearer  ", 400, 200),
        ("Basic eDp5", 400, 200),
        (USER_KEY, 400, 200),
        (f"Token {USER_KEY}", 400, 200),
        ("Bearer secret", 400, 401),
        ("Bearer a b", 400, 401),
        ("Bearer YQ.YQ", 400, 401),
        ("Bearer \xff\xfe", 400, 401),
        ("Bearer bencher_user_abc", 400, 401),
        (f"Bearer {USER_KEY}A", 400, 401),
        (f"Bearer {USER_KEY[:-1]}-", 400, 401),
        (f"Bearer {RUNNER_KEY}", 400, 401),
        ("Bearer bencher_run_abc", 400, 401),
        (f"Bearer {PROJECT_KEY}", 400, 401),
        (f"Bearer {USER_KEY}", 401, 401),
        ("Bearer YQ.YQ.YQ", 400, 400),
    ],
)
def test_bad_credentials(header: str | None, strict: int, actor: int) -> None:
    assert status(header, Access.USER) == status(header, Access.ADMIN) == strict
    assert status(header, Access.ACTOR) == actor
    assert status(header, Access.PUBLIC) == 200


@pytest.mark.parametrize("form", ["bearer {}", "BEARER {}", "Bearer   {}", " Bearer {} "])
def test_form_of_the_header(form: str) -> None:
    assert bearer(form.format("secret")) == "secret"


def test_user_key() -> None:
    user = make_user()
    row, key = create_user_key(user=user, name="k", ttl=None, now=NOW)
    caller = authenticate(f"Bearer {key}", Access.USER, now=NOW)
    assert (caller.kind, caller.user, caller.via, caller.user_key) == ("user", user, "user_key", row)
    assert status(f"Bearer {key}", Access.ADMIN) == 403


def test_keys_are_stored_as_hashes() -> None:
    row, key = create_user_key(user=make_user(), name="k", ttl=None, now=NOW)
    assert row.hash == key_hash(key)
    assert key not in {str(value) for value in UserKey.objects.values_list(flat=False).get(pk=row.pk)}


@pytest.mark.parametrize("ending", ["revoked", "expired", "locked"])
def test_ended_user_keys(ending: str) -> None:
    user = make_user()
    row, key = create_user_key(user=user, name="k", ttl=10, now=NOW - timedelta(seconds=10 if ending == "expired" else 9))
    if ending == "revoked":
        revoke(key=row, now=NOW)
    if ending == "locked":
        User.objects.filter(pk=user.pk).update(locked=True)
    assert status(f"Bearer {key}", Access.USER) == status(f"Bearer {key}", Access.ACTOR) == 401


@pytest.mark.parametrize("ending", ["", "revoked", "expired", "deleted"])
def test_project_keys(ending: str) -> None:
    project = make_project(make_user())
    row, key = create_project_key(
        project=project, creator=None, name="k", ttl=10, now=NOW - timedelta(seconds=10 if ending == "expired" else 9)
    )
    if ending == "revoked":
        revoke(key=row, now=NOW)
    if ending == "deleted":
        project.deleted = NOW
        project.save()
    assert status(f"Bearer {key}", Access.ACTOR) == (401 if ending else 200)
    assert status(f"Bearer {key}", Access.USER) == 400
    if not ending:
        caller = authenticate(f"Bearer {key}", Access.ACTOR, now=NOW)
        assert (caller.kind, caller.project_key, caller.user) == ("project_key", ProjectKey.objects.get(), None)


def test_tokens() -> None:
    user = make_user(admin=True)
    caller = authenticate(f"Bearer {token(user)}", Access.ADMIN, now=NOW)
    assert (caller.user, caller.via, caller.is_admin) == (user, "jwt", True)
    assert authenticate(f"Bearer {token(user, Audience.API_KEY)}", Access.ACTOR, now=NOW).via == "api_token"


def test_tokens_that_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    user = make_user()
    good = token(user)
    head, payload, signature = good.split(".")
    bad = [
        ".".join((head, payload, ("B" if signature[0] == "A" else "A") + signature[1:])),
        token(user, Audience.AUTH),
        token(user, Audience.OCI_AUTH),
        token(user, lifetime=0),
        token(user, now=NOW - timedelta(seconds=61)),
    ]
    monkeypatch.setattr(configured, "BENCHER_CONSOLE_URL", "https://elsewhere.example")
    bad.append(good)
    for one in bad[-1:]:
        assert status(f"Bearer {one}", Access.USER) == 400
    monkeypatch.undo()
    for one in bad[:-1]:
        assert status(f"Bearer {one}", Access.USER) == status(f"Bearer {one}", Access.ACTOR) == 400
    assert status(f"Bearer {good}", Access.USER) == 200


def test_tokens_of_the_gone_and_the_locked() -> None:
    user = make_user()
    good = token(user)
    User.objects.filter(pk=user.pk).update(locked=True)
    assert status(f"Bearer {good}", Access.USER) == 403
    user.email = "gone@example.com"
    assert status(f"Bearer {token(user)}", Access.USER) == status(f"Bearer {token(user)}", Access.ACTOR) == 404


def test_revoked_api_token() -> None:
    user = make_user()
    text = token(user, Audience.API_KEY)
    row = ApiToken.objects.create(user=user, name="old", hash=key_hash(text), token=text, creation=NOW, expiration=NOW)
    assert status(f"Bearer {text}", Access.USER) == 200
    revoke(key=row, now=NOW)
    assert status(f"Bearer {text}", Access.USER) == 401


def test_one_query_a_credential(django_assert_num_queries: Any) -> None:
    user = make_user()
    project = make_project(user)
    for credential in (
        token(user),
        create_user_key(user=user, name="k", ttl=None, now=NOW)[1],
        create_project_key(project=project, creator=user, name="k", ttl=None, now=NOW)[1],
    ):
        with django_assert_num_queries(1):
            authenticate(f"Bearer {credential}", Access.ACTOR, now=NOW)
    with django_assert_num_queries(0):
        authenticate(None, Access.ACTOR, now=NOW)
