"""What the commands that run a server share: ``HOST:PORT``, the line that says where it listens, the end."""

from __future__ import annotations

import logging
import os
import resource
import signal
import sys
from typing import NoReturn

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError

from bencher.serving.pace import settle

DEFAULT = "127.0.0.1:6610"
OPEN_FILES = 1 << 18
"""Enough for every channel that one process can serve; some libraries walk through all numbers below the limit."""


def parse_address(text: str) -> tuple[str, int]:
    """``host:port``, ``[v6]:port`` or ``:port`` (all addresses); port 0 takes a free one."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise CommandError(f"--bind: expected HOST:PORT, got {text!r}")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104


def check_settings() -> None:
    """Refuse what a server would stumble over later."""
    from bencher.checks import rate_limits
    from outputs.registry.storage.place import get_storage

    for fault in rate_limits(None):
        raise CommandError(str(fault.msg))
    try:
        get_storage()
    except (ImproperlyConfigured, ValueError) as fault:
        raise CommandError(str(fault)) from None


def announce(url: str) -> None:
    """All is imported, and it listens: the line that scripts wait for."""
    settle()
    sys.stdout.write(f"listening on {url}\n")
    sys.stdout.flush()


def raise_file_limit() -> None:
    """As many open files as this user may have: the soft limit of a shell, 1024, ends at a thousand channels."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def leave() -> NoReturn:
    """The end of a server's process, after all has been stopped: exit code 0, at once.

    Python's own end would wait for the threads of every pool and take everything apart while daemon threads still run: seconds on a busy
    machine, and sometimes a crash.
    """
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def ignore_signals() -> None:
    """From here to the end of the process: a second signal must not break the stop."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
