"""The pace of connects, the address, and what a frame becomes."""

import json
import random
from uuid import uuid4

import pytest

from runners.agent.channel import MAX_CONNECTS_AN_HOUR, Endpoint, Pace, read
from runners.agent.update import notice
from runners.protocol import messages
from runners.protocol.agent_signals import Garbled

KEY = "bencher_runner_" + "k" * 30


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("http://localhost:6610", "ws://localhost:6610/v0/runners/r/channel"),
        ("https://bench.example/", "wss://bench.example/v0/runners/r/channel"),
        ("https://bench.example/sub/", "wss://bench.example/sub/v0/runners/r/channel"),
        ("http://[::1]:80", "ws://[::1]:80/v0/runners/r/channel"),
    ],
)
def test_the_address(host: str, url: str) -> None:
    endpoint = Endpoint(host, "r", KEY)
    assert endpoint.url == url
    assert KEY not in repr(endpoint)


class TestPace:
    def test_pauses_double_to_a_minute_with_full_jitter(self) -> None:
        for failures, cap in enumerate([5, 10, 20, 40, 60, 60, 60]):
            pace = Pace(rng=random.Random(failures))
            pauses = [pace.pause(failures, 1e9 * number) for number in range(100)]
            assert all(0 <= pause <= cap for pause in pauses)
            assert max(pauses) > cap * 0.9
            assert min(pauses) < cap * 0.1

    def test_a_fresh_channel_is_opened_at_once(self) -> None:
        assert Pace().pause(None, 0) == 0

    def test_a_server_that_asks_for_time_gets_it(self) -> None:
        assert Pace().pause(0, 0, at_least=30) >= 30

    @pytest.mark.parametrize("failures", [None, 0])
    def test_never_more_than_256_an_hour(self, failures: int | None) -> None:
        pace, now, made = Pace(rng=random.Random(2)), 0.0, []
        for _ in range(1000):
            now += pace.pause(failures, now)
            made.append(now)
        for first in made:
            assert sum(first <= other < first + 3600 for other in made) <= MAX_CONNECTS_AN_HOUR


class TestFrames:
    def test_a_message(self) -> None:
        assert read('{"event":"no_job","ext":{"v":1},"unknown":[]}') == messages.NoJob(ext=messages.raw_ext({"v": 1}))

    @pytest.mark.parametrize(
        "text", ["", "x", "[]", '{"event":"dance"}', '{"event":"ack","job":7}', "[" * 50_000, '{"event":"job","uuid":"no"}', "1" * 5000]
    )
    def test_no_message(self, text: str) -> None:
        given = read(text)
        assert isinstance(given, Garbled)
        assert given.job is None

    def test_a_job_that_is_too_much_is_still_known_by_its_uuid(self) -> None:
        uuid = uuid4()
        given = read(json.dumps({"event": "job", "uuid": str(uuid), "config": {"cmd": ["x"] * 65}}))
        assert isinstance(given, Garbled)
        assert given.job == uuid


def test_an_update_is_a_notice_with_the_command() -> None:
    text = notice(messages.Update(version="0.7.0", url="http://u/runner", checksum="0" * 64))
    assert "pip install --upgrade" in text
    assert "0.7.0" in text
