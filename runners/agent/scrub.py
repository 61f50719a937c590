"""Keeps the key out of `ps` and /proc: what was given as an argument or by the environment is overwritten in this process's memory."""

import contextlib
import os
from pathlib import Path

# fields of /proc/self/stat (proc_pid_stat(5)), counted from 1
_ARG_START, _ARG_END, _ENV_START, _ENV_END = 48, 49, 50, 51


def scrub(secret: str) -> None:
    """Replaces every occurrence of `secret` in the argument and environment blocks of this process. Best effort."""
    for name in [name for name, value in os.environ.items() if secret in value]:
        del os.environ[name]
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        numbers = [int(fields[position - 3]) for position in (_ARG_START, _ARG_END, _ENV_START, _ENV_END)]
        memory = os.open("/proc/self/mem", os.O_RDWR | os.O_CLOEXEC)
        try:
            for start, end in (numbers[:2], numbers[2:]):
                _overwrite(memory, start, os.pread(memory, end - start, start), secret.encode())
        finally:
            os.close(memory)


def _overwrite(memory: int, start: int, block: bytes, secret: bytes) -> None:
    position = block.find(secret)
    while secret and position >= 0:
        os.pwrite(memory, b"*" * len(secret), start + position)
        position = block.find(secret, position + len(secret))
