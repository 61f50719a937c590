"""Names of projects that nobody named (rest.md 2.3)."""

from __future__ import annotations

import pytest

from bencher.projects.naming import cut, project_name, unused_name


@pytest.mark.parametrize(
    ("repository", "name"),
    [
        (None, "Project"),
        ("", "Project"),
        ("  ", "Project"),
        ("code", "code"),
        (" code ", "code"),
        ("x" * 80, "x" * 64),
        ("é" * 40, "é" * 32),
        ("a\x00b", "ab"),
    ],
)
def test_project_name(repository: str | None, name: str) -> None:
    assert project_name(repository) == name


def test_cut_splits_no_character() -> None:
    assert cut("日本語", 8) == "日本"
    assert cut("ab   cd", 4) == "ab"


@pytest.mark.parametrize("name", ["Same", "x" * 64, "é" * 32, "日本語" * 7, "x" * 61])
def test_numbers(name: str) -> None:
    taken: set[str] = set()
    for number in range(12):
        made = unused_name(name, taken)
        assert len(made.encode()) <= 64
        assert made not in taken
        assert made == name if number == 0 else made.endswith(f" ({number})")
        taken.add(made)


def test_long_names_make_room() -> None:
    assert unused_name("x" * 64, {"x" * 64}) == "x" * 57 + "... (1)"
    assert unused_name("Same", {"Same", "Same (1)"}) == "Same (2)"
