"""How pages write numbers, moments and the texts of strangers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django import template
from django.utils.html import format_html

from bencher.core.figures import figure
from bencher.core.visible import visible

register = template.Library()


@register.filter
def number(value: Any) -> str:
    """A measured value; a dash for none (an attribute of nothing is an empty text in a template)."""
    return "–" if value is None or value == "" else figure(float(value))


@register.filter
def moment(value: datetime | str | None) -> str:
    """A moment (or its RFC 3339 text) in UTC, to the second, as a machine-readable ``time`` element; a dash for none."""
    if not value:
        return "–"
    when = (datetime.fromisoformat(value) if isinstance(value, str) else value).astimezone(UTC)
    return format_html('<time datetime="{}">{}</time>', f"{when:%Y-%m-%dT%H:%M:%SZ}", f"{when:%Y-%m-%d %H:%M:%S}")


@register.filter
def said(value: Any) -> str:
    """A name or sentence of a stranger: one line, nothing in it that is invisible or turns the direction of writing."""
    return " ".join(visible(str(value)).split("\n"))


@register.filter
def seconds(value: Any) -> str:
    """A span in seconds, in the two largest units."""
    left, parts = int(value), []
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        if left >= size:
            parts.append(f"{left // size:,} {unit}")
            left %= size
    return " ".join(parts[:2]) or "0 s"
