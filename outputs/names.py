"""How the things of a project are named (rest.md 0.6, 5.2, 7.1). Pure.

Text that names a thing is a UUID, a slug or a name, in this order (a *NameId*).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from bencher.core.ids import as_uuid, is_slug
from bencher.core.newtypes import BenchmarkName, Checked, ResourceName

BRANCH_BYTES = 256
IGNORE_SUFFIXES = ("_bencher_ignore", "BencherIgnore", "-bencher-ignore")
_NOT_IN_A_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")


class _BranchName(Checked):
    """A partial git reference name (git-check-ref-format) of 1 to 256 bytes."""

    schema = {
        "type": "string",
        "pattern": r"^[^\u0000-\u0020\u007f~^:?*\[\\]+$",
        "maxLength": BRANCH_BYTES,
        "description": "a git reference name of 1 to 256 bytes",
    }

    @classmethod
    def check(cls, text: str) -> str:
        size = len(text.encode("utf-8", "surrogatepass"))
        if not 1 <= size <= BRANCH_BYTES:
            raise ValueError(f"expected 1 to {BRANCH_BYTES} bytes, got {size}")
        parts = text.split("/")
        if (
            _NOT_IN_A_REF.search(text)
            or text == "@"
            or text.endswith(".")
            or any(not part or part.startswith(".") or part.endswith(".lock") for part in parts)
        ):
            raise ValueError("expected a name that git takes as a reference")
        return text


if TYPE_CHECKING:
    BranchName = str
else:
    BranchName = _BranchName


class Mention(NamedTuple):
    """A NameId, read: exactly one way to look first. ``name`` is what a thing made of it would be called."""

    uuid: UUID | None
    slug: str | None
    name: str


def mention(text: str, rule: type[Checked]) -> Mention:
    """``text`` as a NameId whose names obey ``rule``; ValueError when it is none."""
    if (uuid := as_uuid(text)) is not None:
        return Mention(uuid, None, text)
    return Mention(None, text if is_slug(text) else None, rule.check(text))


class Named(NamedTuple):
    name: str
    ignored: bool


def benchmark_name(text: str) -> Named:
    """A benchmark's name without the suffix that asks for silence; a name that is nothing but the suffix is kept whole."""
    if text.endswith(IGNORE_SUFFIXES):
        for suffix in IGNORE_SUFFIXES:
            if text.endswith(suffix) and text != suffix:
                return Named(text.removesuffix(suffix), True)
    return Named(text, False)


__all__ = [
    "BRANCH_BYTES",
    "IGNORE_SUFFIXES",
    "BenchmarkName",
    "BranchName",
    "Mention",
    "Named",
    "ResourceName",
    "benchmark_name",
    "mention",
]
