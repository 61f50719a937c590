"""Shapes of the wire: golden frames, what is refused and with which code, and that nothing crashes the decoder."""

from __future__ import annotations

import contextlib
import json
import random
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.protocol import messages as m
from runners.protocol.errors import CloseCode, Undecodable, shorten

JOB = UUID("550e8400-e29b-41d4-a716-446655440000")
SHA = "0123456789abcdef" * 4
CONVERSATIONS = Path(__file__).parents[3] / "data" / "conversations"

GOLDEN: dict[str, m.Message] = {
    '{"event":"ready"}': m.Ready(),
    '{"event":"ready","poll_timeout":30,"runner":{"os":"linux","arch":"x86_64","version":"0.6.12"}}': m.Ready(
        poll_timeout=30, runner=m.RunnerInfo(os="linux", arch="x86_64", version="0.6.12")
    ),
    '{"event":"running"}': m.Running(),
    '{"event":"heartbeat"}': m.Heartbeat(),
    '{"event":"no_job"}': m.NoJob(),
    '{"event":"cancel"}': m.Cancel(),
    '{"event":"ack"}': m.Ack(),
    f'{{"event":"ack","job":"{JOB}"}}': m.Ack(job=JOB),
    f'{{"event":"canceled","job":"{JOB}"}}': m.Canceled(job=JOB),
    f'{{"event":"completed","job":"{JOB}","results":[{{"exit_code":0,"stdout":"hello","stderr":"world"}}]}}': m.Completed(
        job=JOB, results=[m.IterationOutput(exit_code=0, stdout="hello", stderr="world")]
    ),
    f'{{"event":"failed","job":"{JOB}","results":[],"error":"startup failure"}}': m.Failed(job=JOB, results=[], error="startup failure"),
    f'{{"event":"update","version":"0.6.13","url":"https://x/runner","checksum":"{SHA}"}}': m.Update(
        version="0.6.13", url="https://x/runner", checksum=SHA
    ),
}


def decode(text: str) -> m.Message:
    event = json.loads(text)["event"]
    return m.decode_server(text) if event in {"ack", "job", "no_job", "cancel", "update"} else m.decode_runner(text)


@pytest.mark.parametrize("text", GOLDEN)
def test_golden_frames(text: str) -> None:
    assert m.encode(GOLDEN[text]) == text
    assert decode(text) == GOLDEN[text]


def test_job_frame() -> None:
    """One flat object; the three fields of the spec that stock writes as ``null`` are there, other absent ones are not."""
    moment = datetime(2026, 11, 30, 14, 13, 18, tzinfo=UTC)
    spec = m.Spec(
        uuid=JOB,
        name="s",
        slug="s",
        os="linux",
        architecture="x86_64",
        cpu=2,
        memory=1,
        disk=1,
        network=False,
        created=moment,
        modified=moment,
    )
    config = m.JobConfig(registry="http://localhost/", project=JOB, digest=f"sha256:{SHA}", timeout=300)
    frame = json.loads(m.encode(m.Job(uuid=JOB, spec=spec, config=config, oci_token="t", timeout=300, created=moment)))
    assert list(frame) == ["event", "uuid", "spec", "config", "oci_token", "timeout", "created"]
    assert {key: frame["spec"][key] for key in ("sandbox", "fallback", "archived")} == {"sandbox": None, "fallback": None, "archived": None}
    assert frame["created"] == "2026-11-30T14:13:18Z"
    assert frame["config"] == {"registry": "http://localhost/", "project": str(JOB), "digest": f"sha256:{SHA}", "timeout": 300}


