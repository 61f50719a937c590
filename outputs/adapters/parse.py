"""From result texts to metrics (spec 6.4): the one door of this package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from . import fold as folding
from . import guess
from .results import AdapterError, Parsed, Refused, printable
from .source import Source
from .tools import TOOLS, apply

GROUPS: Final = frozenset({"rust", "cpp", "go", "java", "c_sharp", "js", "python", "ruby", "shell", "dart"})
"""Languages; stored, and read, as ``magic``."""

ALIASES: Final = {"rust_iai_callgrind": "rust_gungraun"}

ADAPTERS: Final = ("magic", *sorted({*TOOLS, *GROUPS, "rust_gungraun"}))
"""All names of spec 6.1."""

EXCERPT: Final = 200
"""Characters of a text that an error quotes."""

COMPOSED: Final[dict[str, Callable[[Source, str | None], Parsed]]] = {"magic": guess.magic, "rust_gungraun": guess.gungraun}


def normalize(adapter: str) -> str:
    """The name under which ``adapter`` is stored. Raises ValueError for one that does not exist."""
    name = ALIASES.get(adapter, adapter)
    if name in GROUPS:
        return "magic"
    if name not in TOOLS and name not in COMPOSED:
        raise ValueError(f"unknown adapter: {adapter}")
    return name


def parse_results(
    texts: list[str], *, adapter: str = "magic", average: str | None = None, fold: str | None = None
) -> list[tuple[int, Parsed]]:
    """Read every text on its own.

    ``average``: None, ``mean`` or ``median``. ``fold``: None, ``min``, ``max``, ``mean`` or ``median``. Returns ``(iteration, results)``,
    one a text and counted from 0; with ``fold`` one for all of them. Raises AdapterError for the first text that gives no results, and
    ValueError for settings that do not exist.
    """
    name = normalize(adapter)
    if average not in (None, "mean", "median"):
        raise ValueError(f"unknown average: {average}")
    if fold is not None and fold not in folding.FOLDS:
        raise ValueError(f"unknown fold: {fold}")
    parsed = []
    for index, text in enumerate(texts):
        source = Source(text)
        try:
            parsed.append(COMPOSED[name](source, average) if name in COMPOSED else apply(name, source, average))
        except Refused as refused:
            place = f"result {index + 1} of {len(texts)}"
            settings = f"adapter {adapter}, average {average or 'unset'}, fold {fold or 'unset'}"
            raise AdapterError(
                f"Cannot read {place} ({settings}): {refused.reason}. {excerpt(source.raw, refused.at)}", refused.verdict
            ) from None
    return list(enumerate(parsed)) if fold is None else [(0, folding.fold(parsed, fold))]


def excerpt(text: str, at: int = 0) -> str:
    """A sentence that quotes ``text`` from ``at`` on, on one line and printable."""
    if not text.strip():
        return "The text is blank."
    words = " ".join(text[at : at + 8 * EXCERPT].split())
    return f"The text {'goes on' if at else 'begins'}: {printable(words[:EXCERPT])[:EXCERPT]}"
