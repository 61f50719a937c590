"""Headers of callers, and the challenge."""

import base64
from datetime import UTC, datetime
from typing import Any

import pytest

from outputs.registry.authentication import BadCredentials, basic_credentials, challenge, enter, for_pull, for_push, for_status
from outputs.registry.errors import Denied, Unauthorized
from outputs.registry.tokens import mint_user_token

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def bearer(*actions: str, name: str | None = "x") -> str:
    return "Bearer " + mint_user_token(email="a@b.c", repository=name, actions=actions, now=NOW)


def basic(text: bytes) -> str:
    return "Basic " + base64.b64encode(text).decode()


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, None),
        ("", None),
        ("Bearer x", None),
        (basic(b"a:b"), ("a", "b")),
        (basic(b"a:b:c").replace("Basic", "basic"), ("a", "b:c")),
        (basic(b":"), ("", "")),
        (basic("ü:é".encode()), ("ü", "é")),
    ],
)
def test_basic(header: str | None, expected: tuple[str, str] | None) -> None:
    assert basic_credentials(header) == expected


@pytest.mark.parametrize("header", ["Basic", "Basic !!!!", basic(b"\xff\xff"), basic(b"nocolon"), "Basic YTpi=YTpi"])
def test_bad_basic(header: str) -> None:
    with pytest.raises(BadCredentials):
        basic_credentials(header)


def test_challenge(settings: Any) -> None:
    settings.BENCHER_REGISTRY_URL = "https://r.example.com:8443"
    start = 'Bearer realm="https://r.example.com:8443/v0/auth/oci/token",service="r.example.com"'
    assert challenge() == start
    assert challenge("repository:x:pull") == start + ',scope="repository:x:pull"'
    assert challenge('a"b\r\n\\é', "insufficient_scope") == start + ',scope="ab",error="insufficient_scope"'


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic YTpi", "garbage", "Bearer not.a.token"])
def test_no_token(header: str | None) -> None:
    with pytest.raises(Unauthorized):
        enter(header, NOW)
    with pytest.raises(Unauthorized) as refused:
        for_push(header, "x", NOW)
    assert refused.value.scope == "repository:x:push"


def test_actions() -> None:
    assert for_pull(bearer("pull"), "x", NOW).subject == "a@b.c"
    assert for_status(bearer("pull"), "x", NOW) == for_pull(bearer("pull"), "x", NOW)
    assert for_status(bearer("push"), "x", NOW) == for_push(bearer("push"), "x", NOW)
    for use, header in (
        (for_pull, bearer("push")),
        (for_push, bearer("pull")),
        (for_pull, bearer("pull", name="y")),
        (for_status, bearer()),
    ):
        with pytest.raises(Denied):
            use(header, "x", NOW)
