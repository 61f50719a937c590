"""Reasons of close frames fit a control frame."""

from __future__ import annotations

import pytest

from bencher.serving.websocket import cut


@pytest.mark.parametrize(
    ("reason", "sent"),
    [
        ("", None),
        ("bye", b"bye"),
        ("x" * 123, b"x" * 123),
        ("x" * 124, b"x" * 123),
        ("ä" * 61, "ä".encode() * 61),
        ("ä" * 62, "ä".encode() * 61),
        ("x" + "😀" * 31, b"x" + "😀".encode() * 30),
    ],
)
def test_a_reason_is_cut_between_characters(reason: str, sent: bytes | None) -> None:
    assert cut(reason) == sent