def recorded_frames() -> list[tuple[str, str]]:
    found = []
    for path in sorted(CONVERSATIONS.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            if "text" in entry:
                found.append((entry["from"], entry["text"]))
    return found


def test_recorded_frames_are_read_and_written_back() -> None:
    """Every frame of the recorded conversations means the same after a round trip."""
    frames = recorded_frames()
    assert len(frames) > 100
    for sender, text in frames:
        text = text.replace("{oci_token}", "a.b.c")
        message = m.decode_runner(text) if sender == "runner" else m.decode_server(text)
        assert json.loads(m.encode(message)) == json.loads(text)


DEEP = 20_000
INVALID = {
    "poll-zero": '{"event":"ready","poll_timeout":0}',
    "poll-901": '{"event":"ready","poll_timeout":901}',
    "poll-text": '{"event":"ready","poll_timeout":"5"}',
    "poll-fraction": '{"event":"ready","poll_timeout":1.5}',
    "poll-true": '{"event":"ready","poll_timeout":true}',
    "poll-huge": '{"event":"ready","poll_timeout":' + "9" * 5000 + "}",
    "unknown-event": '{"event":"explode"}',
    "server-event": f'{{"event":"ack","job":"{JOB}"}}',
    "no-event": "{}",
    "list": '[{"event":"heartbeat"}]',
    "null": "null",
    "os": '{"event":"ready","runner":{"os":"plan9","arch":"x86_64","version":"1"}}',
    "arch": '{"event":"ready","runner":{"os":"linux","arch":"riscv64","version":"1"}}',
    "channel": '{"event":"ready","runner":{"os":"linux","arch":"x86_64","version":"1","channel":"nightly"}}',
    "checksum-case": f'{{"event":"ready","runner":{{"os":"linux","arch":"x86_64","version":"1","checksum":"{SHA.upper()}"}}}}',
    "checksum-newline": f'{{"event":"ready","runner":{{"os":"linux","arch":"x86_64","version":"1","checksum":"{SHA}\\n"}}}}',
    "no-version": '{"event":"ready","runner":{"os":"linux","arch":"x86_64"}}',
    "exit-above": f'{{"event":"completed","job":"{JOB}","results":[{{"exit_code":2147483648}}]}}',
    "exit-below": f'{{"event":"completed","job":"{JOB}","results":[{{"exit_code":-2147483649}}]}}',
    "exit-huge": f'{{"event":"completed","job":"{JOB}","results":[{{"exit_code":1' + "0" * 5000 + "}]}",
    "job-text": '{"event":"canceled","job":"not-a-uuid"}',
    "results-null": f'{{"event":"completed","job":"{JOB}","results":null}}',
    "iteration-list": f'{{"event":"completed","job":"{JOB}","results":[[0]]}}',
    "output-null": f'{{"event":"completed","job":"{JOB}","results":[{{"exit_code":0,"output":{{"/a":null}}}}]}}',
    "error-absent": f'{{"event":"failed","job":"{JOB}","results":[]}}',
    "deep": f'{{"event":"completed","job":"{JOB}","results":' + "[" * DEEP + "]" * DEEP + "}",
    "deep-unknown": '{"event":"heartbeat","x":' + '{"a":' * DEEP + "1" + "}" * DEEP + "}",
}
NO_JSON = {
    "empty": "",
    "garbage": "not json{{{",
    "trailing": '{"event":"heartbeat"}{}',
    "byte-order-mark": '\ufeff{"event":"heartbeat"}',
    "nan": '{"event":"ready","poll_timeout":NaN}',
    "infinity": '{"event":"heartbeat","x":-Infinity}',
    "surrogate": f'{{"event":"failed","job":"{JOB}","results":[],"error":"\\udfff"}}',
    "surrogate-in-unknown": '{"event":"heartbeat","x":"\\ud800"}',
    "surrogate-in-text": '{"event":"heartbeat","x":"\ud800"}',
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_messages(name: str) -> None:
    with pytest.raises(Undecodable) as refused:
        m.decode_runner(INVALID[name])
    assert refused.value.code == CloseCode.INVALID
    assert 0 < len(refused.value.reason.encode()) <= 123


@pytest.mark.parametrize("name", NO_JSON)
def test_what_is_no_json(name: str) -> None:
    with pytest.raises(Undecodable) as refused:
        m.decode_runner(NO_JSON[name])
    assert (refused.value.code, refused.value.reason) == (CloseCode.NOT_TEXT, "not a JSON text")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"event":"ready","poll_timeout":null,"runner":null}', m.Ready()),
        (f'{{"job":"{str(JOB).upper()}","event":"canceled","why":[1,null]}}', m.Canceled(job=JOB)),
        (
            f'{{"event":"completed","job":"{JOB}","results":[{{"exit_code":0,"stdout":null,"output":null,"wall_s":1.5}}]}}',
            m.Completed(job=JOB, results=[m.IterationOutput(exit_code=0)]),
        ),
        (' {\n"event" : "running"\t}\r\n', m.Running()),
    ],
)
def test_lenient_where_the_protocol_is(text: str, message: m.Message) -> None:
    assert m.decode_runner(text) == message


@pytest.mark.parametrize(("field", "limit"), [("entrypoint", 64), ("cmd", 64), ("file_paths", 255)])
def test_config_lists_are_bounded(field: str, limit: int) -> None:
    config = {"registry": "http://x/", "project": str(JOB), "digest": f"sha256:{SHA}", "timeout": 1}
    assert m.decode_config(json.dumps({**config, field: ["a"] * limit}))
    with pytest.raises(Undecodable, match=field):
        m.decode_config(json.dumps({**config, field: ["a"] * (limit + 1)}))
    with pytest.raises(Undecodable, match="env"):
        m.decode_config(json.dumps({**config, "env": {f"K{number}": "" for number in range(256)}}))


@pytest.mark.parametrize("ext", ["5", "null", "[]", '{"v":2}', '"x"', "{}"])
def test_an_extension_of_another_kind_is_none(ext: str) -> None:
    assert m.ext_of(m.decode_runner(f'{{"event":"heartbeat","ext":{ext}}}')) == {}


def test_extensions_travel() -> None:
    ext = {"v": 1, "job": str(JOB), "logs": ["a"]}
    message = m.decode_runner(m.encode(m.Heartbeat(ext=m.raw_ext(ext))))
    assert m.ext_of(message) == ext
    assert m.encode(m.Heartbeat(ext=m.raw_ext({}))) == '{"event":"heartbeat"}'


@given(st.text())
def test_reasons_fit_a_close_frame(text: str) -> None:
    cut = shorten(text)
    assert len(cut.encode()) <= 123
    assert text.encode("utf-8", "replace").decode().startswith(cut)


@given(st.one_of(st.text(), st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=5).map(json.dumps)))
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (m.decode_runner, m.decode_server, m.decode_config):
        with contextlib.suppress(Undecodable):
            read(text)


def test_mutated_frames_are_read_or_refused() -> None:
    """Recorded frames with bytes changed, cut and doubled: 20 000 of the million that ``benchmarks/fuzz_channel.py`` tries."""
    chance = random.Random(7)
    texts = [text for _, text in recorded_frames()]
    read = 0
    for _ in range(20_000):
        data = bytearray(chance.choice(texts).encode()[:2000])
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(data))
            match chance.randint(0, 3):
                case 0:
                    data[at] = chance.randrange(256)
                case 1:
                    del data[at : at + chance.randint(1, 8)]
                case 2:
                    data[at:at] = data[at : at + 16]
                case 3:
                    data[at:at] = chance.choice([b"null", b"1e999", b"\\ud800", b"[", b"{", b'"', b"\x00"])
            if not data:
                break
        try:
            m.decode_runner(bytes(data))
            read += 1
        except Undecodable:
            pass
    assert read > 0
