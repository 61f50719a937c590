"""What a token is asked for: ``repository:NAME:ACTIONS`` (registry.md 1.3). Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

PULL, PUSH = "pull", "push"
_MEANING = {PULL: (PULL,), PUSH: (PUSH,), "*": (PULL, PUSH), "delete": (PULL, PUSH)}
"""Deleting clients ask for ``*`` or ``delete``: who may push may delete. Actions that are not listed grant nothing."""


class InvalidScope(ValueError):
    """The text is no scope."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Actions (in the order of asking) on one repository, by the name it was asked under; without a name: nothing but the front door."""

    repository: str | None = None
    actions: tuple[str, ...] = ()


def read_scopes(texts: Iterable[str]) -> Scope:
    """The first repository named, with the actions of all scopes that name it; other repositories are dropped. One bad scope spoils all:
    raises `InvalidScope`."""
    scopes = [_read(text) for text in texts]
    if not scopes:
        return Scope()
    name = scopes[0][0]
    actions = dict.fromkeys(action for repository, found in scopes if repository == name for action in found)
    return Scope(name, tuple(actions))


def _read(text: str) -> tuple[str, list[str]]:
    kind, _, rest = text.strip().partition(":")
    name, colon, actions = rest.partition(":")
    name = name.strip()
    if kind.strip() != "repository" or not colon or ":" in actions or not name:
        raise InvalidScope("a scope is repository:NAME:ACTIONS, where actions are pull and push, separated by commas")
    return name, [meaning for action in actions.split(",") for meaning in _MEANING.get(action.strip(), ())]
