"""The only writer of a job's status: one conditional UPDATE and one entry of its history (design.md section 4)."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from bencher.core.compiled import create
from bencher.core.transitions import Transition, compare_and_swap
from jobs import scheduling
from jobs.actors import Actor
from jobs.lifecycle import RULES, Action, Failure, Status
from jobs.models import Job, JobEvent

REASON_LENGTH = 255


def _start(job: Job, now: datetime) -> dict[str, Any]:
    return {"started": now, "due": scheduling.due(now, job.timeout), "liveness": now}


def _end(failure: Failure = Failure.NONE) -> Any:
    return lambda job, now: {"completed": now, "failure": failure, "channel": ""}


STAMPS: dict[Action, Any] = {
    Action.CLAIM: lambda job, now: {"claimed": now, "liveness": now},
    Action.RELEASE: lambda job, now: {"runner": None, "claimed": None, "liveness": None, "channel": ""},
    Action.START: _start,
    Action.COMPLETE: lambda job, now: {**_end()(job, now), "processing_until": None},
    Action.FAIL: _end(),
    Action.LOSE: _end(Failure.HEARTBEAT_TIMEOUT),
    Action.CANCEL: _end(),
    Action.STOP: _end(),
    Action.OVERRUN: _end(Failure.JOB_TIMEOUT_EXCEEDED),
    Action.PROCESS: lambda job, now: {"failure": Failure.NONE, "processing_until": None},
    Action.REJECT: lambda job, now: {"failure": Failure.UNPARSABLE, "processing_until": None},
    Action.RESUME: lambda job, now: {
        "completed": None,
        "failure": Failure.NONE,
        "liveness": now,
        **({} if job.started else _start(job, now)),
    },
}
"""Columns that a transition writes besides the status."""


def transit(
    job: Job,
    action: Action,
    *,
    now: datetime,
    actor: Actor,
    guards: dict[str, Any] | None = None,
    changes: dict[str, Any] | None = None,
    reason: str = "",
) -> bool:
    """Carry ``action`` out on the row, if it still is what ``job`` shows; write it down; bring ``job`` up to date.

    Call inside a transaction. False: the status has changed meanwhile, or a guard does not hold; nothing is written. Read the row again and decide anew.
    """
    rule = RULES[action]
    source = Status(job.status)
    if source not in rule.sources:
        return False
    columns = {**STAMPS[action](job, now), **(changes or {})}
    step = Transition(action.value, frozenset({source.value}), rule.target.value)
    if not compare_and_swap(Job, job.pk, step, now=now, guards=guards, changes=columns):
        return False
    record(job.pk, action.value, source.value, rule.target.value, now=now, actor=actor, reason=reason)
    job.status, job.modified = rule.target.value, now
    for name, value in columns.items():
        setattr(job, "runner_id" if name == "runner" and value is None else name, value)
    return True


def record(job_id: UUID, action: str, source: str | None, target: str, *, now: datetime, actor: Actor, reason: str = "") -> None:
    """One entry of the history; also for what changes no status (submitted, delivered again)."""
    create(
        JobEvent,
        job_id=job_id,
        action=action,
        source=source,
        target=target,
        actor_kind=actor.kind,
        actor_id=actor.id,
        actor_name=actor.name,
        reason=_storable(reason[:REASON_LENGTH]),
        created=now,
    )


def _storable(text: str) -> str:
    """Whatever a runner or an adapter said: PostgreSQL takes neither a NUL nor half a character."""
    return text.replace("\x00", "\N{SYMBOL FOR NULL}").encode("utf-8", "replace").decode()


def hold(job: Job, *, channel: str, now: datetime) -> bool:
    """Let ``channel`` execute the job from now on, as long as it is in flight and its runner's. No transition: the status stays."""
    held = Job.objects.filter(pk=job.pk, status=job.status, runner=job.runner_id).update(channel=channel, liveness=now)
    if held:
        job.channel, job.liveness = channel, now
    return bool(held)


def keep_output(job: Job, *, output: str, now: datetime) -> bool:
    """Name the stored output of a job that has ended without one. No transition: the status stays, its failure is the runner's own from now on."""
    kept = Job.objects.filter(pk=job.pk, status=job.status, output="").update(
        output=output, modified=now, **({"failure": ""} if job.status == Status.FAILED else {})
    )
    if kept:
        job.output = output
    return bool(kept)
