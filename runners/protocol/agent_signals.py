"""What an agent session is told and what it wants: its states, inputs and effects. Plain values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from uuid import UUID

from runners.protocol import messages

Terminal = messages.Completed | messages.Failed | messages.Canceled

LEAST_BYTES = 16 * 1024
"""No message limit below this is believed."""

_SHRINK = 4


@dataclass(slots=True)
class Pending:
    """A result that the server has not acknowledged. `refusals` counts the channels that were dropped over it."""

    message: Terminal
    refusals: int = 0
    limit: int | None = None
    """Bytes, once a server has shown that it takes less than it should."""

    def shrink(self, size: int) -> None:
        self.limit = max(LEAST_BYTES, size // _SHRINK)


class State(Enum):
    """Where the conversation stands. A job may be running in the first four."""

    OFFLINE = "offline"
    """No connection; one is being made."""
    EXECUTING = "executing"
    RESUMING = "resuming"
    """A job goes on over a new connection; the server has not said yet what it thinks of that."""
    DELIVERING = "delivering"
    """A terminal message is sent, its ack not here yet."""
    WAITING = "waiting"
    """`ready` is sent."""
    ENDED = "ended"


class Timer(Enum):
    """One of each kind runs at a time; setting it again restarts it."""

    POLL = "poll"
    HEARTBEAT = "heartbeat"
    REPLY = "reply"
    RESUME = "resume"


class StopReason(Enum):
    """Why a running job is to be ended."""

    CANCEL = "cancel"
    SHUTDOWN = "shutdown"
    DEADLINE = "deadline"
    UNCONFIRMED = "unconfirmed"
    """The server never heard that the job began and does not resume it: it would refuse the result."""


# -- inputs --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Connected:
    """A channel is open."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The channel ended, or could not be opened. `code` and `reason` are the close frame's, if there was one."""

    code: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Garbled:
    """A frame that is no message. `job` is the UUID of a `job` frame whose content cannot be read."""

    problem: str
    job: UUID | None = None


@dataclass(frozen=True, slots=True)
class Fired:
    """A timer ran out."""

    timer: Timer


@dataclass(frozen=True, slots=True)
class Finished:
    """The running job ended; `message` is on disk already."""

    message: Terminal


@dataclass(frozen=True, slots=True)
class Expired:
    """The pending result of `job` is too old to be tried again."""

    job: UUID


@dataclass(frozen=True, slots=True)
class Shutdown:
    """The runner is asked to stop."""


# -- effects -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Connect:
    """Open a channel, after a pause that grows with `failures` (None: at once)."""

    failures: int | None


@dataclass(frozen=True, slots=True)
class Send:
    """Write one frame."""

    message: messages.RunnerMessage


@dataclass(frozen=True, slots=True)
class Close:
    """End the channel; its end is no input."""


@dataclass(frozen=True, slots=True)
class SetTimer:
    timer: Timer
    seconds: float | None
    """None stops it."""


@dataclass(frozen=True, slots=True)
class StartJob:
    """Remember the job on disk and start it. `running` follows: once it is said, the job must survive this process."""

    job: messages.Job


@dataclass(frozen=True, slots=True)
class StopJob:
    reason: StopReason


@dataclass(frozen=True, slots=True)
class RejectJob:
    """The job cannot be read: `Finished(Failed(…))` is to follow."""

    job: UUID
    problem: str


@dataclass(frozen=True, slots=True)
class Delivered:
    """The server has stored the result of `job`: it may be forgotten."""

    job: UUID


@dataclass(frozen=True, slots=True)
class Refused:
    """A channel was dropped instead of an ack, for the `times`th time."""

    job: UUID
    times: int


@dataclass(frozen=True, slots=True)
class Park:
    """The result of `job` is not tried again: put it aside, loudly."""

    job: UUID
    why: str


@dataclass(frozen=True, slots=True)
class OfferedUpdate:
    update: messages.Update


@dataclass(frozen=True, slots=True)
class Tell:
    """Something odd, for the log."""

    text: str


@dataclass(frozen=True, slots=True)
class Exit:
    """Everything is said."""


Input = Connected | Lost | messages.ServerMessage | Garbled | Fired | Finished | Expired | Shutdown
Effect = Connect | Send | Close | SetTimer | StartJob | StopJob | RejectJob | Delivered | Refused | Park | OfferedUpdate | Tell | Exit
