"""The agent's session, by its table: every state, every input, and the guarantees of its docstring."""

import itertools
import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from runners.protocol import agent_signals as on
from runners.protocol import messages
from runners.protocol.agent import MAX_OWED, MAX_REFUSALS, REPLY_SECONDS, TABLE, AgentSession
from runners.protocol.agent_signals import LEAST_BYTES, Pending, State, StopReason, Timer
from runners.protocol.errors import CloseReason

JOB = UUID("550e8400-e29b-41d4-a716-446655440000")
ACK, ACK_JOB, CANCEL, NO_JOB = messages.Ack(), messages.Ack(job=JOB), messages.Cancel(), messages.NoJob()
DONE = on.Finished(messages.Completed(job=JOB, results=[messages.IterationOutput(exit_code=0, stdout="hello")]))
BEAT = on.Fired(Timer.HEARTBEAT)


def job(uuid: UUID = JOB, ext: dict[str, Any] | None = None) -> messages.Job:
    now = "2026-11-30T14:13:18Z"
    text = {
        "event": "job", "uuid": str(uuid), "oci_token": "t", "timeout": 9, "created": now,
        "spec": {"uuid": str(uuid), "name": "s", "slug": "s", "os": "linux", "architecture": "x86_64", "cpu": 1, "memory": 1, "disk": 1,
                 "network": False, "created": now, "modified": now},
        "config": {"registry": "http://r/", "project": str(uuid), "digest": "sha256:" + "0" * 64, "timeout": 9},
    }  # fmt: skip
    message = messages.decode_server(json.dumps(text | ({"ext": ext} if ext else {})))
    assert isinstance(message, messages.Job)
    return message


def drive(*inputs: Any, session: AgentSession | None = None, **options: Any) -> tuple[AgentSession, list[on.Effect]]:
    """A session after `inputs`, and the effects of the last one."""
    session = session or AgentSession(poll_timeout=55, **options)
    effects: list[on.Effect] = session.start()
    for given in inputs:
        effects = session.step(given)
    return session, effects


def sent(effects: list[on.Effect]) -> list[str]:
    return [json.loads(messages.encode(effect.message))["event"] for effect in effects if isinstance(effect, on.Send)]


def of(kind: type[Any], effects: list[on.Effect]) -> list[Any]:
    return [effect for effect in effects if isinstance(effect, kind)]


IDLE = (on.Connected(),)
TAKEN = (*IDLE, job())
DROPPED = (*TAKEN, ACK, on.Lost())
RESUMING = (*DROPPED, on.Connected())
DELIVERING = (*TAKEN, ACK, DONE)
INTO: dict[State, tuple[Any, ...]] = {
    State.OFFLINE: (),
    State.WAITING: IDLE,
    State.EXECUTING: TAKEN,
    State.RESUMING: RESUMING,
    State.DELIVERING: DELIVERING,
    State.ENDED: (*IDLE, on.Shutdown()),
}
INPUTS: tuple[Any, ...] = (
    on.Connected(), on.Lost(), on.Lost(1000, CloseReason.SUPERSEDED), on.Lost(1009), on.Garbled("x"), on.Garbled("x", JOB),
    *(on.Fired(timer) for timer in Timer), on.Expired(JOB), on.Shutdown(), ACK, ACK_JOB, CANCEL, NO_JOB, job(), job(uuid4()),
    messages.Update(version="1", url="u", checksum="0" * 64),
)  # fmt: skip


@pytest.mark.parametrize("state", State)
def test_every_state_can_be_reached(state: State) -> None:
    assert drive(*INTO[state])[0].state is state


@pytest.mark.parametrize(("state", "given"), list(itertools.product(State, INPUTS)), ids=lambda value: type(value).__name__)
def test_every_input_is_taken_in_every_state(state: State, given: Any) -> None:
    session, effects = drive(*INTO[state], given)
    if (state, type(given)) not in TABLE:
        assert (session.state, effects) == (state, [])
    connects = of(on.Connect, effects)
    assert len(connects) <= 1
    assert bool(connects) <= (session.state is State.OFFLINE)
    if "ready" in sent(effects):
        assert session.state is State.WAITING


