"""Tokens: what they say, and which are believed."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import jwt
import pytest
from django.conf import settings

from outputs.registry import tokens
from outputs.registry.tokens import ANONYMOUS, PROJECT, RUNNER, USER, InvalidToken, read_token

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
RUNNER_ID, PROJECT_ID = UUID(int=1), UUID(int=2)
ALL = (ANONYMOUS, USER, PROJECT, RUNNER)


def claims(token: str) -> dict[str, Any]:
    return jwt.decode(token, options={"verify_signature": False})


def forged(key: str = settings.SECRET_KEY, algorithm: str = "HS256", **changes: Any) -> str:
    stated = claims(tokens.mint_user_token(email="a@b.c", repository="r", actions=["pull"], now=NOW))
    stated |= changes
    return jwt.encode({name: value for name, value in stated.items() if value is not ...}, key, algorithm)


def test_runner_token() -> None:
    token = tokens.mint_runner_token(runner_id=RUNNER_ID, project_id=PROJECT_ID, now=NOW)
    said = claims(token)
    assert (said["aud"], said["sub"], said["exp"] - said["iat"]) == ("oci_runner", str(RUNNER_ID), 600)
    assert said["oci"] == {"repository": str(PROJECT_ID), "actions": ["pull"]}
    assert said["iss"] == settings.BENCHER_CONSOLE_URL
    assert jwt.get_unverified_header(token) == {"typ": "JWT", "alg": "HS256"}


def test_others() -> None:
    user = claims(tokens.mint_user_token(email="a@b.c", repository="r", actions=("pull", "push"), now=NOW))
    project = claims(tokens.mint_project_token(project_id=PROJECT_ID, repository=None, actions=(), now=NOW))
    anonymous = claims(tokens.mint_anonymous_token(repository=None, actions=(), now=NOW))
    assert [said["exp"] - said["iat"] for said in (user, project, anonymous)] == [300] * 3
    assert (user["aud"], user["sub"], user["oci"]) == ("oci_auth", "a@b.c", {"repository": "r", "actions": ["pull", "push"]})
    assert (project["aud"], project["sub"], project["oci"]) == ("oci_project", str(PROJECT_ID), {"repository": None, "actions": []})
    assert anonymous["aud"] == "oci_public"
    assert "sub" not in anonymous


def test_read_back() -> None:
    found = read_token(tokens.mint_user_token(email="a@b.c", repository="r", actions=["push"], now=NOW), ALL, NOW)
    assert (found.kind, found.subject, found.repository, found.actions) == (USER, "a@b.c", "r", frozenset({"push"}))


@pytest.mark.parametrize("seconds", [0, 300])
def test_lives(seconds: int) -> None:
    read_token(forged(), ALL, NOW + timedelta(seconds=seconds))


def test_expires_without_leeway() -> None:
    with pytest.raises(InvalidToken):
        read_token(forged(), ALL, NOW + timedelta(seconds=301))


@pytest.mark.parametrize("kind", ALL)
def test_only_the_kinds_asked_for(kind: str) -> None:
    token = forged(aud=kind)
    assert read_token(token, [kind], NOW).kind == kind
    with pytest.raises(InvalidToken):
        read_token(token, [other for other in ALL if other != kind], NOW)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "x",
        "a.b.c",
        "é.é.é",
        forged(key="another-key-that-is-long-enough-for-hs256"),
        forged(key="k" * 64, algorithm="HS512"),
        jwt.encode(claims(forged()), "", "none"),
        forged(iss="https://elsewhere.example"),
        forged(aud="client"),
        forged(aud=["oci_auth"]),
        forged(exp=...),
        forged(sub=...),
        forged(oci=...),
        forged(oci=None),
        forged(oci="pull"),
        forged(oci={"repository": 7, "actions": []}),
        forged(oci={"repository": "r", "actions": "pull"}),
        forged()[:-4] + "AAAA",
    ],
)
def test_not_believed(token: str) -> None:
    with pytest.raises(InvalidToken):
        read_token(token, ALL, NOW)
