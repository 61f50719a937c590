"""Extensions are agreed on, or nothing of them is on the wire (typed-results.md, D1, D2, D8)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runners.protocol import messages as m
from runners.protocol.server import ServerSession
from runners.protocol.signals import Claimed, Deadline, Delivered, Judged, Send, Verdict
from tests.unit.runners.protocol.test_server import JOB, OWN

OFFER = {"v": 1, "features": ["result", "events", "resume", "retry", "re"], "agent": {"name": "x", "version": "1"}}
AGREED = {"v": 1, "features": ["re", "resume"], "max_message_bytes": 1000}


def said(session: ServerSession, given: Any) -> list[dict[str, Any]]:
    return [json.loads(m.encode(effect.message)) for effect in session.step(given) if isinstance(effect, Send)]


def frame(event: str, **fields: Any) -> Any:
    return m.decode_runner(json.dumps({"event": event, **fields}))


def executing(offer: Any) -> tuple[ServerSession, dict[str, Any]]:
    session = ServerSession(1000)
    session.step(frame("ready", **({} if offer is None else {"ext": offer})))
    (job,) = said(session, Claimed(JOB))
    return session, job


def test_the_job_says_what_was_agreed() -> None:
    _, job = executing(OFFER)
    assert job.pop("ext") == AGREED
    assert job == json.loads(m.encode(JOB))


def test_no_job_says_so_too() -> None:
    session = ServerSession(1000)
    session.step(frame("ready", ext=OFFER))
    assert said(session, Deadline()) == [{"event": "no_job", "ext": AGREED}]
    session.step(frame("ready"))  # the last one counts
    assert said(session, Deadline()) == [{"event": "no_job"}]


@pytest.mark.parametrize(
    "offer", [None, {}, {"v": 2, "features": ["re"]}, {"v": 1}, {"v": 1, "features": "re"}, ["re"], "re", 1, {"v": 1, "features": None}]
)
def test_without_an_offer_all_is_as_ever(offer: Any) -> None:
    session, job = executing(offer)
    assert "ext" not in job
    session.step(frame("heartbeat", ext={"v": 1, "id": 7}))
    assert said(session, Judged(Verdict.ALIVE)) == [{"event": "ack"}]


@pytest.mark.parametrize("features", [[], ["events"], [1, None, {}]])
def test_features_that_are_not_ours(features: list[Any]) -> None:
    session, job = executing({"v": 1, "features": features})
    assert job["ext"]["features"] == []
    session.step(frame("heartbeat", ext={"v": 1, "id": 7}))
    assert said(session, Judged(Verdict.ALIVE)) == [{"event": "ack"}]


@pytest.mark.parametrize("name", [7, 0, -3, "a-1", "x" * 64])
def test_an_ack_names_its_message(name: Any) -> None:
    session, _ = executing(OFFER)
    session.step(frame("heartbeat", ext={"v": 1, "id": name}))
    assert said(session, Judged(Verdict.ALIVE)) == [{"event": "ack", "ext": {"v": 1, "re": name}}]
    session.step(frame("heartbeat"))
    assert said(session, Judged(Verdict.ALIVE)) == [{"event": "ack"}]
    session.step(frame("failed", job=str(OWN), results=[], error="x", ext={"v": 1, "id": "last"}))
    assert said(session, Delivered(OWN)) == [{"event": "ack", "job": str(OWN), "ext": {"v": 1, "re": "last"}}]


@pytest.mark.parametrize("name", [True, None, 1.5, "x" * 65, [], {}, 2**53, 10**30])
def test_names_that_are_none(name: Any) -> None:
    session, _ = executing(OFFER)
    session.step(frame("heartbeat", ext={"v": 1, "id": name}))
    assert said(session, Judged(Verdict.ALIVE)) == [{"event": "ack"}]


def test_a_cancel_names_nothing() -> None:
    session, _ = executing(OFFER)
    session.step(frame("heartbeat", ext={"v": 1, "id": 7}))
    assert said(session, Judged(Verdict.CANCELED)) == [{"event": "cancel"}]
