"""Typed hooks: what a lower app must cause in a higher one. Each is filled once, in the higher app's ``AppConfig.ready``."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Generic, ParamSpec, TypeVar
from uuid import UUID

P = ParamSpec("P")
R = TypeVar("R")


class Hook(Generic[P, R]):
    """A place for one function. Made by decorating a function that only says what the one that fills it takes and does."""

    def __init__(self, declaration: Callable[P, R]) -> None:
        self.name = declaration.__name__
        self.__doc__ = declaration.__doc__
        self._function: Callable[P, R] | None = None

    def fill(self, function: Callable[P, R]) -> Callable[P, R]:
        if self._function is not None and self._function is not function:
            raise RuntimeError(f"hook {self.name} is filled already")
        self._function = function
        return function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self._function is None:
            raise RuntimeError(f"hook {self.name} is not filled: is the app installed?")
        return self._function(*args, **kwargs)


@Hook
def priority_changed(*, organization_id: UUID, priority: int, now: datetime) -> None:
    """An organization's priority changed (claimed, or set by an administrator): its pending jobs follow. Inside the transaction."""


@Hook
def runner_minutes(*, organization_id: UUID, since: datetime, until: datetime) -> int:
    """The begun minutes of the organization's processed jobs."""
    raise NotImplementedError


@Hook
def metrics_count(*, organization_id: UUID, since: datetime, until: datetime) -> int:
    """How many metrics the organization stored."""
    raise NotImplementedError


@Hook
def active_series(*, organization_id: UUID, since: datetime, until: datetime) -> int:
    """How many series of the organization got a metric."""
    raise NotImplementedError


@Hook
def spec_has_jobs(*, spec_id: UUID) -> bool:
    """Does a job refer to the hardware spec?"""
    raise NotImplementedError


@Hook
def spec_has_runners(*, spec_id: UUID) -> bool:
    """Does a runner serve the hardware spec?"""
    raise NotImplementedError


@Hook
def busy_runners(*, runner_ids: Collection[UUID]) -> set[UUID]:
    """Those of these runners that hold a job in flight."""
    raise NotImplementedError


@Hook
def spec_archived(*, spec_id: UUID, now: datetime) -> None:
    """A spec was archived: testbeds that stored it let go of it. Inside the transaction."""


@Hook
def erase_jobs(*, project_id: UUID) -> None:
    """A project is deleted for good: its jobs go, before its results. Inside the transaction."""


@Hook
def erase_results(*, project_id: UUID) -> None:
    """A project is deleted for good: its results go. Inside the transaction."""
