"""The server's end of one channel as a machine without input or output (protocol.md, section 3).

``step(input) -> effects``. Inputs are what the runner sends, what the clock, other channels and the transport say, and the outcomes of effects. Effects are carried out
in their order; one that asks for something is the last of its step, and its outcome is the next input. Nothing here knows a database, a socket or a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

from runners.protocol import messages
from runners.protocol.errors import CloseCode, CloseReason
from runners.protocol.limits import DEFAULT_MAX_MESSAGE_BYTES, DEFAULT_POLL_TIMEOUT
from runners.protocol.negotiation import Terms
from runners.protocol.signals import (
    Abandon,
    Active,
    Beat,
    Binary,
    CheckUpdate,
    Claim,
    Claimed,
    Close,
    Closed,
    Deadline,
    Deliver,
    Delivered,
    Drop,
    Effect,
    Executing,
    Expire,
    Expired,
    Garbage,
    Idle,
    Input,
    Judged,
    Left,
    NothingToClaim,
    NothingToResume,
    NotStored,
    Outdated,
    Overrun,
    PassOn,
    Polling,
    PollTimer,
    ReadTimer,
    Resume,
    Resumed,
    ResumedCanceled,
    Send,
    Shutdown,
    Silence,
    Start,
    State,
    Superseded,
    Undeliverable,
    Undo,
    Unwait,
    UpToDate,
    Verdict,
    Wake,
)

Effects = Iterable[Effect]
Handler = Callable[["ServerSession", Any, Any], Effects]

_TERMINAL = (messages.Completed, messages.Failed, messages.Canceled)
_ALIVE = (messages.Running, messages.Heartbeat)
_MESSAGES = (messages.Ready, *_ALIVE, *_TERMINAL)
_FROM_OUTSIDE = (
    *_MESSAGES, Garbage, Binary, Silence, Deadline, Wake, Superseded, Shutdown, Left, Undeliverable,
)  # fmt: skip
_OUTCOMES = (UpToDate, Outdated, Claimed, NothingToClaim, Delivered, NotStored, Judged, Resumed, ResumedCanceled, NothingToResume, Expired)

STATES: tuple[type[Any], ...] = (Idle, Polling, Executing, Closed)
INPUTS: tuple[type[Any], ...] = (*_FROM_OUTSIDE, *_OUTCOMES)


class ServerSession:
    """One channel. ``state`` is what it is in; :meth:`step` takes every input in every state."""

    def __init__(self, max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES) -> None:
        self.state: State = Idle()
        self._terms = Terms(max_message_bytes)

    def start(self) -> list[Effect]:
        """Effects of the opened channel."""
        return [ReadTimer(True)]

    def step(self, given: Input) -> list[Effect]:
        """What ``given`` causes. Never raises; changes nothing but ``state`` and what was agreed on extensions."""
        if isinstance(given, _MESSAGES):
            self._terms.hear(given)
        return [self._terms.say(effect) for effect in TABLE[type(self.state), type(given)](self, self.state, given)]

    # -- ready and the poll ----------------------------------------------------------------------------------------
    def ask(self, _: State, ready: messages.Ready) -> Effects:
        self.state = Polling()
        seconds = DEFAULT_POLL_TIMEOUT if ready.poll_timeout is None else ready.poll_timeout
        question: Effect = Claim() if ready.runner is None else CheckUpdate(ready.runner)
        return ReadTimer(False), PollTimer(seconds), Active(), question

    def claim(self, *_: Any) -> Effects:
        return (Claim(),)

    def offer_update(self, _: State, outdated: Outdated) -> Effects:
        self.state = Closed()
        return PollTimer(None), Unwait(), Send(outdated.update), Close()

    def hand_out(self, _: State, claimed: Claimed) -> Effects:
        self.state = Executing(claimed.job.uuid)
        return PollTimer(None), Unwait(), Send(claimed.job), ReadTimer(True)

    def give_up_polling(self, *_: Any) -> Effects:
        self.state = Idle(may_resume=False)
        return Unwait(), Send(messages.NoJob()), ReadTimer(True)

    # -- terminal messages -----------------------------------------------------------------------------------------
    def deliver_idle(self, state: Idle, message: Any) -> Effects:
        if isinstance(message, messages.Canceled):
            self.state = Idle(may_resume=False)
        return ReadTimer(True), Active(), Deliver(message)

    def deliver_polling(self, _: Polling, message: Any) -> Effects:
        return Active(), Deliver(message)

    def deliver_executing(self, _: Executing, message: Any) -> Effects:
        return ReadTimer(True), Deliver(message)

    def acknowledge(self, _: State, delivered: Delivered) -> Effects:
        return (Send(messages.Ack(job=delivered.job)),)

    def finish(self, state: Executing, delivered: Delivered) -> Effects:
        ack = Send(messages.Ack(job=delivered.job))
        if delivered.job != state.job:
            return (ack,)
        self.state = Idle(state.may_resume)
        return Drop(state.job), ack

    # -- an earlier job --------------------------------------------------------------------------------------------
    def resume(self, state: Idle, message: messages.Running | messages.Heartbeat) -> Effects:
        if not state.may_resume:
            return (ReadTimer(True),)
        return ReadTimer(True), Active(), Resume(_named_job(message), isinstance(message, messages.Running))

    def resumed(self, state: Idle, outcome: Resumed) -> Effects:
        self.state = Executing(outcome.job, state.may_resume)
        return ReadTimer(True), Send(messages.Ack(job=outcome.job))

    def resumed_canceled(self, *_: Any) -> Effects:
        self.state = Idle(may_resume=False)
        return (Send(messages.Cancel()),)

    def resumed_too_late(self, _: State, outcome: Resumed) -> Effects:
        return (Abandon(outcome.job),)

    # -- executing -------------------------------------------------------------------------------------------------
    def begin(self, state: Executing, _: messages.Running) -> Effects:
        return ReadTimer(True), Start(state.job)

    def beat(self, state: Executing, message: messages.Heartbeat) -> Effects:
        return ReadTimer(True), Start(state.job) if state.unsure else Beat(state.job, message)

    def judged(self, state: Executing, outcome: Judged) -> Effects:
        match outcome.verdict:
            case Verdict.CANCELED:
                self.state = Idle(may_resume=False)
                return Drop(state.job), Send(messages.Cancel())
            case Verdict.OVER:
                return (Overrun(state.job),)
            case Verdict.TAKEN:
                self.state = Closed()
                return Drop(state.job), Close(reason=CloseReason.SUPERSEDED)
        self.state = Executing(state.job, state.may_resume, unsure=outcome.verdict is Verdict.UNKNOWN)
        return (Send(messages.Ack()),)

    def acknowledge_ready(self, *_: Any) -> Effects:
        return (Send(messages.Ack()),)

    def silent(self, state: Executing, _: Silence) -> Effects:
        return (Expire(state.job),)

    def expired(self, state: Executing, outcome: Expired) -> Effects:
        self.state = Closed()
        return Drop(state.job), Close(reason=outcome.reason)

    def take_back(self, state: Executing, _: Undeliverable) -> Effects:
        self.state = Closed()
        return ReadTimer(False), Drop(state.job), Undo(state.job)

    def undo(self, _: State, claimed: Claimed) -> Effects:
        return (Undo(claimed.job.uuid),)

    # -- endings ---------------------------------------------------------------------------------------------------
    def _end(self, state: State, *more: Effect) -> Effects:
        self.state = Closed()
        before: tuple[Effect, ...] = (ReadTimer(False), PollTimer(None))
        if isinstance(state, Polling):
            before += (Unwait(),)
        return before + more

    def refuse(self, state: State, garbage: Garbage) -> Effects:
        return self._end(state, Close(garbage.code, garbage.reason))

    def hang_up(self, state: State, _: Silence) -> Effects:
        return self._end(state, Close())

    def supersede(self, state: State, _: Superseded) -> Effects:
        return self._end(state, Close(reason=CloseReason.SUPERSEDED))

    def supersede_executing(self, state: Executing, superseded: Superseded) -> Effects:
        if superseded.job != state.job:
            return ()
        return self._end(state, Drop(state.job), Close(reason=CloseReason.SUPERSEDED))

    def shut_down(self, state: State, _: Shutdown) -> Effects:
        kept = (Abandon(state.job),) if isinstance(state, Executing) else ()
        return self._end(state, *kept, Close(CloseCode.GOING_AWAY, CloseReason.SHUTTING_DOWN))

    def left(self, state: State, _: Left) -> Effects:
        return self._end(state, *((Abandon(state.job),) if isinstance(state, Executing) else ()))

    # -- no meaning here -------------------------------------------------------------------------------------------
    def ignore(self, *_: Any) -> Effects:
        return ()

    def stay(self, *_: Any) -> Effects:
        return (ReadTimer(True),)

    def pass_on(self, *_: Any) -> Effects:
        return (PassOn(),)


def _named_job(message: messages.Running | messages.Heartbeat) -> UUID | None:
    """The job that ``ext.job`` names (typed-results.md, D9)."""
    named = messages.ext_of(message).get("job")
    try:
        return UUID(named) if isinstance(named, str) else None
    except ValueError:
        return None


def _table() -> dict[tuple[type[Any], type[Any]], Handler]:
    s = ServerSession
    table: dict[tuple[type[Any], type[Any]], Handler] = {(state, given): s.ignore for state in STATES for given in INPUTS}

    def row(state: type[Any], handler: Handler, *given: type[Any]) -> None:
        table.update(((state, kind), handler) for kind in given)

    def rows(handler: Handler, given: type[Any], *states: type[Any]) -> None:
        table.update(((state, given), handler) for state in states)

    row(Idle, s.ask, messages.Ready)
    row(Idle, s.resume, *_ALIVE)
    row(Idle, s.deliver_idle, *_TERMINAL)
    row(Idle, s.refuse, Garbage)
    row(Idle, s.stay, Binary)
    row(Idle, s.hang_up, Silence)
    row(Idle, s.acknowledge, Delivered)
    row(Idle, s.resumed, Resumed)
    row(Idle, s.resumed_canceled, ResumedCanceled)

    row(Polling, s.ask, messages.Ready)
    row(Polling, s.deliver_polling, *_TERMINAL)
    row(Polling, s.give_up_polling, Deadline)
    row(Polling, s.claim, Wake, UpToDate)
    row(Polling, s.offer_update, Outdated)
    row(Polling, s.hand_out, Claimed)
    row(Polling, s.acknowledge, Delivered)

    row(Executing, s.acknowledge_ready, messages.Ready)
    row(Executing, s.begin, messages.Running)
    row(Executing, s.beat, messages.Heartbeat)
    row(Executing, s.deliver_executing, *_TERMINAL)
    row(Executing, s.judged, Judged)
    row(Executing, s.finish, Delivered)
    row(Executing, s.silent, Silence)
    row(Executing, s.expired, Expired)
    row(Executing, s.take_back, Undeliverable)
    row(Executing, s.supersede_executing, Superseded)

    rows(s.supersede, Superseded, Idle, Polling)
    rows(s.undo, Claimed, Idle, Executing, Closed)
    rows(s.pass_on, Wake, Idle, Executing, Closed)
    rows(s.resumed_too_late, Resumed, Polling, Executing, Closed)
    rows(s.shut_down, Shutdown, Idle, Polling, Executing)
    rows(s.left, Left, Idle, Polling, Executing)
    return table


TABLE = _table()
"""(state, kind of input) -> handler, for every pair."""
