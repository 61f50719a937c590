"""``HOST:PORT`` on a command line."""

from __future__ import annotations

from django.core.management.base import CommandError

DEFAULT = "127.0.0.1:6610"


def parse_address(text: str) -> tuple[str, int]:
    """``host:port``, ``[v6]:port`` or ``:port`` (all addresses); port 0 takes a free one."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise CommandError(f"--bind: expected HOST:PORT, got {text!r}")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104