@pytest.mark.parametrize("into", [TAKEN, RESUMING, DELIVERING, (*DROPPED, DONE)], ids=["taken", "resuming", "delivering", "ended offline"])
def test_ready_is_never_said_before_the_result_is_acknowledged(into: tuple[Any, ...]) -> None:
    for path in itertools.product(INPUTS, repeat=3):
        session = drive(*into)[0]
        for given in path:
            effects = session.step(given)
            settled = any(isinstance(effect, on.Delivered | on.Park) for effect in effects)
            assert "ready" not in sent(effects) or not (session.pending or session.job) or settled


class TestWaiting:
    def test_ready_carries_the_poll_time_and_what_is_offered_but_no_runner(self) -> None:
        _, effects = drive(on.Connected(), ext={"v": 1, "features": ["resume"]})
        (send,) = of(on.Send, effects)
        assert json.loads(messages.encode(send.message)) == {"event": "ready", "poll_timeout": 55, "ext": {"v": 1, "features": ["resume"]}}
        assert on.SetTimer(Timer.POLL, 85) in effects

    def test_no_job_is_followed_by_the_next_ready(self) -> None:
        assert sent(drive(*IDLE, NO_JOB)[1]) == ["ready"]

    def test_a_job_is_on_disk_before_running_is_said(self) -> None:
        _, effects = drive(*IDLE, job())
        assert sent(effects) == ["running"]
        assert effects[0] == on.StartJob(job())
        assert on.SetTimer(Timer.HEARTBEAT, 1) in effects

    @pytest.mark.parametrize("given", [ACK, ACK_JOB], ids=["bare", "uuid"])
    def test_late_acks_are_swallowed(self, given: messages.Ack) -> None:
        assert drive(*IDLE, given)[1] == []

    def test_a_silent_server_is_left(self) -> None:
        session, effects = drive(*IDLE, on.Fired(Timer.POLL))
        assert session.state is State.OFFLINE
        assert of(on.Close, effects)
        assert of(on.Connect, effects) == [on.Connect(0)]

    def test_an_update_is_told_and_not_asked_for_again(self) -> None:
        info = messages.RunnerInfo(os="linux", arch="x86_64", version="0.1")
        update = messages.Update(version="0.2", url="http://u", checksum="0" * 64)
        session, effects = drive(*IDLE, update, runner=info)
        assert on.OfferedUpdate(update) in effects
        (send,) = of(on.Send, session.step(on.Connected()))
        assert send.message.runner is None

    def test_a_job_that_cannot_be_read_is_answered_not_dropped(self) -> None:
        session, effects = drive(*IDLE, on.Garbled("config.cmd is too long", JOB))
        assert on.RejectJob(JOB, "config.cmd is too long") in effects
        effects = session.step(on.Finished(messages.Failed(job=JOB, results=[], error="no")))
        assert sent(effects) == ["failed"]

    def test_failures_grow_until_the_server_says_something(self) -> None:
        session, _ = drive()
        assert [session.step(on.Lost()) for _ in range(3)] == [[*_stops(), on.Connect(n)] for n in range(3)]
        session.step(on.Connected())
        assert session.step(on.Lost())[-1] == on.Connect(3)
        session.step(on.Connected())
        session.step(NO_JOB)
        assert session.step(on.Lost())[-1] == on.Connect(0)


def _stops() -> list[on.Effect]:
    return [on.SetTimer(timer, None) for timer in Timer]


