"""Who does something to a job, for its history. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Actor:
    kind: Literal["runner", "user", "system"]
    id: UUID | None = None
    name: str = ""


SYSTEM = Actor("system")


def runner(runner_id: UUID) -> Actor:
    return Actor("runner", runner_id)


def user(user_id: UUID, name: str = "") -> Actor:
    return Actor("user", user_id, name[:64])
