"""The image's `USER`: names are looked up in the image, never on the host."""

from dataclasses import dataclass

from runners.agent.errors import InvalidJob
from runners.agent.rooted import Rooted

_MAX_ID = 2**31 - 2
_MAX_FILE = 1 << 20


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the benchmark is inside the sandbox."""

    uid: int = 0
    gid: int = 0
    home: str = "/"


def resolve(text: str, root: Rooted) -> Identity:
    """`user`, `uid`, `user:group` or `uid:gid`. InvalidJob for a name that the image does not know."""
    user, colon, group = text.partition(":")
    entry = _lookup(_table(root, "etc/passwd"), user or "0")
    if entry is not None and len(entry) > 5:
        uid, gid, home = _number(entry[2], text), _number(entry[3], text), entry[5] or "/"
    elif (user or "0").isdecimal():
        uid, gid, home = _number(user or "0", text), 0, "/root" if (user or "0") == "0" else "/"
    else:
        raise InvalidJob(f"the image has no user {user!r} (USER {text!r})")
    if colon and group:
        row = _lookup(_table(root, "etc/group"), group)
        if row is None and not group.isdecimal():
            raise InvalidJob(f"the image has no group {group!r} (USER {text!r})")
        gid = _number(row[2] if row is not None and len(row) > 2 else group, text)
    return Identity(uid, gid, home)


def _table(root: Rooted, path: str) -> list[list[str]]:
    try:
        text = root.read(path, _MAX_FILE).decode("utf-8", "replace")
    except OSError:
        return []
    return [line.split(":") for line in text.splitlines()]


def _lookup(rows: list[list[str]], wanted: str) -> list[str] | None:
    """A row by its name, else by its number."""
    by_name = (row for row in rows if row[0] == wanted)
    by_number = (row for row in rows if len(row) > 2 and row[2] == wanted)
    return next(by_name, None) or next(by_number, None)


def _number(text: str, user: str) -> int:
    if text.isdecimal() and text.isascii() and int(text) <= _MAX_ID:
        return int(text)
    raise InvalidJob(f"USER {user!r} is out of range")
