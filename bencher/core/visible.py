"""Text of strangers made harmless to look at: what would be invisible or move the cursor is shown as a sign. Escaping for HTML comes after."""

from __future__ import annotations

import re

COLORS = re.compile(r"\x1b\[[\d;:]*m")
"""They only paint: left out."""
LINES = re.compile(r"\r\n?")
_SIGNS = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"}
_SIGNS |= {0x7F: 0x2421}
_SIGNS |= dict.fromkeys((*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xD800, 0xE000)), 0xFFFD)
"""Control characters become their pictures; C1 controls, lone surrogates and what turns the direction of writing become U+FFFD."""


def visible(text: str) -> str:
    """``text`` on lines that end with ``\\n``, without colours, every other control character visible."""
    return LINES.sub("\n", COLORS.sub("", text)).translate(_SIGNS)
