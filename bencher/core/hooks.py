"""Typed hooks: what a lower app must cause in a higher one. Each is filled once, in the higher app's ``AppConfig.ready``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

F = TypeVar("F", bound=Callable[..., Any])


class Hook(Generic[F]):
    """One named place for one function."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._function: F | None = None

    def fill(self, function: F) -> F:
        if self._function is not None and self._function is not function:
            raise RuntimeError(f"hook {self.name} is filled already")
        self._function = function
        return function

    def __call__(self, **values: Any) -> Any:
        if self._function is None:
            raise RuntimeError(f"hook {self.name} is not filled: is the app installed?")
        return self._function(**values)


class PriorityChanged(Hook[Callable[..., None]]):
    """An organization's priority changed (claimed, or set by an administrator): its pending jobs follow.

    Called inside the transaction with ``organization_id: UUID, priority: int, now: datetime``.
    """

    def __call__(self, *, organization_id: UUID, priority: int, now: datetime) -> None:
        super().__call__(organization_id=organization_id, priority=priority, now=now)


class ProjectUsage(Hook[Callable[..., int]]):
    """A number about an organization that only a higher app knows: ``organization_id, since, until`` -> count."""

    def __call__(self, *, organization_id: UUID, since: datetime, until: datetime) -> int:
        return int(super().__call__(organization_id=organization_id, since=since, until=until))


class SpecInUse(Hook[Callable[..., bool]]):
    """Does anything of a higher app keep the hardware spec from being deleted? ``spec_id`` -> bool."""

    def __call__(self, *, spec_id: UUID) -> bool:
        return bool(super().__call__(spec_id=spec_id))


class SpecArchived(Hook[Callable[..., None]]):
    """A spec was archived: testbeds that stored it let go of it. Inside the transaction, ``spec_id, now``."""

    def __call__(self, *, spec_id: UUID, now: datetime) -> None:
        super().__call__(spec_id=spec_id, now=now)


class ProjectErased(Hook[Callable[..., None]]):
    """A project is deleted for good: what a higher app keeps of it goes first. Inside the transaction, ``project_id``."""

    def __call__(self, *, project_id: UUID) -> None:
        super().__call__(project_id=project_id)


priority_changed = PriorityChanged("priority_changed")
runner_minutes = ProjectUsage("runner_minutes")
metrics_count = ProjectUsage("metrics_count")
active_series = ProjectUsage("active_series")
spec_has_jobs = SpecInUse("spec_has_jobs")
spec_has_runners = SpecInUse("spec_has_runners")
spec_archived = SpecArchived("spec_archived")
erase_jobs = ProjectErased("erase_jobs")
erase_results = ProjectErased("erase_results")
