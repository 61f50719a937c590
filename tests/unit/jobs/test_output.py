"""jobs/output.py: the stored document and the texts that the adapter reads (rest.md 3.5)."""

from __future__ import annotations

import pytest

from jobs.output import CorruptOutput, JobOutput, decode, encode, texts
from runners.protocol.messages import IterationOutput

NUL_KEY = "\u0000bencher"


def one(**fields: object) -> IterationOutput:
    return IterationOutput(exit_code=0, **fields)


@pytest.mark.parametrize(
    ("iterations", "expected"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([one()], [], id="silent"),
        pytest.param([one(stdout="a")], ["a"], id="stdout"),
        pytest.param([one(stdout="")], [""], id="empty-stdout"),
        pytest.param([one(stderr="x")], [], id="stderr"),
        pytest.param([one(stdout="a", output={"/f": "b"})], ["b"], id="file-hides-stdout"),
        pytest.param([one(stdout="a", output={})], [], id="empty-map-hides-stdout"),
        pytest.param([one(output={"/b": "2", "/a": "1", NUL_KEY: "0"})], ["0", "1", "2"], id="path-order"),
        pytest.param([one(stdout="1"), one(), one(output={"/z": "3", "/b": "2"})], ["1", "2", "3"], id="flat"),
    ],
)
def test_texts(iterations: list[IterationOutput], expected: list[str]) -> None:
    assert texts(JobOutput(results=iterations)) == expected


def test_what_is_stored_comes_back_whole() -> None:
    results = [
        IterationOutput(exit_code=-9, stdout="\u0000\n", stderr="é", output={NUL_KEY: "{}"}),
        IterationOutput(exit_code=2**31 - 1, stdout="", output={}),
    ]
    assert decode(encode(results, "broke\u0000")) == JobOutput(results=results, error="broke\u0000")


def test_what_was_not_said_is_not_stored() -> None:
    assert encode([IterationOutput(exit_code=0)]) == b'{"results":[{"exit_code":0}]}'


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"not json",
        b"[]",
        b"{}",
        b'{"results":{}}',
        b'{"results":[{}]}',
        b'{"results":[{"exit_code":"0"}]}',
        b"\xff",
        b'{"results":' + b"[" * 50_000,
    ],
    ids=["empty", "text", "list", "no-results", "no-list", "no-code", "text-code", "not-utf8", "deep"],
)
def test_corrupt(document: bytes) -> None:
    with pytest.raises(CorruptOutput):
        decode(document)
