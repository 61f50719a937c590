"""The main job from end to end, with live processes: image, job, runner, report (issue of the main line)."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import websockets

from bencher.demo.client import Client
from bencher.demo.image import demo_image, write_layout
from bencher.demo.processes import Server, runner_process
from bencher.demo.story import EMAIL, SLUG, follow, prepare, run_body

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(300)]
DIGEST = "sha256:" + "0" * 64
CHANNELS = 200


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


@pytest.fixture
def server(tmp_path: Path, stack: ExitStack) -> Server:
    made = Server(tmp_path / "server")
    stack.callback(made.stop)
    return made.start()


@pytest.fixture
def client(server: Server, stack: ExitStack) -> Client:
    made = Client(server.url, server.admin_key(EMAIL), EMAIL)
    stack.callback(made.close)
    return made


def skopeo_push(server: Server, client: Client, folder: Path) -> None:
    write_layout(demo_image(), folder, "v1")
    target = f"docker://{server.url.removeprefix('http://')}/{SLUG}:v1"
    credentials = f"{EMAIL}:{client.key}"
    command = ["skopeo", "copy", "-q", "--dest-tls-verify=false", "--dest-creds", credentials, f"oci:{folder}:v1", target]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def benchmarks(client: Client, report: str) -> list[str]:
    found = client.call("GET", f"/v0/projects/{SLUG}/reports/{report}")
    assert all(entry["measures"][0]["metric"]["value"] > 0 for iteration in found["results"] for entry in iteration)
    return sorted(entry["benchmark"]["name"] for iteration in found["results"] for entry in iteration)


# -- one job -------------------------------------------------------------------------------------------------------
def test_from_skopeo_to_the_report(server: Server, client: Client, stack: ExitStack, tmp_path: Path) -> None:
    spec, runner, key = prepare(client)
    skopeo_push(server, client, tmp_path / "layout")
    agent = runner_process(tmp_path / "runner", url=server.url, runner=runner, key=key)
    stack.callback(agent.stop)
    report = client.call("POST", "/v0/run", run_body(spec))
    assert list(follow(client, SLUG, report["job"], agent))[-1] == "processed"
    assert len(benchmarks(client, report["uuid"])) == 3
    job = client.call("GET", f"/v0/projects/{SLUG}/jobs/{report['job']}")
    assert job["runner"] == runner
    assert [iteration["exit_code"] for iteration in job["output"]["results"]] == [0, 0, 0]
    actions = [event["action"] for event in client.call("GET", f"/v0/projects/{SLUG}/jobs/{report['job']}/events?per_page=255")]
    assert actions == ["submit", "claim", "start", "complete", "process"]


def test_the_result_survives_the_death_of_the_server(server: Server, client: Client, stack: ExitStack, tmp_path: Path) -> None:
    """SIGKILL while the runner works: it goes on, finds the new server, and delivers."""
    spec, runner, key = prepare(client)
    skopeo_push(server, client, tmp_path / "layout")
    agent = runner_process(tmp_path / "runner", url=server.url, runner=runner, key=key)
    stack.callback(agent.stop)
    first = client.call("POST", "/v0/run", run_body(spec, iter=1))  # now the runner has the image
    assert list(follow(client, SLUG, first["job"], agent))[-1] == "processed"
    slow = "end=$(($(date +%s) + 4)); while [ $(date +%s) -lt $end ]; do :; done; exec sh bench.sh"
    report = client.call("POST", "/v0/run", run_body(spec, iter=1, cmd=["/bin/sh", "-c", slow]))
    statuses = follow(client, SLUG, report["job"], agent)
    assert any(status == "running" for status in statuses)
    server.kill()
    time.sleep(1)
    server.start()
    assert list(follow(client, SLUG, report["job"], agent))[-1] == "processed"
    assert len(benchmarks(client, report["uuid"])) == 3


# -- many ----------------------------------------------------------------------------------------------------------
def make_runners(client: Client, spec: str) -> list[tuple[str, str]]:
    """(uuid, key) of as many runners as there are channels."""

    def one(number: int) -> tuple[str, str]:
        made = client.call("POST", "/v0/runners", {"name": f"machine {number}"})
        client.call("POST", f"/v0/runners/{made['uuid']}/specs", {"spec": spec})
        return made["uuid"], made["key"]

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(one, range(CHANNELS)))


def submit(client: Client, spec: str) -> dict[str, str]:
    """Job -> report, one for each channel."""
    body = {**run_body(spec), "settings": {"adapter": "json"}, "job": {"image": f"{SLUG}@{DIGEST}", "spec": spec}}
    with ThreadPoolExecutor(8) as pool:
        reports = list(pool.map(lambda _: client.call("POST", "/v0/run", body), range(CHANNELS)))
    return {report["job"]: report["uuid"] for report in reports}


async def work(url: str, number: int, runner: str, key: str, ready: asyncio.Barrier) -> tuple[str, int]:
    """One job from ``ready`` to the acknowledged result: (job, what was measured)."""
    address = f"{url.replace('http', 'ws', 1)}/v0/runners/{runner}/channel"
    async with websockets.connect(
        address, additional_headers={"Authorization": f"Bearer {key}"}, open_timeout=60, ping_interval=None
    ) as channel:

        async def say(wanted: str, **message: Any) -> Any:
            await channel.send(json.dumps(message))
            answer = json.loads(await asyncio.wait_for(channel.recv(), 120))
            assert answer["event"] == wanted, answer
            return answer

        await ready.wait()
        job = (await say("job", event="ready", poll_timeout=120))["uuid"]
        await say("ack", event="running")
        for _ in range(3):
            await say("ack", event="heartbeat")
        results = [{"exit_code": 0, "stdout": json.dumps({"number": {"latency": {"value": number}}})}]
        assert (await say("ack", event="completed", job=job, results=results))["job"] == job
    return job, number


async def work_all(url: str, runners: list[tuple[str, str]]) -> list[tuple[str, int]]:
    ready = asyncio.Barrier(len(runners))
    return await asyncio.gather(*(work(url, number, runner, key, ready) for number, (runner, key) in enumerate(runners)))


def test_two_hundred_channels_lose_nothing_and_double_nothing(server: Server, client: Client) -> None:
    spec, _, _ = prepare(client)
    runners = make_runners(client, spec)
    submitted = submit(client, spec)
    done = asyncio.run(work_all(server.url, runners))
    assert len({job for job, _ in done}) == CHANNELS
    assert {job for job, _ in done} == set(submitted)
    deadline = time.monotonic() + 120
    jobs: list[dict[str, Any]] = []
    while time.monotonic() < deadline and not (jobs and all(job["status"] == "processed" for job in jobs)):
        time.sleep(0.2)
        jobs = client.call("GET", f"/v0/projects/{SLUG}/jobs?per_page=255")
    assert {job["status"] for job in jobs} == {"processed"}
    assert {job["uuid"]: job["runner"] for job in jobs} == {job: runners[number][0] for job, number in done}
    reports = client.call("GET", f"/v0/projects/{SLUG}/reports?per_page=255&expand=true")
    measured = {
        report["job"]: [entry["measures"][0]["metric"]["value"] for found in report["results"] for entry in found] for report in reports
    }
    assert measured == {job: [float(number)] for job, number in done}
