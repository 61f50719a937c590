"""Files that a job asked for, taken out of the benchmark's root once everything in it is dead."""

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runners.agent.capture import marker
from runners.agent.rooted import Rooted

MAX_PATH_BYTES = 4096
Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class File:
    """A collected file: its text as far as it was kept, and its size in bytes as it was."""

    path: str
    text: str
    size: int
    dropped: int = 0


def collect(root: Rooted, workdir: str, paths: Sequence[str], *, max_count: int, max_bytes: int, warn: Warn) -> list[File]:
    """The files that exist, in the order asked for. A relative path starts at the working directory; links stay inside the root.

    At most `max_count` files and `max_bytes` bytes altogether; a file that does not fit is cut, with a marker. Invalid UTF-8 becomes U+FFFD.
    """
    found: list[File] = []
    left = max_bytes
    for path in paths:
        if len(found) >= max_count:
            warn(f"only the first {max_count} files are collected (--max-file-count)")
            break
        if "\0" in path or len(path.encode()) > MAX_PATH_BYTES:
            warn(f"{path[:64]!r} is not a possible path")
            continue
        try:
            file, kept = _read(root, path if path.startswith("/") else f"{workdir}/{path}", path, left)
        except OSError as error:
            warn(f"{path!r} is not collected: {error.strerror}")
            continue
        left -= kept
        found.append(file)
    return found


def _read(root: Rooted, inside: str, path: str, limit: int) -> tuple[File, int]:
    descriptor = root.open(inside)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "not a regular file")
        content = file.read(limit)
    text = content.decode("utf-8", "replace")
    if status.st_size > len(content):
        text += marker(status.st_size - len(content))
    return File(path, text, status.st_size, max(0, status.st_size - len(content))), len(content)
