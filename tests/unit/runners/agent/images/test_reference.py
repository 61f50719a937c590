"""Names of images."""

import pytest

from runners.agent.errors import ImageError
from runners.agent.images.reference import for_job, parse

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "base", "repository", "target"),
    [
        ("alpine", "https://registry-1.docker.io", "library/alpine", "latest"),
        ("user/app:1.2", "https://registry-1.docker.io", "user/app", "1.2"),
        ("ghcr.io/a/b", "https://ghcr.io", "a/b", "latest"),
        ("localhost:5000/a:t", "http://localhost:5000", "a", "t"),
        ("127.0.0.1:5000/a", "http://127.0.0.1:5000", "a", "latest"),
        (f"reg.example/a/b@{DIGEST}", "https://reg.example", "a/b", DIGEST),
        (f"reg.example/a/b:tag@{DIGEST}", "https://reg.example", "a/b", DIGEST),
    ],
)
def test_parse(text: str, base: str, repository: str, target: str) -> None:
    found = parse(text)
    assert (found.base, found.repository, found.target) == (base, repository, target)


@pytest.mark.parametrize(
    "text", ["", "UPPER/case", "a//b", "a:", "a b", "reg.example/", "a@sha256:short", "a/../b", "reg.example/a:t?x=1", "a\n"]
)
def test_refused(text: str) -> None:
    with pytest.raises(ImageError):
        parse(text)


@pytest.mark.parametrize("text", ["./layout:v1", "../layout", "/images/layout", "~/layout"])
def test_a_folder_that_is_not_there_is_no_registry(text: str) -> None:
    """``./layout`` would be the host ``.``, asked for half a minute."""
    with pytest.raises(ImageError, match=f"there is no image folder '{text}'"):
        parse(text)


def test_plain_http_is_asked_for() -> None:
    assert parse("reg.example/a", insecure=True).base == "http://reg.example"


def test_of_a_job() -> None:
    found = for_job("http://bench.example:6610/", "01a22ccd-8ce1-71f1-9782-207493650c02", DIGEST)
    assert str(found) == f"bench.example:6610/01a22ccd-8ce1-71f1-9782-207493650c02@{DIGEST}"
    assert found.digest == DIGEST


@pytest.mark.parametrize(("registry", "digest"), [("ftp://x/", DIGEST), ("bench.example", DIGEST), ("http://x", "latest")])
def test_a_job_that_names_no_image(registry: str, digest: str) -> None:
    with pytest.raises(ImageError):
        for_job(registry, "p", digest)
