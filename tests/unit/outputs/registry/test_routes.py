"""Paths and methods."""

import pytest

from outputs.registry.asgi import ROUTES
from outputs.registry.errors import NameUnknown, Unsupported
from outputs.registry.routes import choose


@pytest.mark.parametrize(
    ("path", "methods", "name", "rest"),
    [
        ("/v2", ROUTES.front, "", ""),
        ("/v2/", ROUTES.front, "", ""),
        ("/v2/x/blobs/uploads", ROUTES.uploads, "x", ""),
        ("/v2/x/blobs/uploads/", ROUTES.uploads, "x", ""),
        ("/v2/x/blobs/uploads/y", ROUTES.upload, "x", "y"),
        ("/v2/x/blobs/sha256:0", ROUTES.blob, "x", "sha256:0"),
        ("/v2/x/manifests/v1", ROUTES.manifest, "x", "v1"),
        ("/v2/x/tags/list", ROUTES.tags, "x", ""),
        ("/v2/x/referrers/sha256:0", ROUTES.referrers, "x", "sha256:0"),
    ],
)
def test_find(path: str, methods: object, name: str, rest: str) -> None:
    assert ROUTES.find(path) == (methods, name, rest)


@pytest.mark.parametrize(
    "path", ["/v2/x", "/v2/a/b/tags/list", "/v2/x/blobs/y/z", "/v2/x/tags/list/", "/v2/x/manifests/a/b", "/v2/_catalog"]
)
def test_unknown(path: str) -> None:
    with pytest.raises(NameUnknown):
        ROUTES.find(path)


def test_choose() -> None:
    assert choose(ROUTES.tags, "GET") is ROUTES.tags["GET"]
    with pytest.raises(Unsupported) as refused:
        choose(ROUTES.uploads, "GET")
    assert refused.value.headers == {"Allow": "POST, PUT, OPTIONS"}
