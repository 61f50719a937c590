"""Results that fit into one message: text is dropped in a fixed order, visibly (typed-results D8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from runners.protocol import messages
from runners.protocol.agent_signals import Terminal

HEADROOM_BYTES = 64 * 1024
"""Left free below the server's limit: a proxy or a frame's own bytes must not be the drop too many."""


def fit(message: Terminal, limit: int) -> Terminal:
    """`message`, or a shorter one whose encoding has at most `limit` bytes.

    First the heads of `stderr` go, then those of `stdout`, then the files, the largest text of a kind first; each cut says how many bytes
    are missing. What still does not fit becomes a `failed` without results that says so.
    """
    if isinstance(message, messages.Canceled) or (size := _size(message)) <= limit:
        return message
    texts = _Texts(message)
    for kind in ("stderr", "stdout", "output"):
        while size > limit and texts.cut(kind, size - limit):
            size = _size(texts.message())
        if size <= limit:
            return texts.message()
    error = f"TooLarge: the result has {_size(message)} bytes, the server takes {limit}"
    if isinstance(message, messages.Failed):
        error = f"{message.error[:512]} ({error})"
    return messages.Failed(job=message.job, results=[], error=error)


def marker(count: int) -> str:
    return f"…[truncated {count} bytes]…"


class _Texts:
    """The texts of a message's iterations, open for cutting."""

    def __init__(self, message: messages.Completed | messages.Failed) -> None:
        self._original = message
        self._iterations: list[dict[str, Any]] = [
            {"stdout": item.stdout, "stderr": item.stderr, "output": dict(item.output) if item.output else None} for item in message.results
        ]
        self._dropped: dict[tuple[int, str], int] = {}

    def _places(self, kind: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
        for number, iteration in enumerate(self._iterations):
            if kind == "output":
                for path in iteration["output"] or ():
                    yield number, path, iteration["output"]
            elif iteration[kind]:
                yield number, kind, iteration

    def cut(self, kind: str, surplus: int) -> bool:
        """Shortens the largest text of `kind` by about `surplus` encoded bytes. False when nothing is left to cut."""
        candidates = [(len(holder[key]), number, key, holder) for number, key, holder in self._places(kind) if len(holder[key]) > 1024]
        if not candidates:
            return False
        length, number, key, holder = max(candidates, key=lambda item: item[:2])
        text = holder[key]
        before = self._dropped.get((number, key), 0)
        if before:
            text = text.removeprefix(marker(before))
        # an escaped character costs up to six bytes: cutting by what it really costs keeps as much as possible
        cost = len(msgspec.json.encode(text)) / len(text)
        cut = min(len(text), int(surplus / cost) + 64)
        dropped = before + len(text[:cut].encode("utf-8", "surrogatepass"))
        self._dropped[number, key] = dropped
        holder[key] = f"{marker(dropped)}{text[cut:]}"
        return len(holder[key]) < length

    def message(self) -> messages.Completed | messages.Failed:
        results = [
            msgspec.structs.replace(original, **texts) for original, texts in zip(self._original.results, self._iterations, strict=True)
        ]
        return msgspec.structs.replace(self._original, results=results)


def _size(message: Terminal) -> int:
    return len(messages.encode(message).encode())
