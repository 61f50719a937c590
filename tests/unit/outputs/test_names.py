"""Names of a project's things: git references, NameIds, the ignore suffix."""

from __future__ import annotations

import pytest

from outputs import names
from outputs.names import BenchmarkName, BranchName, Mention, ResourceName, benchmark_name, mention

UUID_TEXT = "01a22d43-bf95-7c25-a99d-8ed8fb5b6f65"


@pytest.mark.parametrize("name", ["main", "feature/x", "v1.2.3", "b" * 256, "é" * 128, "a@b", "#12", "a-b_c", "a.lockx", "x{y}"])
def test_git_takes_it(name: str) -> None:
    assert BranchName.check(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a b",
        "a..b",
        "a~1",
        "a^",
        "a:b",
        "a?",
        "a*",
        "a[b",
        "a\\b",
        "/a",
        "a/",
        "a//b",
        "a.lock",
        "x.lock/y",
        ".a",
        "a/.b",
        "a@{b",
        "@",
        "a.",
        "\x7f",
        "a\tb",
        "a\x00",
        "b" * 257,
        "é" * 129,
    ],
)
def test_git_refuses_it(name: str) -> None:
    with pytest.raises(ValueError, match=r"reference|bytes"):
        BranchName.check(name)


def test_uuid_comes_first() -> None:
    said = mention(UUID_TEXT.upper(), BranchName)
    assert said.uuid is not None
    assert str(said.uuid) == UUID_TEXT
    assert said.slug is None


def test_slug_is_also_a_name() -> None:
    assert mention("my-bench", ResourceName) == Mention(None, "my-bench", "my-bench")


def test_name_is_no_slug() -> None:
    assert mention("My Bench", ResourceName) == Mention(None, None, "My Bench")


@pytest.mark.parametrize(
    ("text", "rule"), [("", ResourceName), (" x", ResourceName), ("x" * 65, ResourceName), ("x" * 1025, BenchmarkName)]
)
def test_not_a_name(text: str, rule: type[names.Checked]) -> None:
    with pytest.raises(ValueError, match=r"bytes|white space"):
        mention(text, rule)


@pytest.mark.parametrize("suffix", names.IGNORE_SUFFIXES)
def test_ignore_suffix(suffix: str) -> None:
    assert benchmark_name(f"work{suffix}") == ("work", True)
    assert benchmark_name(f"work{suffix}s") == (f"work{suffix}s", False)


@pytest.mark.parametrize("suffix", names.IGNORE_SUFFIXES)
def test_nothing_but_the_suffix_is_a_name(suffix: str) -> None:
    assert benchmark_name(suffix) == (suffix, False)
