"""Several web processes, one port each: children of one parent that starts them again when they die.

They do not share a port: with one listening socket for two processes (inherited, or SO_REUSEPORT) the kernel dealt 60 connections out 4 to 56.
A proxy that counts connections spreads long-lived channels evenly.
"""

from __future__ import annotations

import logging
import signal
import subprocess
import time
from collections.abc import Sequence

logger = logging.getLogger(__name__)
PAUSE = 1.0
"""Seconds before a child that died is started again."""
STOP_WITHIN = 9.0


class Workers:
    """``commands``: one command line per child. ``run`` returns the exit code after SIGTERM or SIGINT."""

    def __init__(self, commands: Sequence[Sequence[str]]) -> None:
        self._commands = commands
        self._children: list[subprocess.Popen[bytes]] = []
        self._stopping = False

    def run(self) -> int:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        self._children = [subprocess.Popen(command) for command in self._commands]
        while not self._stopping:
            time.sleep(0.2)
            for place, child in enumerate(self._children):
                if child.poll() is not None and not self._stopping:
                    logger.error("web process %d ended with %d, starting another", child.pid, child.returncode)
                    time.sleep(PAUSE)
                    self._children[place] = subprocess.Popen(self._commands[place])
        return self._await()

    def _stop(self, *_: object) -> None:
        self._stopping = True

    def _await(self) -> int:
        for child in self._children:
            child.terminate()
        deadline = time.monotonic() + STOP_WITHIN
        for child in self._children:
            try:
                child.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                logger.error("web process %d did not stop within %.0f s: killed", child.pid, STOP_WITHIN)
                child.kill()
                child.wait()
        return max((abs(child.returncode) for child in self._children), default=0)
