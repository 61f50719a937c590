"""Names of projects that nobody named (rest.md 2.3). Pure."""

from __future__ import annotations

import itertools
from collections.abc import Container

LIMIT = 64
DOTS = "..."


def cut(text: str, limit: int) -> str:
    """At most ``limit`` bytes of UTF-8, no character split, no white space at the ends."""
    return text.encode("utf-8", "ignore")[:limit].decode("utf-8", "ignore").strip()


def project_name(repository: str | None) -> str:
    """The name of the repository as the name of a project: at most 64 bytes; ``Project`` when there is none."""
    return cut((repository or "").replace("\x00", "").strip(), LIMIT) or "Project"


def unused_name(name: str, taken: Container[str]) -> str:
    """``name``, else ``name (1)``, ``name (2)``…: the first one that is not taken; long names make room with dots."""
    if name not in taken:
        return name
    for number in itertools.count(1):
        end = f" ({number})"
        numbered = name + end
        if len(numbered.encode()) > LIMIT:
            numbered = cut(name, LIMIT - len(DOTS + end)) + DOTS + end
        if numbered not in taken:
            return numbered
    raise AssertionError("unreachable")
