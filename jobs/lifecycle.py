"""What may follow what in the life of a job (protocol.md section 4), as tables. Pure: no database, no clock."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    PENDING = "pending"
    CLAIMED = "claimed"
    RUNNING = "running"
    COMPLETED = "completed"
    PROCESSED = "processed"
    FAILED = "failed"
    CANCELED = "canceled"


IN_FLIGHT = frozenset({Status.CLAIMED, Status.RUNNING})
"""A runner has it."""

FINAL = frozenset({Status.PROCESSED, Status.CANCELED})
"""Nothing follows."""


class Action(StrEnum):
    CLAIM = "claim"
    RELEASE = "release"
    START = "start"
    COMPLETE = "complete"
    FAIL = "fail"
    LOSE = "lose"
    CANCEL = "cancel"
    STOP = "stop"
    OVERRUN = "overrun"
    PROCESS = "process"
    REJECT = "reject"
    RESUME = "resume"


class Failure(StrEnum):
    """Why a job ended when no runner said so; the job's column ``failure``."""

    NONE = ""
    HEARTBEAT_TIMEOUT = "heartbeat_timeout"
    JOB_TIMEOUT_EXCEEDED = "job_timeout_exceeded"
    BAD_CONFIG = "undecodable_config"
    UNPARSABLE = "unparsable"
    OUTPUT_LOST = "output_lost"


@dataclass(frozen=True, slots=True)
class Rule:
    """``action`` leads from any of ``sources`` to ``target``; ``when`` says what triggers it."""

    sources: frozenset[Status]
    target: Status
    when: str


def _rule(sources: str, target: Status, when: str) -> Rule:
    return Rule(frozenset(Status(source) for source in sources.split()), target, when)


RULES: dict[Action, Rule] = {
    Action.CLAIM: _rule(
        "pending", Status.CLAIMED, "a runner claims it: stamps `runner`, `claimed`, liveness and the channel that holds it"
    ),
    Action.RELEASE: _rule("claimed", Status.PENDING, "the `job` message could not be delivered: the stamps of the claim are cleared"),
    Action.START: _rule("claimed", Status.RUNNING, "`running`: stamps `started`"),
    Action.COMPLETE: _rule("running failed", Status.COMPLETED, "`completed`, also after a failure: stamps `completed`"),
    Action.FAIL: _rule("claimed running", Status.FAILED, "`failed`, or a config that cannot be decoded: stamps `completed`"),
    Action.LOSE: _rule("claimed running", Status.FAILED, "heartbeat timeout: stamps `completed`"),
    Action.CANCEL: _rule("pending claimed running", Status.CANCELED, "a user cancels: stamps `completed`"),
    Action.STOP: _rule("claimed running", Status.CANCELED, "`canceled`: stamps `completed`"),
    Action.OVERRUN: _rule(
        "claimed running", Status.CANCELED, "started, and over the hard limit of timeout and grace period: stamps `completed`"
    ),
    Action.PROCESS: _rule("completed", Status.PROCESSED, "its results are parsed and stored"),
    Action.REJECT: _rule("completed", Status.FAILED, "its results cannot be parsed, or its output is lost"),
    Action.RESUME: _rule("failed", Status.RUNNING, "its runner is back after a heartbeat timeout: clears `completed`"),
}


class Keep(StrEnum):
    """Is the output of a terminal message stored?"""

    ALWAYS = "always"
    IF_NONE = "if none is stored"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a terminal message does to a job: its transitions, all in one transaction, and what becomes of its output. The answer is always ``ack``."""

    actions: tuple[Action, ...] = ()
    keep: Keep = Keep.NEVER


_NOTHING = Delivery()

DELIVERIES: dict[tuple[str, Status], Delivery] = {
    ("completed", Status.PENDING): _NOTHING,
    ("completed", Status.CLAIMED): Delivery((Action.START, Action.COMPLETE), Keep.ALWAYS),
    ("completed", Status.RUNNING): Delivery((Action.COMPLETE,), Keep.ALWAYS),
    ("completed", Status.COMPLETED): _NOTHING,
    ("completed", Status.PROCESSED): _NOTHING,
    ("completed", Status.FAILED): Delivery((Action.COMPLETE,), Keep.ALWAYS),
    ("completed", Status.CANCELED): Delivery(keep=Keep.IF_NONE),
    ("failed", Status.PENDING): _NOTHING,
    ("failed", Status.CLAIMED): Delivery((Action.FAIL,), Keep.ALWAYS),
    ("failed", Status.RUNNING): Delivery((Action.FAIL,), Keep.ALWAYS),
    ("failed", Status.COMPLETED): _NOTHING,
    ("failed", Status.PROCESSED): _NOTHING,
    ("failed", Status.FAILED): Delivery(keep=Keep.IF_NONE),
    ("failed", Status.CANCELED): _NOTHING,
    ("canceled", Status.PENDING): _NOTHING,
    ("canceled", Status.CLAIMED): Delivery((Action.STOP,)),
    ("canceled", Status.RUNNING): Delivery((Action.STOP,)),
    ("canceled", Status.COMPLETED): _NOTHING,
    ("canceled", Status.PROCESSED): _NOTHING,
    ("canceled", Status.FAILED): _NOTHING,
    ("canceled", Status.CANCELED): _NOTHING,
}
"""(event, status now) -> what it does, for the job's own runner. Every pair is listed."""


def may(action: Action, status: Status) -> bool:
    return status in RULES[action].sources
