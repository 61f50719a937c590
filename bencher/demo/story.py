"""The main job from end to end: image, job, runner, report (issue: the line that everything else widens)."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bencher.demo.client import Client
from bencher.demo.image import demo_image
from bencher.demo.processes import Process, Server, runner_process

EMAIL = "admin@example.com"
SLUG = "demo"
ENDED = ("processed", "failed", "canceled")
TIMEOUT_SECONDS = 60
ITERATIONS = 3
ARCHITECTURES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
Say = Callable[[str], None]


class JobFailed(Exception):
    """The job ended otherwise than processed; the text says how."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What is left to show: the report as REST gives it, and the address of its page."""

    report: dict[str, Any]
    url: str


def tell(folder: Path, stack: ExitStack, say: Say) -> Ending:
    """Everything, with processes that ``stack`` ends. Raises JobFailed, NotStarted or Refused."""
    server = Server(folder / "server")
    stack.callback(server.stop)
    server.start()
    say(f"server: {server.url}")
    client = Client(server.url, server.admin_key(EMAIL), EMAIL)
    stack.callback(client.close)
    spec, runner, key = prepare(client)
    image = demo_image()
    client.push(SLUG, "v1", image)
    say(f"image: {server.url.removeprefix('http://')}/{SLUG}:v1, {(len(image.layer) + len(image.config)) >> 10} KiB, {image.digest[:19]}…")
    agent = runner_process(folder / "runner", url=server.url, runner=runner, key=key)
    stack.callback(agent.stop)
    report = client.call("POST", "/v0/run", run_body(spec))
    say(f"job: {report['job']}")
    for status in follow(client, SLUG, report["job"], agent):
        say(f"  {status}")
    return Ending(
        client.call("GET", f"/v0/projects/{SLUG}/reports/{report['uuid']}"),
        f"{server.url}/v0/projects/{SLUG}/reports/{report['uuid']}",
    )


def prepare(client: Client, slug: str = SLUG) -> tuple[str, str, str]:
    """A project, a spec and a runner for it: (spec, runner, the runner's key)."""
    client.call("POST", "/v0/organizations", {"name": slug, "slug": slug})
    client.call("POST", f"/v0/organizations/{slug}/projects", {"name": slug, "slug": slug})
    hardware = {
        "os": "linux",
        "architecture": ARCHITECTURES[platform.machine()],
        "cpu": 1,
        "memory": 512 << 20,
        "disk": 1 << 30,
        "network": False,
    }
    spec = client.call("POST", "/v0/specs", {"name": f"{slug} hardware", **hardware})
    runner = client.call("POST", "/v0/runners", {"name": f"{slug} runner"})
    client.call("POST", f"/v0/runners/{runner['uuid']}/specs", {"spec": spec["uuid"]})
    return spec["uuid"], runner["uuid"], runner["key"]


def run_body(spec: str, slug: str = SLUG, **job: Any) -> dict[str, Any]:
    """A run of the demo's image: the best of three iterations."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {
        "project": slug,
        "branch": "main",
        "testbed": "bench",
        "start_time": now,
        "end_time": now,
        "results": [],
        "settings": {"adapter": "magic", "fold": "min"},
        "job": {"image": f"{slug}:v1", "spec": spec, "iter": ITERATIONS, "timeout": TIMEOUT_SECONDS, **job},
    }


def follow(client: Client, slug: str, job: str, agent: Process | None = None) -> Iterator[str]:
    """Every status that the job is seen in, until it is processed. Raises JobFailed."""
    seen, deadline = "", time.monotonic() + 2 * TIMEOUT_SECONDS
    while seen not in ENDED:
        if time.monotonic() > deadline:
            raise JobFailed(f"the job is still {seen}")
        if agent is not None and not agent.alive():
            raise agent.failed()
        found = client.call("GET", f"/v0/projects/{slug}/jobs/{job}")
        if found["status"] != seen:
            seen = found["status"]
            yield seen
        time.sleep(0.1)
    if seen != "processed":
        events = client.call("GET", f"/v0/projects/{slug}/jobs/{job}/events?per_page=255")
        raise JobFailed(
            f"the job is {seen}: {found.get('output', {}).get('error') or events[-1].get('reason', 'unknown error')}\n{found.get('output')}"
        )
