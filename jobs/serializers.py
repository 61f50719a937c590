"""What REST takes and shows of jobs: exact shapes (rest.md sections 2.1 and 3)."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from bencher.core.api import Page, ts, ts_or_none
from bencher.core.newtypes import Moment
from bencher.specs.serializers import JsonSpec, spec_json
from jobs import selectors
from jobs.models import Job, JobEvent
from jobs.output import JobOutput
from jobs.run.request import JobPriority

JobStatus = Literal["pending", "claimed", "running", "completed", "processed", "failed", "canceled"]


# -- taken ---------------------------------------------------------------------------------------------------------
class JobsQuery(Page, kw_only=True):
    status: JobStatus | None = None
    sort: Literal["created"] = "created"


class EventsQuery(Page, kw_only=True):
    """Oldest first unless told otherwise."""


class JsonUpdateJob(msgspec.Struct):
    """Users change one thing of a job: they cancel it."""

    status: Literal["canceled"]


class JsonResubmitJob(msgspec.Struct):
    priority: JobPriority | None = None
    """For server administrators."""


# -- shown ---------------------------------------------------------------------------------------------------------
class JsonIterationOutput(msgspec.Struct):
    """One run of the benchmark; ``output`` maps the path of a collected file to its text."""

    exit_code: int
    stdout: str | UnsetType = UNSET
    stderr: str | UnsetType = UNSET
    output: dict[str, str] | UnsetType = UNSET


class JsonJobOutput(msgspec.Struct):
    """What the job delivered; ``error`` is what the runner said went wrong."""

    results: list[JsonIterationOutput]
    error: str | UnsetType = UNSET


class JsonJob(msgspec.Struct):
    uuid: UUID
    status: JobStatus
    spec: JsonSpec
    runner: UUID | None
    claimed: Moment | None
    started: Moment | None
    completed: Moment | None
    created: Moment
    modified: Moment
    priority: int
    """An extension: higher ones are claimed first."""
    output: JsonJobOutput | UnsetType = UNSET


class JsonActor(msgspec.Struct):
    kind: Literal["runner", "user", "system"]
    uuid: UUID | UnsetType = UNSET
    name: str | UnsetType = UNSET


class JsonJobEvent(msgspec.Struct):
    """One entry of a job's history: an extension."""

    action: str
    from_: str | None = msgspec.field(name="from")
    to: str
    actor: JsonActor
    created: Moment
    reason: str | UnsetType = UNSET


def output_json(output: JobOutput) -> JsonJobOutput:
    """The stored output as REST shows it."""
    results = [JsonIterationOutput(one.exit_code, *map(_or_unset, (one.stdout, one.stderr, one.output))) for one in output.results]
    return JsonJobOutput(results, _or_unset(output.error))


class Shown:
    """Outputs as JSON, the last ones that were shown. An output never changes under its name, so that none of this can be out of date."""

    def __init__(self, most: int) -> None:
        """``most``: bytes of all that is kept."""
        self._most, self._size = most, 0
        self._kept: OrderedDict[tuple[UUID, str], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def json(self, job: UUID, name: str, read: Callable[[], JobOutput | None]) -> msgspec.Raw | None:
        """None: nothing can be read, which may change."""
        key = job, name
        with self._lock:
            if (known := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return msgspec.Raw(known)
        output = read()
        if output is None:
            return None
        made = msgspec.json.encode(output_json(output))
        with self._lock:
            if key not in self._kept and len(made) <= self._most:
                self._kept[key] = made
                self._size += len(made)
            while self._size > self._most:
                self._size -= len(self._kept.popitem(last=False)[1])
        return msgspec.Raw(made)


_shown = Shown(16 << 20)


def shown_output(job: Job) -> msgspec.Raw | None:
    """What an ended job delivered, as JSON. Whoever waits for a job asks many times a second: it is decoded and encoded once."""
    if not job.output or job.status not in selectors.ENDED:
        return None
    return _shown.json(job.pk, job.output, lambda: selectors.output_of(job))


def _or_unset(value: Any) -> Any:
    return UNSET if value is None else value


def job_json(row: Job, output: msgspec.Raw | None = None) -> JsonJob:
    """``row.spec`` is loaded. ``output``: of ``shown_output``."""
    status: Any = row.status
    shown: Any = UNSET if output is None else output
    return JsonJob(
        row.id,
        status,
        spec_json(row.spec),
        row.runner_id,
        ts_or_none(row.claimed),
        ts_or_none(row.started),
        ts_or_none(row.completed),
        ts(row.created),
        ts(row.modified),
        row.priority,
        shown,
    )


def event_json(row: JobEvent) -> JsonJobEvent:
    kind: Any = row.actor_kind
    actor = JsonActor(kind, row.actor_id or UNSET, row.actor_name or UNSET)
    return JsonJobEvent(row.action, row.source, row.target, actor, ts(row.created), row.reason or UNSET)
