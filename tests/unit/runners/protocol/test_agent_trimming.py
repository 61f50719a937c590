"""Oversize results (runner.md G10): shortened in a fixed order, with a visible marker, never above the limit, never without a word."""

import json
from uuid import uuid4

import pytest

from runners.protocol import messages
from runners.protocol.agent_trimming import fit, marker

JOB = uuid4()


def completed(*results: messages.IterationOutput) -> messages.Completed:
    return messages.Completed(job=JOB, results=list(results))


def size(message: messages.RunnerMessage) -> int:
    return len(messages.encode(message).encode())


def test_what_fits_is_untouched() -> None:
    message = completed(messages.IterationOutput(exit_code=0, stdout="x" * 100))
    assert fit(message, size(message)) is message


def test_stderr_goes_first_by_its_head() -> None:
    shorter = fit(completed(messages.IterationOutput(exit_code=0, stdout="o" * 5000, stderr="a" * 20_000 + "END")), 12_000)
    assert isinstance(shorter, messages.Completed)
    (result,) = shorter.results
    assert result.stdout == "o" * 5000
    assert result.stderr is not None
    assert result.stderr.startswith("…[truncated ")
    assert result.stderr.endswith("END")
    assert 11_000 < size(shorter) <= 12_000


def test_the_marker_counts_the_missing_bytes() -> None:
    text = "é" * 50_000
    (result,) = fit(completed(messages.IterationOutput(exit_code=0, stdout=text)), 30_000).results  # type: ignore[union-attr]
    kept = result.stdout.partition("]…")[2]
    assert result.stdout == marker(2 * (50_000 - len(kept))) + kept


def test_then_stdout_then_files() -> None:
    message = completed(
        messages.IterationOutput(exit_code=0, stdout="o" * 50_000, stderr="e" * 50_000, output={"a": "f" * 50_000, "b": "g"})
    )
    shorter = fit(message, 30_000)
    assert isinstance(shorter, messages.Completed)
    (result,) = shorter.results
    assert all(text.startswith("…[truncated ") for text in (result.stderr, result.stdout, result.output["a"]))  # type: ignore[index,union-attr]
    assert result.output["b"] == "g"  # type: ignore[index]
    assert size(shorter) <= 30_000


def test_the_largest_of_several_iterations_is_cut() -> None:
    message = completed(*(messages.IterationOutput(exit_code=n, stdout="x" * (n * 10_000)) for n in range(4)))
    shorter = fit(message, 50_000)
    assert [result.exit_code for result in shorter.results] == [0, 1, 2, 3]  # type: ignore[union-attr]
    assert shorter.results[1].stdout == "x" * 10_000  # type: ignore[union-attr]


@pytest.mark.parametrize("letter", ["\0", "\\", "\x1b", "日", "💩", '"'])
def test_escapes_are_counted_as_they_are_sent(letter: str) -> None:
    shorter = fit(completed(messages.IterationOutput(exit_code=0, stdout=letter * 200_000)), 100_000)
    assert 50_000 < size(shorter) <= 100_000
    json.loads(messages.encode(shorter))


def test_what_cannot_fit_says_so() -> None:
    message = completed(*(messages.IterationOutput(exit_code=0) for _ in range(10_000)))
    told = fit(message, 16_384)
    assert isinstance(told, messages.Failed)
    assert told.error == f"TooLarge: the result has {size(message)} bytes, the server takes 16384"
    assert told.results == []


def test_a_failure_keeps_its_reason() -> None:
    message = messages.Failed(job=JOB, results=[messages.IterationOutput(exit_code=0)] * 10_000, error="Timeout: late")
    assert fit(message, 16_384).error.startswith("Timeout: late (TooLarge: ")  # type: ignore[union-attr]


def test_canceled_is_small() -> None:
    message = messages.Canceled(job=JOB)
    assert fit(message, 1) is message
