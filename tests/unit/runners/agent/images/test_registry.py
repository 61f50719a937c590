"""The pull, against a registry that answers as registries do: slowly, partly, with 503, with a redirect, or not at all."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from runners.agent.control import Control
from runners.agent.errors import Canceled, ImageError, RegistryError
from runners.agent.images import registry as module
from runners.agent.images.reference import Reference
from runners.agent.images.registry import MAX_DOCUMENT_BYTES, Registry

Handler = Callable[[httpx.Request], httpx.Response]
Make = Callable[..., Registry]


def body(status: int, content: bytes, **more: Any) -> httpx.Response:
    """An answer whose content is still to be read, as from a socket."""
    return httpx.Response(status, stream=httpx.ByteStream(content), **more)


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.setattr(module.random, "uniform", lambda *_: 0.0)
    control = Control()
    made: list[Registry] = []

    def build(handler: Handler, token: str | None = "tkn") -> Registry:
        made.append(Registry(Reference("http://reg.example", "p/q", "latest"), token, control, httpx.MockTransport(handler)))
        return made[-1]

    yield build
    for one in made:
        one.close()
    control.close()


def test_what_is_asked(make: Make) -> None:
    seen: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return body(200, b"{}", headers={"Content-Type": "application/x"})

    registry = make(handler)
    assert registry.manifest("v1") == (b"{}", "application/x")
    assert registry.small_blob("sha256:ab") == b"{}"
    assert b"".join(registry.blob("sha256:cd")) == b"{}"
    assert [request.url.path for request in seen] == ["/v2/p/q/manifests/v1", "/v2/p/q/blobs/sha256:ab", "/v2/p/q/blobs/sha256:cd"]
    assert {request.headers["Authorization"] for request in seen} == {"Bearer tkn"}
    assert seen[0].headers["Accept"].count("application/vnd.") == 4
    assert seen[0].headers["User-Agent"] == "bencher-runner/1.0"
    assert seen[0].headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_a_refusal_is_final(make: Make, status: int) -> None:
    asked = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(status)

    with pytest.raises(RegistryError, match=f"status {status}"):
        make(handler).manifest("v1")
    assert len(asked) == 1


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_a_transient_answer_is_tried_again(make: Make, status: int) -> None:
    answers = iter([httpx.Response(status), httpx.Response(status), body(200, b"ok")])
    assert make(lambda _: next(answers)).small_blob("sha256:ab") == b"ok"


def test_but_not_for_ever(make: Make) -> None:
    with pytest.raises(RegistryError, match="status 503"):
        make(lambda _: httpx.Response(503)).small_blob("sha256:ab")


def test_a_registry_that_is_not_there(make: Make) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    with pytest.raises(RegistryError, match=r"reg\.example/p/q:latest: ConnectError"):
        make(handler).manifest("v1")


class Broken(httpx.SyncByteStream):
    """A body that breaks off."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __iter__(self) -> Iterator[bytes]:
        yield self.content
        raise httpx.ReadError("reset")


@pytest.mark.parametrize("ranges", [True, False], ids=["206", "200"])
def test_a_download_that_broke_goes_on_where_it_was(make: Make, ranges: bool) -> None:
    content = bytes(range(256)) * 2000
    asked: list[str | None] = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers.get("Range"))
        if len(asked) < 3:
            start = len(asked) * 100_000 - 100_000 if ranges else 0
            return httpx.Response(200 if start == 0 else 206, stream=Broken(content[start : len(asked) * 100_000]))
        start = int(asked[-1][6:-1]) if ranges and asked[-1] else 0
        return body(206 if start else 200, content[start:])

    assert b"".join(make(handler).blob("sha256:ab")) == content
    assert asked == [None, "bytes=100000-", "bytes=200000-"]


def test_a_document_has_a_size_limit(make: Make) -> None:
    with pytest.raises(ImageError, match="larger than"):
        make(lambda _: body(200, b"x" * (MAX_DOCUMENT_BYTES + 1))).manifest("v1")


def test_the_token_does_not_follow_a_redirect_to_another_host(make: Make) -> None:
    seen: dict[str, str | None] = {}

    def handler(request: httpx.Request) -> httpx.Response:
        seen[request.url.host] = request.headers.get("Authorization")
        if request.url.host == "reg.example":
            return httpx.Response(307, headers={"Location": "http://cdn.example/blob"})
        return body(200, b"ok")

    assert b"".join(make(handler).blob("sha256:ab")) == b"ok"
    assert seen == {"reg.example": "Bearer tkn", "cdn.example": None}


class TestChallenge:
    HEADER = 'Bearer realm="http://auth.example/token",service="reg",scope="repository:p/q:pull"'

    def test_a_public_registry_gives_a_token(self, make: Make) -> None:
        def handler(request: httpx.Request) -> httpx.Response:
            if request.url.host == "auth.example":
                assert dict(request.url.params) == {"service": "reg", "scope": "repository:p/q:pull"}
                return httpx.Response(200, json={"token": "anonymous"})
            if request.headers.get("Authorization") == "Bearer anonymous":
                return body(200, b"ok")
            return httpx.Response(401, headers={"WWW-Authenticate": self.HEADER})

        assert make(handler, token=None).manifest("v1")[0] == b"ok"

    def test_a_token_of_our_own_is_not_replaced(self, make: Make) -> None:
        asked = []

        def handler(request: httpx.Request) -> httpx.Response:
            asked.append(request.url.host)
            return httpx.Response(401, headers={"WWW-Authenticate": self.HEADER})

        with pytest.raises(RegistryError, match="status 401"):
            make(handler).manifest("v1")
        assert asked == ["reg.example"]


class Drops(httpx.SyncByteStream):
    def __iter__(self) -> Iterator[bytes]:
        yield from [b"x"] * 10


def test_a_stop_request_ends_a_download(make: Make) -> None:
    registry = make(lambda _: httpx.Response(200, stream=Drops()))
    chunks = registry.blob("sha256:ab")
    next(chunks)
    registry.control.stop(Canceled("stop"))
    with pytest.raises(Canceled):
        next(chunks)
