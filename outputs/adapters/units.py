"""Numbers and units as the text adapters read them (spec 6.2)."""

from __future__ import annotations

from typing import Final

NANOSECONDS: Final = {"ps": 1e-3, "ns": 1.0, "us": 1e3, "\u00b5s": 1e3, "\u03bcs": 1e3, "ms": 1e6, "s": 1e9}
"""Time unit -> nanoseconds. Both the micro sign and the Greek letter are in use."""

SECONDS: Final = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "\u00b5s": 1e-6, "\u03bcs": 1e-6, "ms": 1e-3, "s": 1.0}
"""Time unit -> seconds."""

UNIT: Final = "(?:[pnumµμ]s|s)"
"""Regular expression of a time unit."""

NUMBER: Final = r"[0-9][0-9,]*+(?:\.[0-9,]*+)?+"
"""Regular expression of a number: digits, commas (ignored) and at most one point; no sign, no exponent. Never backtracks."""


def number(text: str) -> float:
    """The value of a text that matches NUMBER."""
    return float(text.replace(",", ""))


def nanoseconds(text: str, unit: str) -> float:
    """A duration in nanoseconds; ``unit`` is a key of NANOSECONDS."""
    return number(text) * NANOSECONDS[unit]
