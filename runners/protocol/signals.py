"""What a server session is told and what it wants: its states, inputs and effects. Plain values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from uuid import UUID

from runners.protocol import messages
from runners.protocol.errors import CloseCode, CloseReason


# -- states --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing is asked for. ``may_resume``: a ``running`` or ``heartbeat`` may still take up an earlier job."""

    may_resume: bool = True


@dataclass(frozen=True, slots=True)
class Polling:
    """The runner waits for a job."""

    may_resume: bool = False


@dataclass(frozen=True, slots=True)
class Executing:
    """The runner works on ``job``. ``unsure``: whether its ``running`` has been stored is not known."""

    job: UUID
    may_resume: bool = False
    unsure: bool = False


@dataclass(frozen=True, slots=True)
class Closed:
    """The channel has ended, from either side."""

    may_resume: bool = False


State = Idle | Polling | Executing | Closed


# -- inputs that are no messages -----------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Garbage:
    """A text that is no message: the code and reason a channel ends with that does not tolerate it."""

    code: CloseCode
    reason: str


@dataclass(frozen=True, slots=True)
class Binary:
    """A binary frame."""


@dataclass(frozen=True, slots=True)
class Silence:
    """The read timer ran out."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """The poll timer ran out."""


@dataclass(frozen=True, slots=True)
class Wake:
    """There may be a job for this runner."""


@dataclass(frozen=True, slots=True)
class Superseded:
    """A newer channel of the runner is active; with a ``job``: it has taken over that job."""

    job: UUID | None = None


@dataclass(frozen=True, slots=True)
class Shutdown:
    """The server stops."""


@dataclass(frozen=True, slots=True)
class Left:
    """The runner closed the connection, or it broke."""


@dataclass(frozen=True, slots=True)
class Undeliverable:
    """The last ``job`` frame could not be handed to the transport."""


# -- outcomes of effects -------------------------------------------------------------------------------------------
class Verdict(Enum):
    """What is known of the job that a channel executes."""

    ALIVE = "in flight"
    CANCELED = "canceled"
    OVER = "over its hard limit"
    ENDED = "ended otherwise"
    TAKEN = "executed by another channel now"
    UNKNOWN = "could not be found out"


@dataclass(frozen=True, slots=True)
class UpToDate:
    """Of ``CheckUpdate``: go on."""


@dataclass(frozen=True, slots=True)
class Outdated:
    """Of ``CheckUpdate``: this is the program to have."""

    update: messages.Update


@dataclass(frozen=True, slots=True)
class Claimed:
    """Of ``Claim``."""

    job: messages.Job


@dataclass(frozen=True, slots=True)
class NothingToClaim:
    """Of ``Claim``."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """Of ``Deliver``: applied, or nothing to apply; what there was to store is stored."""

    job: UUID


@dataclass(frozen=True, slots=True)
class NotStored:
    """Of ``Deliver``: a fault of ours; the runner has to send it again."""

    job: UUID


@dataclass(frozen=True, slots=True)
class Judged:
    """Of ``Start``, ``Beat`` and ``Overrun``."""

    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Resumed:
    """Of ``Resume``: the channel executes this job now."""

    job: UUID


@dataclass(frozen=True, slots=True)
class ResumedCanceled:
    """Of ``Resume``: the job that the runner means was canceled."""


@dataclass(frozen=True, slots=True)
class NothingToResume:
    """Of ``Resume``."""


@dataclass(frozen=True, slots=True)
class Expired:
    """Of ``Expire``: the silence was judged; ``reason`` goes into the close frame."""

    reason: str


Input = (
    messages.RunnerMessage
    | Garbage | Binary | Silence | Deadline | Wake | Superseded | Shutdown | Left | Undeliverable
    | UpToDate | Outdated | Claimed | NothingToClaim | Delivered | NotStored | Judged | Resumed | ResumedCanceled | NothingToResume | Expired
)  # fmt: skip


# -- effects -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Send:
    message: messages.ServerMessage


@dataclass(frozen=True, slots=True)
class Close:
    code: CloseCode = CloseCode.NORMAL
    reason: str = CloseReason.NONE


@dataclass(frozen=True, slots=True)
class ReadTimer:
    """Let ``Silence`` come one heartbeat timeout from now, or (off) not at all."""

    on: bool


@dataclass(frozen=True, slots=True)
class PollTimer:
    """Let ``Deadline`` come in so many seconds; with ``None`` not at all."""

    seconds: int | None


@dataclass(frozen=True, slots=True)
class Active:
    """The channel is the runner's newest active one: older ones that do not execute are superseded."""


@dataclass(frozen=True, slots=True)
class Unwait:
    """Wake this channel no more."""


@dataclass(frozen=True, slots=True)
class PassOn:
    """A wake-up that this channel has no use for: wake another one."""


@dataclass(frozen=True, slots=True)
class Drop:
    """This channel no longer executes ``job``."""

    job: UUID


@dataclass(frozen=True, slots=True)
class Abandon:
    """The channel ended in the middle of ``job``: look after it one heartbeat timeout later."""

    job: UUID


@dataclass(frozen=True, slots=True)
class Undo:
    """The claim of ``job`` never reached the runner."""

    job: UUID


@dataclass(frozen=True, slots=True)
class CheckUpdate:
    runner: messages.RunnerInfo


@dataclass(frozen=True, slots=True)
class Claim:
    """Claim a job; if there is none, wake this channel when one comes."""


@dataclass(frozen=True, slots=True)
class Deliver:
    message: messages.Completed | messages.Failed | messages.Canceled


@dataclass(frozen=True, slots=True)
class Start:
    job: UUID


@dataclass(frozen=True, slots=True)
class Beat:
    job: UUID
    message: messages.Heartbeat


@dataclass(frozen=True, slots=True)
class Overrun:
    job: UUID


@dataclass(frozen=True, slots=True)
class Resume:
    """``named``: the job that the runner says it executes; ``running``: it says that it has begun."""

    named: UUID | None
    running: bool


@dataclass(frozen=True, slots=True)
class Expire:
    job: UUID


Question = CheckUpdate | Claim | Deliver | Start | Beat | Overrun | Resume | Expire
"""Effects whose outcome is an input."""

Effect = Send | Close | ReadTimer | PollTimer | Active | Unwait | PassOn | Drop | Abandon | Undo | Question