class TestReplies:
    """G4, G5: which ack is the terminal's."""

    @pytest.mark.parametrize("beats", [0, 1, 3])
    @pytest.mark.parametrize("reply", [ACK, ACK_JOB], ids=["ours", "stock"])
    def test_only_the_reply_after_all_owed_ones_counts(self, beats: int, reply: messages.Ack) -> None:
        session, _ = drive(*TAKEN, *[BEAT] * beats, DONE)
        for _ in range(1 + beats):
            assert session.step(reply) == []
            assert session.state is State.DELIVERING
        effects = session.step(ACK_JOB)
        assert on.Delivered(JOB) in effects
        assert sent(effects) == ["ready"]

    def test_a_reply_without_the_uuid_is_no_ack(self) -> None:
        session, effects = drive(*DELIVERING, ACK)
        assert of(on.Tell, effects)
        assert session.state is State.DELIVERING
        assert not of(on.Delivered, session.step(messages.Ack(job=uuid4())))
        assert of(on.Delivered, session.step(ACK_JOB))

    def test_a_resent_result_is_not_delivered_by_any_ack(self) -> None:
        session, effects = drive(*DELIVERING, on.Fired(Timer.REPLY))
        assert sent(effects) == ["completed"]
        assert not of(on.Delivered, session.step(ACK))

    def test_after_a_cancel_the_server_owes_nothing(self) -> None:
        session, effects = drive(*TAKEN, ACK, BEAT, BEAT, CANCEL)
        assert on.StopJob(StopReason.CANCEL) in effects
        assert session.step(BEAT) == []
        assert sent(session.step(on.Finished(messages.Canceled(job=JOB)))) == ["canceled"]
        assert of(on.Delivered, session.step(ACK_JOB))

    def test_a_cancel_that_crosses_the_result(self) -> None:
        session, _ = drive(*TAKEN, BEAT, DONE, CANCEL)
        assert of(on.Delivered, session.step(ACK_JOB))

    def test_waits_grow_on_one_socket_before_it_is_left(self) -> None:
        session, effects = drive(*DELIVERING)
        waits = []
        while session.state is State.DELIVERING:
            waits += [effect.seconds for effect in of(on.SetTimer, effects) if effect.timer is Timer.REPLY]
            effects = session.step(on.Fired(Timer.REPLY))
        assert tuple(waits) == REPLY_SECONDS
        assert session.pending[0].refusals == 0
        assert sent(session.step(on.Connected())) == ["completed"]

    def test_a_server_that_answers_nothing_is_left(self) -> None:
        session, effects = drive(*TAKEN, *[BEAT] * MAX_OWED)
        assert session.state is State.OFFLINE
        assert session.job == JOB
        assert of(on.Close, effects)


class TestReconnecting:
    """D9, G2: a lost channel does not end a job."""

    def test_the_job_is_named_and_heartbeats_go_on(self) -> None:
        session, effects = drive(*RESUMING)
        (send,) = of(on.Send, effects)
        assert json.loads(messages.encode(send.message)) == {"event": "running", "ext": {"v": 1, "job": str(JOB), "resume": True}}
        assert sent(session.step(BEAT)) == ["heartbeat"]

    def test_a_server_that_resumes_is_counted_again(self) -> None:
        session, _ = drive(*RESUMING, BEAT, ACK_JOB, DONE)
        assert session.step(ACK) == []
        assert of(on.Delivered, session.step(ACK_JOB))

    def test_a_cancel_is_heard_over_the_new_channel(self) -> None:
        session, effects = drive(*RESUMING, CANCEL)
        assert on.StopJob(StopReason.CANCEL) in effects
        assert session.state is State.EXECUTING

    def test_a_server_that_does_not_resume_owes_nothing(self) -> None:
        session, _ = drive(*RESUMING, BEAT, on.Fired(Timer.RESUME), BEAT, DONE)
        assert of(on.Delivered, session.step(ACK_JOB))

    def test_a_job_that_ends_in_doubt_is_delivered_over_a_fresh_channel(self) -> None:
        session, effects = drive(*RESUMING, DONE)
        assert effects[-2:] == [on.Close(), on.Connect(None)]
        assert sent(session.step(on.Connected())) == ["completed"]
        assert of(on.Delivered, session.step(ACK_JOB))

    def test_a_job_that_ended_offline_is_delivered_first(self) -> None:
        session, _ = drive(*DROPPED, DONE)
        assert sent(session.step(on.Connected())) == ["completed"]

    def test_a_job_whose_start_nobody_heard_is_stopped(self) -> None:
        """G3, G29: a stock server would drop the channel over its `completed`."""
        session, _ = drive(*TAKEN, on.Lost(), on.Connected())
        assert on.StopJob(StopReason.UNCONFIRMED) in session.step(on.Fired(Timer.RESUME))

    def test_the_hard_limit_ends_the_benchmark(self) -> None:
        """G36."""
        assert on.StopJob(StopReason.DEADLINE) in drive(*TAKEN, on.Lost(1000, CloseReason.JOB_TIMEOUT_EXCEEDED))[1]

    @pytest.mark.parametrize("reason", [CloseReason.HEARTBEAT_TIMEOUT, CloseReason.SUPERSEDED, CloseReason.SHUTTING_DOWN])
    def test_other_closes_do_not(self, reason: str) -> None:
        session, effects = drive(*TAKEN, on.Lost(1000, reason))
        assert not of(on.StopJob, effects)
        assert session.job == JOB


