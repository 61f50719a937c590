"""Finds the program of a command inside an image, as `execvp` would, so that its absence is told as 127 or 126 and not as a riddle."""

import os
import stat
from collections.abc import Mapping

from runners.agent.command import DEFAULT_PATH
from runners.agent.rooted import Rooted

NOT_EXECUTABLE, NOT_FOUND = 126, 127
_MADE_BY_SANDBOX = ("/proc/", "/dev/")


class NoProgram(Exception):
    """`exit_code` is what a shell would say: 127 not found, 126 not executable."""

    def __init__(self, exit_code: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def find(root: Rooted, program: str, env: Mapping[str, str], workdir: str) -> str:
    """The program's path inside the root. Raises NoProgram."""
    if "/" in program:
        candidates = [program if program.startswith("/") else f"{workdir}/{program}"]
    else:
        candidates = [f"{folder or workdir}/{program}" for folder in env.get("PATH", DEFAULT_PATH).split(":")]
    refused = False
    for path in candidates:
        if path.startswith(_MADE_BY_SANDBOX):
            return path
        try:
            mode = root.stat(path).st_mode
        except OSError:
            continue
        if stat.S_ISREG(mode) and mode & 0o111:
            return path
        refused = True
    if refused:
        raise NoProgram(NOT_EXECUTABLE, f"{program}: not executable")
    raise NoProgram(NOT_FOUND, f"{program}: not found in the image")


def host_path(root: Rooted, path: str) -> str:
    """Where a path inside the root really is on this machine, links resolved inside the root."""
    return _name(root.open(path, os.O_PATH))


def host_program(root: Rooted, path: str) -> str:
    """The same for a program, under its own name if it can have it: many programs look at the name that they are called by."""
    real = host_path(root, path)
    with root.parent(path) as (directory, name):
        called = f"{_name(os.dup(directory))}/{name}"
    return called if os.path.realpath(called) == real else real


def _name(descriptor: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
