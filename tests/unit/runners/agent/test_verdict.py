"""An outcome as the message that tells it."""

from uuid import uuid4

import pytest

from runners.agent.cgroups import Usage
from runners.agent.errors import Canceled, RunnerShutdown, Timeout
from runners.agent.execution import Outcome
from runners.agent.iteration import Iteration
from runners.agent.verdict import message
from runners.protocol import messages

JOB = uuid4()


def test_completed_leaves_out_what_is_empty() -> None:
    told = message(JOB, Outcome([Iteration(0), Iteration(3, "out", "err", {"f": "x"})]))
    assert told == messages.Completed(
        job=JOB,
        results=[
            messages.IterationOutput(exit_code=0),
            messages.IterationOutput(exit_code=3, stdout="out", stderr="err", output={"f": "x"}),
        ],
    )


@pytest.mark.parametrize("reason", [Timeout("late"), RunnerShutdown("stop"), None])
def test_an_error_is_failed_with_what_there_is(reason: Timeout | RunnerShutdown | None) -> None:
    told = message(JOB, Outcome([Iteration(0)], error="Some: error", reason=reason))
    assert told == messages.Failed(job=JOB, results=[messages.IterationOutput(exit_code=0)], error="Some: error")


def test_a_cancel_wins_over_whatever_the_benchmark_made_of_it() -> None:
    """G6."""
    assert message(JOB, Outcome([Iteration(143)], error="Canceled: x", reason=Canceled("x"))) == messages.Canceled(job=JOB)


def test_the_extension_only_when_the_server_takes_it() -> None:
    item = Iteration(1, error=Timeout("late"), dropped={"stdout": 9}, milliseconds={"run": 5}, usage=Usage(1, None, 3))
    outcome = Outcome([item, Iteration(0)], milliseconds={"pull": 7, "unpack": 8})
    plain = message(JOB, outcome)
    assert isinstance(plain, messages.Completed)
    assert messages.ext_of(plain.results[0]) == {}
    rich = message(JOB, outcome, with_ext=True)
    assert isinstance(rich, messages.Completed)
    assert messages.ext_of(rich.results[0]) == {
        "v": 1, "status": "failed", "phases": {"pull": 7, "unpack": 8, "run": 5}, "usage": {"cpu_user_us": 1, "mem_peak": 3},
        "dropped": {"stdout": 9}, "error": {"type": "Timeout", "message": "late"},
    }  # fmt: skip
    assert messages.ext_of(rich.results[1])["phases"] == {}


def test_an_error_text_is_one_short_line() -> None:
    assert Timeout("first\nsecond").describe() == "Timeout: first"
    assert len(Timeout("x" * 5000).describe()) == 1024
    assert Timeout("").describe() == "Timeout: "
