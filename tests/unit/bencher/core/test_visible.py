"""bencher/core/visible.py: nothing that a stranger prints hides or moves anything."""

from __future__ import annotations

import pytest

from bencher.core.visible import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\ttext äß日本", "plain\n\ttext äß日本"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b[38:5:9mred\x1b[m", "red"),
        ("\x1b[2Jwiped\x1b]0;title\x07", "␛[2Jwiped␛]0;title␇"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("nul\x00del\x7f", "nul␀del␡"),
        ("\x9b31m", "\N{REPLACEMENT CHARACTER}31m"),
        ("\u202eevil\u2066", "\N{REPLACEMENT CHARACTER}evil\N{REPLACEMENT CHARACTER}"),
        ("\ud800", "\N{REPLACEMENT CHARACTER}"),
        ("", ""),
    ],
)
def test_visible(text: str, shown: str) -> None:
    assert visible(text) == shown
