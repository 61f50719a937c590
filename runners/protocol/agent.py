"""The runner's end of the channel as a machine without input or output (runner.md part B, typed-results.md D2, D8, D9).

`step(input) -> effects`. Nothing here knows a socket, a disk or a clock. What it guarantees:

* Replies are matched by counting. While a job runs the server answers every message once and in order, so the answer to a terminal message is
  the one after all that are still owed, however many acks with the job's UUID come before. A reply counts as an ack only with that UUID.
* A result is given up only by its ack, by five dropped channels or by age; `ready` is never said before.
* A lost channel does not end a job. Over the next one the session says `running`; a server that resumes answers, one that does not is silent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

from runners.protocol import messages
from runners.protocol.agent_signals import (
    LEAST_BYTES,
    Close,
    Connect,
    Connected,
    Delivered,
    Effect,
    Exit,
    Expired,
    Finished,
    Fired,
    Garbled,
    Input,
    Lost,
    OfferedUpdate,
    Park,
    Pending,
    Refused,
    RejectJob,
    Send,
    SetTimer,
    Shutdown,
    StartJob,
    State,
    StopJob,
    StopReason,
    Tell,
    Timer,
)  # fmt: skip
from runners.protocol.agent_trimming import HEADROOM_BYTES, fit
from runners.protocol.errors import CloseCode, CloseReason
from runners.protocol.limits import DEFAULT_MAX_MESSAGE_BYTES

POLL_MARGIN_SECONDS = 30
HEARTBEAT_SECONDS = 1
RESUME_SECONDS = 10
REPLY_SECONDS = (5, 10, 20, 30)
MAX_REFUSALS = 5
MAX_OWED = 120
"""Unanswered messages after which the other end counts as dead, though its socket is open."""

Effects = Iterable[Effect]


class AgentSession:
    """One runner, from its start to its end, over many connections."""

    def __init__(
        self,
        *,
        poll_timeout: int,
        pending: Iterable[Pending] = (),
        runner: messages.RunnerInfo | None = None,
        ext: dict[str, Any] | None = None,
    ) -> None:
        self.state = State.OFFLINE
        self.job: UUID | None = None
        self.pending: deque[Pending] = deque(pending)
        self._poll_timeout = poll_timeout
        self._runner = runner
        self._ext = ext
        self._stopping = False
        self._failures = 0
        self._begin_connection()
        self._confirmed = True

    def _begin_connection(self) -> None:
        self._owed = 0
        self._attempts = 0
        self._silent = False
        self._told_cancel = False
        self._accepts_ext = False
        self._limit = DEFAULT_MAX_MESSAGE_BYTES

    @property
    def accepts_ext(self) -> bool:
        """Whether the server of this connection understands `ext` of iterations (D2)."""
        return self._accepts_ext

    def start(self) -> list[Effect]:
        return [Connect(None)]

    def step(self, given: Input) -> list[Effect]:
        """What `given` causes. Never raises."""
        handler = TABLE.get((self.state, type(given)), AgentSession._ignore)
        return list(handler(self, given))

    # -- connections -------------------------------------------------------------------------------------------------
    def _connected(self, _: Connected) -> Effects:
        self._begin_connection()
        if self.job is not None:
            self.state = State.RESUMING
            self._owed = 1
            ext = {"v": 1, "job": str(self.job), "resume": True}
            yield Send(messages.Running(ext=messages.raw_ext(ext)))
            yield SetTimer(Timer.RESUME, RESUME_SECONDS)
            yield SetTimer(Timer.HEARTBEAT, HEARTBEAT_SECONDS)
        else:
            yield from self._next()

    def _next(self) -> Effects:
        """Deliver what is pending; else leave, or ask for a job."""
        if self.pending:
            self.state = State.DELIVERING
            self._attempts = 0
            yield from self._deliver()
        elif self._stopping:
            yield from self._end()
        else:
            yield from self._ask()

    def _ask(self) -> Effects:
        self.state = State.WAITING
        yield Send(messages.Ready(poll_timeout=self._poll_timeout, runner=self._runner, ext=messages.raw_ext(self._ext)))
        yield SetTimer(Timer.POLL, self._poll_timeout + POLL_MARGIN_SECONDS)

    def _end(self) -> Effects:
        self.state = State.ENDED
        yield Close()
        yield Exit()

    def _reconnect(self, *, close: bool, at_once: bool = False) -> Effects:
        self.state = State.OFFLINE
        for timer in Timer:
            yield SetTimer(timer, None)
        if close:
            yield Close()
        yield Connect(None if at_once else self._failures)
        self._failures += 0 if at_once else 1

    def _lost(self, _: Lost) -> Effects:
        return self._reconnect(close=False)

    def _lost_executing(self, lost: Lost) -> Effects:
        if lost.reason == CloseReason.JOB_TIMEOUT_EXCEEDED:
            yield StopJob(StopReason.DEADLINE)
        yield from self._reconnect(close=False)

    def _lost_delivering(self, lost: Lost) -> Effects:
        if lost.code != CloseCode.GOING_AWAY:
            yield from self._refused(too_big=lost.code == CloseCode.TOO_BIG)
        yield from self._reconnect(close=False)

    def _refused(self, *, too_big: bool) -> Effects:
        first = self.pending[0]
        first.refusals += 1
        job = first.message.job
        if first.refusals >= MAX_REFUSALS:
            self.pending.popleft()
            yield Park(job, f"the server dropped the channel {first.refusals} times instead of acknowledging it")
            return
        if too_big or first.refusals > 1:  # one drop may be anything; the second says that the size may be the reason
            first.shrink(self._message_limit(first))
        yield Refused(job, first.refusals)

    # -- waiting for a job -------------------------------------------------------------------------------------------
    def _take(self, job: messages.Job) -> Effects:
        self._learn(job)
        yield StartJob(job)
        yield from self._begin(job.uuid)

    def _begin(self, job: UUID) -> Effects:
        self.job = job
        self.state = State.EXECUTING
        self._owed = 1
        self._told_cancel = False
        self._confirmed = False
        yield Send(messages.Running())
        yield SetTimer(Timer.POLL, None)
        yield SetTimer(Timer.HEARTBEAT, HEARTBEAT_SECONDS)

    def _no_job(self, message: messages.NoJob) -> Effects:
        self._learn(message)
        return self._ask()

    def _garbled_waiting(self, garbled: Garbled) -> Effects:
        yield Tell(garbled.problem)
        if garbled.job is None:
            yield from self._reconnect(close=True)
        else:
            yield from self._begin(garbled.job)
            yield RejectJob(garbled.job, garbled.problem)

    def _update(self, update: messages.Update) -> Effects:
        """The server is about to end the connection. It is not asked for an update again, or the two would go on like this for ever."""
        self._runner = None
        yield OfferedUpdate(update)
        yield from self._reconnect(close=True)

    def _poll_over(self, _: Fired) -> Effects:
        yield Tell("the server did not answer within the poll time")
        yield from self._reconnect(close=True)

    def _learn(self, message: messages.Job | messages.NoJob) -> None:
        """What the server offers for this connection (D2). Silence means: a stock server."""
        self._failures = 0
        ext = messages.ext_of(message)
        self._accepts_ext = bool(ext)
        limit = ext.get("max_message_bytes")
        if isinstance(limit, int) and limit >= LEAST_BYTES:
            self._limit = limit

    # -- a job runs --------------------------------------------------------------------------------------------------
    def _beat(self, _: Fired) -> Effects:
        if self._owed >= MAX_OWED:
            yield Tell(f"the server has left {self._owed} messages unanswered")
            yield from self._reconnect(close=True)
        elif not self._told_cancel:
            self._owed += 0 if self._silent else 1
            yield Send(messages.Heartbeat())
            yield SetTimer(Timer.HEARTBEAT, HEARTBEAT_SECONDS)

    def _replied(self, _: messages.Ack) -> Effects:
        self._failures = 0
        self._confirmed = True
        self._silent = False
        self._owed = max(0, self._owed - 1)
        self.state = State.EXECUTING
        yield SetTimer(Timer.RESUME, None)

    def _cancel(self, _: messages.Cancel) -> Effects:
        """The server is idle now: what it has not answered yet it will not answer."""
        self._failures = 0
        self._owed = 0
        self._told_cancel = True
        self.state = State.EXECUTING
        yield SetTimer(Timer.RESUME, None)
        yield SetTimer(Timer.HEARTBEAT, None)
        yield StopJob(StopReason.CANCEL)

    def _not_resumed(self, _: Fired) -> Effects:
        """A server that does not resume ignores the job's messages; it will take the result all the same, if it knows that the job began."""
        self.state = State.EXECUTING
        self._silent = True
        self._owed = 0
        if not self._confirmed:
            yield StopJob(StopReason.UNCONFIRMED)

    def _finished(self, finished: Finished) -> Effects:
        self._file(finished)
        self.state = State.DELIVERING
        self._attempts = 0
        yield SetTimer(Timer.HEARTBEAT, None)
        yield from self._deliver()

    def _finished_resuming(self, finished: Finished) -> Effects:
        """Over a fresh connection there is exactly one answer, and no doubt whose it is."""
        self._file(finished)
        return self._reconnect(close=True, at_once=True)

    def _finished_offline(self, finished: Finished) -> Effects:
        self._file(finished)
        return ()

    def _file(self, finished: Finished) -> None:
        self.job = None
        self._confirmed = True
        self.pending.append(Pending(finished.message))

    # -- delivering --------------------------------------------------------------------------------------------------
    def _message_limit(self, pending: Pending) -> int:
        return min(pending.limit or self._limit, self._limit)

    def _deliver(self) -> Effects:
        first = self.pending[0]
        limit = self._message_limit(first)
        yield Send(fit(first.message, limit - min(HEADROOM_BYTES, limit // 4)))
        yield SetTimer(Timer.REPLY, REPLY_SECONDS[self._attempts])

    def _acked(self, ack: messages.Ack) -> Effects:
        self._failures = 0
        first = self.pending[0]
        if self._owed > 0:
            self._owed -= 1
        elif ack.job != first.message.job:
            yield Tell(f"an ack of {ack.job or 'nothing'} instead of {first.message.job}")
        else:
            self.pending.popleft()
            yield SetTimer(Timer.REPLY, None)
            yield Delivered(first.message.job)
            yield from self._next()

    def _cancel_crossed(self, _: messages.Cancel) -> Effects:
        self._owed = 0
        return ()

    def _no_ack(self, _: Fired) -> Effects:
        self._attempts += 1
        if self._attempts < len(REPLY_SECONDS):
            yield from self._deliver()
        else:
            yield Tell("the server does not acknowledge the result")
            yield from self._reconnect(close=True)

    # -- whenever ----------------------------------------------------------------------------------------------------
    def _expired(self, expired: Expired) -> Effects:
        if any(waiting.message.job == expired.job for waiting in self.pending):
            self.pending = deque(waiting for waiting in self.pending if waiting.message.job != expired.job)
            yield Park(expired.job, "it could not be delivered for a day")

    def _shutdown(self, _: Shutdown) -> Effects:
        if self._stopping:
            return
        self._stopping = True
        if self.job is not None:
            yield StopJob(StopReason.SHUTDOWN)
        elif self.state is State.WAITING or (self.state is State.OFFLINE and not self.pending):
            yield from self._end()

    def _odd(self, given: Any) -> Effects:
        yield Tell(f"unexpected {type(given).__name__.lower()} while {self.state.value}")

    def _ignore(self, _: Any) -> Effects:
        return ()


Handler = Callable[[AgentSession, Any], Effects]


def _fired(**handlers: Handler) -> Handler:
    """Chooses by the timer; others have been stopped, but their last shot may already have been fired."""

    def handle(session: AgentSession, fired: Fired) -> Effects:
        return handlers.get(fired.timer.value, AgentSession._ignore)(session, fired)

    return handle


_RUNNING: dict[type[Any], Handler] = {
    messages.Ack: AgentSession._replied,
    messages.Cancel: AgentSession._cancel,
    messages.Job: AgentSession._odd,
    messages.NoJob: AgentSession._odd,
    messages.Update: AgentSession._odd,
    Garbled: AgentSession._odd,
    Lost: AgentSession._lost_executing,
    Shutdown: AgentSession._shutdown,
    Expired: AgentSession._expired,
}

_ROWS: dict[State, dict[type[Any], Handler]] = {
    State.OFFLINE: {
        Connected: AgentSession._connected,
        Lost: AgentSession._lost,
        Finished: AgentSession._finished_offline,
        Expired: AgentSession._expired,
        Shutdown: AgentSession._shutdown,
    },
    State.EXECUTING: _RUNNING | {Finished: AgentSession._finished, Fired: _fired(heartbeat=AgentSession._beat)},
    State.RESUMING: _RUNNING
    | {
        Finished: AgentSession._finished_resuming,
        Fired: _fired(heartbeat=AgentSession._beat, resume=AgentSession._not_resumed),
    },
    State.DELIVERING: {
        messages.Ack: AgentSession._acked,
        messages.Cancel: AgentSession._cancel_crossed,
        messages.Job: AgentSession._odd,
        messages.NoJob: AgentSession._odd,
        messages.Update: AgentSession._odd,
        Garbled: AgentSession._odd,
        Lost: AgentSession._lost_delivering,
        Fired: _fired(reply=AgentSession._no_ack),
        Shutdown: AgentSession._shutdown,
    },
    State.WAITING: {
        messages.Job: AgentSession._take,
        messages.NoJob: AgentSession._no_job,
        messages.Update: AgentSession._update,
        messages.Cancel: AgentSession._odd,
        Garbled: AgentSession._garbled_waiting,
        Lost: AgentSession._lost,
        Fired: _fired(poll=AgentSession._poll_over),
        Shutdown: AgentSession._shutdown,
    },
    State.ENDED: {},
}

TABLE: dict[tuple[State, type[Any]], Handler] = {(state, given): handler for state, row in _ROWS.items() for given, handler in row.items()}
"""Every pair that means something; any other is ignored and changes nothing."""
