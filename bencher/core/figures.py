"""Numbers for people: digits enough to tell measurements apart, never more than fit into a column. Pure."""

from __future__ import annotations

DIGITS = 7
"""Significant ones."""
LARGE = 1e15
"""From here on numbers are written with an exponent; below 0.0001 too."""


def figure(value: float) -> str:
    """``1234567.891`` as ``1,234,568``; ``0.00001`` as ``1e-05``; whole numbers below 10¹⁵ in full."""
    size = abs(value)
    if size != 0 and (size < 1 or size >= LARGE):
        return f"{value:.{DIGITS}g}"
    if value == int(value):
        return f"{int(value):,}"
    decimals = max(0, DIGITS - max(1, len(str(int(size)))))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