class TestRefusals:
    def test_a_result_is_parked_after_five_dropped_channels(self) -> None:
        session, effects = drive(*DELIVERING)
        for times in range(1, MAX_REFUSALS):
            effects = session.step(on.Lost())
            assert on.Refused(JOB, times) in effects
            effects = session.step(on.Connected())
            assert sent(effects) == ["completed"]
        effects = session.step(on.Lost())
        assert [park.job for park in of(on.Park, effects)] == [JOB]
        assert sent(session.step(on.Connected())) == ["ready"]

    def test_a_server_that_stops_has_refused_nothing(self) -> None:
        session, effects = drive(*DELIVERING, on.Lost(1001, CloseReason.SHUTTING_DOWN))
        assert not of(on.Refused, effects)
        assert session.pending[0].refusals == 0

    def test_failed_connects_are_no_refusals(self) -> None:
        session, _ = drive(*DELIVERING, on.Lost(), *[on.Lost()] * 20)
        assert session.pending[0].refusals == 1

    def test_age_parks_it_too(self) -> None:
        session, effects = drive(*DELIVERING, on.Lost(), on.Expired(JOB))
        assert [park.job for park in of(on.Park, effects)] == [JOB]
        assert not session.pending

    def test_earlier_results_come_first_one_after_the_other(self) -> None:
        other = uuid4()
        pending = [Pending(messages.Canceled(job=JOB)), Pending(messages.Failed(job=other, results=[], error="e"))]
        session, effects = drive(on.Connected(), pending=pending)
        assert sent(effects) == ["canceled"]
        assert sent(session.step(ACK_JOB)) == ["failed"]
        assert sent(session.step(messages.Ack(job=other))) == ["ready"]


class TestSizes:
    """G10: an oversize result is trimmed, never lost, never a loop."""

    BIG = on.Finished(messages.Completed(job=JOB, results=[messages.IterationOutput(exit_code=0, stdout="x" * 6_000_000)]))

    @staticmethod
    def size(effects: list[on.Effect]) -> int:
        (send,) = of(on.Send, effects)
        return len(messages.encode(send.message).encode())

    def test_four_mebibytes_are_assumed(self) -> None:
        assert 4_000_000 < self.size(drive(*TAKEN, ACK, self.BIG)[1]) <= 4 * 2**20 - 64 * 1024

    def test_a_smaller_limit_is_believed(self) -> None:
        assert self.size(drive(*IDLE, job(ext={"v": 1, "max_message_bytes": 100_000}), ACK, self.BIG)[1]) <= 100_000

    def test_too_big_shrinks_at_once_and_a_drop_the_second_time(self) -> None:
        session, effects = drive(*TAKEN, ACK, self.BIG)
        full = self.size(effects)
        session.step(on.Lost())
        assert self.size(session.step(on.Connected())) == full
        session.step(on.Lost(1009))
        assert self.size(session.step(on.Connected())) < full / 3

    def test_a_limit_of_128_kib_that_nobody_tells_is_found_before_the_dead_letters(self) -> None:
        session, effects = drive(*TAKEN, ACK, self.BIG)
        while self.size(effects) > 128 * 1024:
            session.step(on.Lost())
            effects = session.step(on.Connected())
        assert session.pending[0].refusals < MAX_REFUSALS
        assert self.size(effects) >= LEAST_BYTES


class TestShutdown:
    """G8: SIGTERM during a job delivers what it has."""

    def test_idle_it_leaves(self) -> None:
        assert drive(*IDLE, on.Shutdown())[1] == [on.Close(), on.Exit()]

    def test_a_job_is_stopped_delivered_and_then_it_leaves(self) -> None:
        session, effects = drive(*TAKEN, ACK, on.Shutdown())
        assert effects == [on.StopJob(StopReason.SHUTDOWN)]
        assert sent(session.step(on.Finished(messages.Failed(job=JOB, results=[], error="RunnerShutdown: x")))) == ["failed"]
        assert session.step(ACK_JOB)[-2:] == [on.Close(), on.Exit()]

    def test_a_result_under_way_is_delivered_first(self) -> None:
        session, effects = drive(*DELIVERING, on.Shutdown())
        assert effects == []
        assert session.step(ACK_JOB)[-1] == on.Exit()

    def test_twice_is_once(self) -> None:
        assert drive(*TAKEN, on.Shutdown(), on.Shutdown())[1] == []

    def test_offline_with_nothing_to_say_it_leaves(self) -> None:
        assert drive(on.Shutdown())[1] == [on.Close(), on.Exit()]
