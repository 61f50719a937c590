"""The server's session: every state with every input, listed here or without effect."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product
from typing import Any
from uuid import UUID

import pytest

from runners.protocol import messages as m
from runners.protocol.errors import CloseCode, CloseReason
from runners.protocol.server import INPUTS, STATES, TABLE, ServerSession
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
    Executing,
    Expire,
    Expired,
    Garbage,
    Idle,
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
    Superseded,
    Undeliverable,
    Undo,
    Unwait,
    UpToDate,
    Verdict,
    Wake,
)

OWN, OTHER = UUID(int=1), UUID(int=2)
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
SHA = "0" * 64
INFO = m.RunnerInfo(os="linux", arch="x86_64", version="0.6.12")
UPDATE = m.Update(version="1", url="u", checksum=SHA)
JOB = m.Job(
    uuid=OWN,
    spec=m.Spec(
        uuid=OWN,
        name="s",
        slug="s",
        os="linux",
        architecture="x86_64",
        cpu=1,
        memory=1,
        disk=1,
        network=False,
        created=MOMENT,
        modified=MOMENT,
    ),
    config=m.JobConfig(registry="r", project=OWN, digest=f"sha256:{SHA}", timeout=1),
    oci_token="t",
    timeout=1,
    created=MOMENT,
)
ON, OFF = ReadTimer(True), ReadTimer(False)
STOP_POLL = PollTimer(None)
FRESH, ASKED, EXECUTING = Idle(), Idle(may_resume=False), Executing(OWN)
ACK, ACK_OWN, ACK_OTHER = Send(m.Ack()), Send(m.Ack(job=OWN)), Send(m.Ack(job=OTHER))
COMPLETED, FAILED, CANCELED = m.Completed(job=OWN, results=[]), m.Failed(job=OWN, results=[], error="e"), m.Canceled(job=OWN)
SUPERSEDED, AWAY = Close(reason=CloseReason.SUPERSEDED), Close(CloseCode.GOING_AWAY, CloseReason.SHUTTING_DOWN)
NAMED = m.Heartbeat(ext=m.raw_ext({"v": 1, "job": str(OTHER)}))

SAMPLES: dict[type[Any], Any] = {
    m.Ready: m.Ready(poll_timeout=7),
    m.Running: m.Running(),
    m.Heartbeat: m.Heartbeat(),
    m.Completed: COMPLETED,
    m.Failed: FAILED,
    m.Canceled: CANCELED,
    Garbage: Garbage(CloseCode.INVALID, "bad"),
    Outdated: Outdated(UPDATE),
    Claimed: Claimed(JOB),
    Delivered: Delivered(OWN),
    NotStored: NotStored(OWN),
    Judged: Judged(Verdict.ALIVE),
    Resumed: Resumed(OWN),
    Expired: Expired(CloseReason.HEARTBEAT_TIMEOUT),
}
"""One input of each kind; those not listed have no content."""

LISTED: dict[tuple[Any, type[Any]], tuple[Any, list[Any]]] = {
    # -- Idle ------------------------------------------------------------------------------------------------------
    (FRESH, m.Ready): (Polling(), [OFF, PollTimer(7), Active(), Claim()]),
    (FRESH, m.Running): (FRESH, [ON, Active(), Resume(None, running=True)]),
    (FRESH, m.Heartbeat): (FRESH, [ON, Active(), Resume(None, running=False)]),
    (FRESH, m.Completed): (FRESH, [ON, Active(), Deliver(COMPLETED)]),
    (FRESH, m.Failed): (FRESH, [ON, Active(), Deliver(FAILED)]),
    (FRESH, m.Canceled): (ASKED, [ON, Active(), Deliver(CANCELED)]),
    (FRESH, Garbage): (Closed(), [OFF, STOP_POLL, Close(CloseCode.INVALID, "bad")]),
    (FRESH, Binary): (FRESH, [ON]),
    (FRESH, Silence): (Closed(), [OFF, STOP_POLL, Close()]),
    (FRESH, Wake): (FRESH, [PassOn()]),
    (FRESH, Superseded): (Closed(), [OFF, STOP_POLL, SUPERSEDED]),
    (FRESH, Shutdown): (Closed(), [OFF, STOP_POLL, AWAY]),
    (FRESH, Left): (Closed(), [OFF, STOP_POLL]),
    (FRESH, Claimed): (FRESH, [Undo(OWN)]),
    (FRESH, Delivered): (FRESH, [ACK_OWN]),
    (FRESH, Resumed): (Executing(OWN, may_resume=True), [ON, ACK_OWN]),
    (FRESH, ResumedCanceled): (ASKED, [Send(m.Cancel())]),
    # -- Polling ---------------------------------------------------------------------------------------------------
    (Polling(), m.Ready): (Polling(), [OFF, PollTimer(7), Active(), Claim()]),
    (Polling(), m.Completed): (Polling(), [Active(), Deliver(COMPLETED)]),
    (Polling(), m.Failed): (Polling(), [Active(), Deliver(FAILED)]),
    (Polling(), m.Canceled): (Polling(), [Active(), Deliver(CANCELED)]),
    (Polling(), Deadline): (ASKED, [Unwait(), Send(m.NoJob()), ON]),
    (Polling(), Wake): (Polling(), [Claim()]),
    (Polling(), Superseded): (Closed(), [OFF, STOP_POLL, Unwait(), SUPERSEDED]),
    (Polling(), Shutdown): (Closed(), [OFF, STOP_POLL, Unwait(), AWAY]),
    (Polling(), Left): (Closed(), [OFF, STOP_POLL, Unwait()]),
    (Polling(), UpToDate): (Polling(), [Claim()]),
    (Polling(), Outdated): (Closed(), [STOP_POLL, Unwait(), Send(UPDATE), Close()]),
    (Polling(), Claimed): (EXECUTING, [STOP_POLL, Unwait(), Send(JOB), ON]),
    (Polling(), Delivered): (Polling(), [ACK_OWN]),
    (Polling(), Resumed): (Polling(), [Abandon(OWN)]),
    # -- Executing -------------------------------------------------------------------------------------------------
    (EXECUTING, m.Ready): (EXECUTING, [ACK]),
    (EXECUTING, m.Running): (EXECUTING, [ON, Start(OWN)]),
    (EXECUTING, m.Heartbeat): (EXECUTING, [ON, Beat(OWN, m.Heartbeat())]),
    (EXECUTING, m.Completed): (EXECUTING, [ON, Deliver(COMPLETED)]),
    (EXECUTING, m.Failed): (EXECUTING, [ON, Deliver(FAILED)]),
    (EXECUTING, m.Canceled): (EXECUTING, [ON, Deliver(CANCELED)]),
    (EXECUTING, Silence): (EXECUTING, [Expire(OWN)]),
    (EXECUTING, Wake): (EXECUTING, [PassOn()]),
    (EXECUTING, Shutdown): (Closed(), [OFF, STOP_POLL, Abandon(OWN), AWAY]),
    (EXECUTING, Left): (Closed(), [OFF, STOP_POLL, Abandon(OWN)]),
    (EXECUTING, Undeliverable): (Closed(), [OFF, Drop(OWN), Undo(OWN)]),
    (EXECUTING, Claimed): (EXECUTING, [Undo(OWN)]),
    (EXECUTING, Delivered): (ASKED, [Drop(OWN), ACK_OWN]),
    (EXECUTING, Judged): (EXECUTING, [ACK]),
    (EXECUTING, Resumed): (EXECUTING, [Abandon(OWN)]),
    (EXECUTING, Expired): (Closed(), [Drop(OWN), Close(reason=CloseReason.HEARTBEAT_TIMEOUT)]),
    # -- Closed ----------------------------------------------------------------------------------------------------
    (Closed(), Wake): (Closed(), [PassOn()]),
    (Closed(), Claimed): (Closed(), [Undo(OWN)]),
    (Closed(), Resumed): (Closed(), [Abandon(OWN)]),
}
"""(state, kind of input) -> (state afterwards, effects)."""

VARIANTS: dict[str, tuple[Any, Any, Any, list[Any]]] = {
    "default poll": (FRESH, m.Ready(), Polling(), [OFF, PollTimer(30), Active(), Claim()]),
    "ready again after no_job": (ASKED, m.Ready(), Polling(), [OFF, PollTimer(30), Active(), Claim()]),
    "update check first": (FRESH, m.Ready(runner=INFO), Polling(), [OFF, PollTimer(30), Active(), CheckUpdate(INFO)]),
    "the job is named": (FRESH, NAMED, FRESH, [ON, Active(), Resume(OTHER, running=False)]),
    "no resuming after ready": (ASKED, m.Heartbeat(), ASKED, [ON]),
    "nor by running": (ASKED, m.Running(), ASKED, [ON]),
    "another job's result while executing": (EXECUTING, Delivered(OTHER), EXECUTING, [ACK_OTHER]),
    "result of a resumed job": (Executing(OWN, may_resume=True), Delivered(OWN), FRESH, [Drop(OWN), ACK_OWN]),
    "canceled": (EXECUTING, Judged(Verdict.CANCELED), ASKED, [Drop(OWN), Send(m.Cancel())]),
    "a resumed job canceled": (Executing(OWN, may_resume=True), Judged(Verdict.CANCELED), ASKED, [Drop(OWN), Send(m.Cancel())]),
    "over its limit": (EXECUTING, Judged(Verdict.OVER), EXECUTING, [Overrun(OWN)]),
    "ended otherwise": (EXECUTING, Judged(Verdict.ENDED), EXECUTING, [ACK]),
    "taken over": (EXECUTING, Judged(Verdict.TAKEN), Closed(), [Drop(OWN), SUPERSEDED]),
    "not known": (EXECUTING, Judged(Verdict.UNKNOWN), Executing(OWN, unsure=True), [ACK]),
    "not known, next beat": (Executing(OWN, unsure=True), m.Heartbeat(), Executing(OWN, unsure=True), [ON, Start(OWN)]),
    "known again": (Executing(OWN, unsure=True), Judged(Verdict.ALIVE), EXECUTING, [ACK]),
    "a newer channel took the job": (EXECUTING, Superseded(OWN), Closed(), [OFF, STOP_POLL, Drop(OWN), SUPERSEDED]),
    "a newer channel took another job": (EXECUTING, Superseded(OTHER), EXECUTING, []),
    "a newer channel polls": (EXECUTING, Superseded(), EXECUTING, []),
    "a newer channel took a job, this one idle": (FRESH, Superseded(OTHER), Closed(), [OFF, STOP_POLL, SUPERSEDED]),
    "hard limit found at silence": (
        EXECUTING,
        Expired(CloseReason.JOB_TIMEOUT_EXCEEDED),
        Closed(),
        [Drop(OWN), Close(reason=CloseReason.JOB_TIMEOUT_EXCEEDED)],
    ),
}  # fmt: skip


def sample(kind: type[Any]) -> Any:
    return SAMPLES[kind] if kind in SAMPLES else kind()


def stepped(state: Any, given: Any) -> tuple[Any, list[Any]]:
    session = ServerSession()
    session.state = state
    effects = session.step(given)
    return session.state, effects


@pytest.mark.parametrize(
    ("state", "kind"),
    list(product([FRESH, Polling(), EXECUTING, Closed()], INPUTS)),
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_every_state_with_every_input(state: Any, kind: type[Any]) -> None:
    assert stepped(state, sample(kind)) == LISTED.get((state, kind), (state, []))


@pytest.mark.parametrize("name", VARIANTS)
def test_variants(name: str) -> None:
    state, given, after, effects = VARIANTS[name]
    assert stepped(state, given) == (after, effects)


def test_the_table_has_every_pair() -> None:
    assert set(TABLE) == set(product(STATES, INPUTS))
    assert {type(state) for state, _ in LISTED} == set(STATES)


def test_nothing_to_claim_or_resume_is_silent() -> None:
    assert stepped(Polling(), NothingToClaim()) == (Polling(), [])
    assert stepped(FRESH, NothingToResume()) == (FRESH, [])


def test_a_fault_of_ours_gives_no_ack() -> None:
    for state in (FRESH, Polling(), EXECUTING):
        assert stepped(state, NotStored(OWN)) == (state, [])


def test_a_new_channel_is_idle_and_listens() -> None:
    session = ServerSession()
    assert (session.state, session.start()) == (Idle(), [ON])


QUESTIONS = (CheckUpdate, Claim, Deliver, Start, Beat, Overrun, Resume, Expire)


@pytest.mark.parametrize(
    ("state", "kind"), list(product([FRESH, ASKED, Polling(), EXECUTING, Executing(OWN, unsure=True), Closed()], INPUTS))
)
def test_forms(state: Any, kind: type[Any]) -> None:
    """At most one question, and it comes last; at most one frame; nothing is sent behind a close; what is closed stays closed."""
    after, effects = stepped(state, sample(kind))
    questions = [effect for effect in effects if isinstance(effect, QUESTIONS)]
    assert len(questions) <= 1
    assert all(effect is effects[-1] for effect in questions)
    frames = [effect for effect in effects if isinstance(effect, Send | Close)]
    assert len(frames) <= (2 if kind is Outdated else 1)
    if closes := [effect for effect in effects if isinstance(effect, Close)]:
        assert effects[-1] is closes[0]
        assert isinstance(after, Closed)
    if isinstance(state, Closed):
        assert isinstance(after, Closed)
        assert not frames
