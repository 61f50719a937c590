"""jobs/image_reference.py: the table of rest.md 7.3 and its neighbours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.image_reference import InvalidImage, check, is_ours, parse

HEX = "0" * 64
URL = "http://localhost:6610"


@pytest.mark.parametrize(
    ("text", "registry", "repository", "tag", "digest", "project"),
    [
        ("demo", "docker.io", "library/demo", "latest", None, "demo"),
        ("demo:v1", "docker.io", "library/demo", "v1", None, "demo"),
        ("demo:5000", "docker.io", "library/demo", "5000", None, "demo"),
        ("library/demo:v1", "docker.io", "library/demo", "v1", None, "demo"),
        ("a/b:v1", "docker.io", "a/b", "v1", None, None),
        ("localhost:6610/demo:v1", "localhost:6610", "demo", "v1", None, "demo"),
        ("localhost:6610/demo", "localhost:6610", "demo", "latest", None, "demo"),
        ("localhost:6610/library/demo", "localhost:6610", "library/demo", "latest", None, None),
        ("localhost:6610/demo:42", "localhost:6610", "demo:42", "latest", None, "demo:42"),
        ("localhost/demo:v1", "localhost", "demo", "v1", None, "demo"),
        (f"reg.example/a/b@sha256:{HEX}", "reg.example", "a/b", None, f"sha256:{HEX}", None),
        (f"demo:v1@sha256:{HEX}", "docker.io", "library/demo:v1", None, f"sha256:{HEX}", "demo:v1"),
        ("demo:v1/x", "demo:v1", "x", "latest", None, "x"),
        ("demo:", "docker.io", "library/demo", "", None, "demo"),
        ("demo@", "docker.io", "library/demo", None, "", "demo"),
        ("a@b@c", "docker.io", "library/a", None, "b@c", "a"),
        (":", "docker.io", "library/", "", None, ""),
        ("/", "docker.io", "/", "latest", None, None),
    ],
)
def test_readings(text: str, registry: str, repository: str, tag: str | None, digest: str | None, project: str | None) -> None:
    read = parse(text)
    assert (read.registry, read.repository, read.tag, read.digest, read.project) == (registry, repository, tag, digest, project)
    assert read.text == text


def test_the_empty_text_names_nothing() -> None:
    with pytest.raises(InvalidImage, match="empty"):
        parse("")


@given(st.text(min_size=1))
def test_every_other_text_has_a_reading(text: str) -> None:
    read = parse(text)
    assert (read.tag is None) != (read.digest is None)


@pytest.mark.parametrize(
    ("registry", "url", "ours"),
    [
        ("docker.io", "https://bench.example.com", True),
        ("bench.example.com", "https://bench.example.com", True),
        ("Bench.Example.com", "https://bench.example.com", True),
        ("bench.example.com:443", "https://bench.example.com", True),
        ("bench.example.com:80", "https://bench.example.com", False),
        ("bench.example.com:80", "http://bench.example.com/", True),
        ("localhost", URL, True),
        ("localhost:6610", URL, True),
        ("localhost:1", URL, False),
        ("127.0.0.1:6610", URL, False),
        ("ghcr.io", URL, False),
        ("[::1]:6610", "http://[::1]:6610", True),
    ],
)
def test_whose_registry(registry: str, url: str, ours: bool) -> None:
    assert is_ours(registry, url) is ours


@pytest.mark.parametrize(
    "text", ["demo", "demo:v1", "demo:V_1.x-y", "a/b:v1", "localhost:6610/a/b:v1", f"x@sha256:{HEX}", "x:" + "t" * 128]
)
def test_runnable(text: str) -> None:
    check(parse(text), registry_url=URL)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ghcr.io/some-user/some-image:v1", "other registries"),
        (f"example.com/x@sha256:{HEX}", "other registries"),
        ("demo:v1/x", "other registries"),
        ("x@", "digest"),
        ("x@sha256:abc", "digest"),
        ("x@md5:" + "0" * 32, "digest"),
        ("x@sha512:" + "0" * 128, "digest"),
        ("x@sha256:" + "G" * 64, "digest"),
        ("x@sha256:" + "A" * 64, "digest"),
        (f"x@sha256:{HEX}\n", "digest"),
        ("x:", "tag"),
        ("x:-v", "tag"),
        ("x:v 1", "tag"),
        ("x:v\n", "tag"),
        ("x:é", "tag"),
        ("x:" + "t" * 129, "tag"),
    ],
)
def test_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidImage, match=why):
        check(parse(text), registry_url=URL)
