"""Results on disk: private, whole, and never gone without a trace."""

import json
import os
import stat
import time
from pathlib import Path
from uuid import uuid4

import pytest

from runners.agent.spool import MAX_AGE_SECONDS, Spool
from runners.protocol import messages

JOB = uuid4()
RESULT = messages.Completed(job=JOB, results=[messages.IterationOutput(exit_code=0, stdout="a\0é💩")])


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "spool")


def test_a_result_survives_and_is_private(spool: Spool, tmp_path: Path) -> None:
    spool.file(RESULT)
    (path,) = (tmp_path / "spool/pending").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    (pending,) = Spool(tmp_path / "spool").load()
    assert pending.message == RESULT
    assert pending.refusals == 0


def test_it_goes_when_it_is_delivered(spool: Spool) -> None:
    spool.file(RESULT)
    spool.delivered(JOB)
    spool.delivered(JOB)
    assert list(spool.load()) == []


def test_oldest_first(spool: Spool) -> None:
    others = [messages.Canceled(job=uuid4()) for _ in range(3)]
    for made, message in zip((30, 10, 20), others, strict=True):
        spool.file(message, made)
    assert [pending.message for pending in spool.load()] == [others[1], others[2], others[0]]


def test_refusals_are_remembered(spool: Spool) -> None:
    spool.file(RESULT)
    spool.refused(JOB, 3)
    assert next(spool.load()).refusals == 3


def test_a_parked_result_is_kept_with_the_reason(spool: Spool, tmp_path: Path) -> None:
    spool.file(RESULT)
    path = spool.park(JOB, "nobody wanted it")
    assert list(spool.load()) == []
    kept = json.loads(path.read_text())
    assert kept["why"] == "nobody wanted it"
    assert messages.decode_runner(json.dumps(kept["message"])) == RESULT


def test_a_day_is_enough(spool: Spool) -> None:
    now = time.time()
    spool.file(RESULT, now - MAX_AGE_SECONDS - 1)
    spool.file(messages.Canceled(job=uuid4()), now - MAX_AGE_SECONDS + 60)
    assert spool.expired(now) == [JOB]


def test_a_crash_during_the_job_becomes_a_failure_with_what_there_was(spool: Spool) -> None:
    spool.begin(JOB)
    spool.begin(JOB, RESULT.results)
    (message,) = spool.interrupted()
    assert isinstance(message, messages.Failed)
    assert message.results == RESULT.results
    assert message.error.startswith("RunnerCrash: ")
    spool.file(message)
    assert spool.interrupted() == []


def test_a_crash_between_result_and_forgetting_the_job_does_not_change_the_result(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    spool.begin(JOB)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", lambda *_, **__: None)
        spool.file(RESULT)
    assert spool.interrupted() == []
    assert [pending.message for pending in spool.load()] == [RESULT]


def test_a_crash_in_the_middle_of_writing_leaves_the_old_text(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    spool.file(RESULT)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", die)
        with pytest.raises(KeyboardInterrupt):
            spool.refused(JOB, 4)
    assert next(spool.load()).refusals == 0


def test_a_half_written_file_is_removed_by_the_next_start(spool: Spool, tmp_path: Path) -> None:
    for folder in ("active", "pending"):
        (tmp_path / "spool" / folder / f"{JOB}.new").write_text("{")
    again = Spool(tmp_path / "spool")
    assert list(again.load()) == []
    assert not list((tmp_path / "spool").glob("*/*.new"))


@pytest.mark.parametrize("text", ["", "{", '{"message": {"event": "ready"}, "made": 1}', '{"message": 1, "made": 1}'])
def test_what_cannot_be_read_is_put_aside(spool: Spool, tmp_path: Path, text: str) -> None:
    (tmp_path / "spool/pending" / f"{JOB}.json").write_text(text)
    (tmp_path / "spool/active" / f"{JOB}.json").write_text(text)
    assert spool.interrupted() == []
    assert list(spool.load()) == []
    assert (spool.dead_letters / f"{JOB}.json").read_text() == text
