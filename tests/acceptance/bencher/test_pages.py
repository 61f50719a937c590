"""The pages in a browser whose scripts are off, on ``manage.py up``: from signing up to a canceled job, along the links of the command line."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.acceptance.bencher.program import MANAGE, Program, clean_environment, manage

pytestmark = [pytest.mark.acceptance, pytest.mark.browser, pytest.mark.enable_socket, pytest.mark.timeout(400)]
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
EMAIL = "ada@example.com"
LONG = "a-name-without-any-place-to-break-" * 5
SEED = """
import django
django.setup()
from bencher.projects.models import Project
from tests.jobs_world import make_job
project = Project.objects.get(slug="demo")
print(make_job(project).pk)
"""


class Site(NamedTuple):
    url: str
    key: str
    folder: Path
    program: Program

    def send(self, path: str, body: Any = None) -> Any:
        """A REST call of the administrator."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data, headers), timeout=100) as answer:
            return json.load(answer)

    def report(self, value: float, hour: int, **more: Any) -> Any:
        moment = f"2026-01-01T{hour:02}:00:00Z"
        results = [json.dumps({"sort::quick": {"latency": {"value": value}}, LONG: {"latency": {"value": 1}}})]
        context = {"bencher.dev/v0/repo/name": "demo"}
        body = {"project": "demo", "branch": "main", "testbed": "bench", "results": results, "start_time": moment, "end_time": moment}
        return self.send("/v0/run", {**body, "settings": {"adapter": "json"}, "context": context, **more})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("pages") / "data"
    assert manage(folder, "migrate").returncode == 0
    key = manage(folder, "create_admin", "--email", EMAIL).stdout.strip()
    program = Program(folder, "up", "--bind", "127.0.0.1:0", "--data", str(folder)).ready()
    found = Site(program.url, key, folder, program)
    watching = {"models": {"latency": {"test": "percentage", "upper_boundary": 0.1}}}
    for hour, value in enumerate((1.0, 1.0, 1.0, 9.0)):
        found.report(value, hour, thresholds=watching)
    yield found
    program.close()


@pytest.fixture
def page(site: Site, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A tab without scripts (``indirect``: with them, on a telephone); nothing complains in it."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    sync_api = pytest.importorskip("playwright.sync_api")
    telephone = getattr(request, "param", None) == "telephone"
    complaints: list[str] = []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        size = {"width": 390 if telephone else 1300, "height": 900}
        tab = browser.new_context(java_script_enabled=telephone, viewport=size, base_url=site.url).new_page()
        tab.set_default_timeout(60_000)
        tab.on("console", lambda message: message.type == "error" and complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        yield tab
        browser.close()
    assert complaints == []


def log_in(page: Any, site: Site) -> None:
    page.goto("/auth/login")
    page.get_by_label("E-mail address").fill(EMAIL)
    page.get_by_label("Password or user key").fill(site.key)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("button", name="Log out").wait_for()


def mailed_link(site: Site) -> str:
    """The latest confirmation link in the log."""
    for _ in range(100):
        if found := re.findall(r"https?://\S+?(/auth/confirm\?token=\S+)", site.program.text()):
            return str(found[-1])
        time.sleep(0.1)
    raise AssertionError(site.program.text()[-2000:])


def test_sign_up_confirm_log_out(page: Any, site: Site) -> None:
    page.goto("/auth/signup")
    page.get_by_role("textbox", name="Name").fill("Grace")
    page.get_by_label("E-mail address").fill("grace@example.com")
    page.get_by_label("I agree").check()
    page.get_by_role("button", name="Sign up").click()
    assert "in the server's log" in page.inner_text("main")
    page.goto(mailed_link(site))
    page.get_by_role("button", name="Log in").click()
    assert "Grace" in page.inner_text("header")
    page.get_by_role("button", name="Log out").click()
    assert page.get_by_role("link", name="Log in").is_visible()


def test_from_a_report_to_its_series_and_a_dismissed_alert(page: Any, site: Site) -> None:
    log_in(page, site)
    newest = site.send("/v0/projects/demo/reports?per_page=1")[0]["uuid"]
    page.goto(f"/perf/demo/reports/{newest}")
    page.get_by_role("link", name="sort::quick").last.click()
    assert "/perf/demo?branches=" in page.url
    assert page.locator("figure svg[role=img] circle").count() == 4
    assert page.locator("figure circle.alert").count() == 1
    page.get_by_role("link", name="active").first.click()
    page.get_by_role("button", name="Dismiss").click()
    assert site.send("/v0/projects/demo/alerts")[0]["status"] == "dismissed"
    page.get_by_role("button", name="Reactivate").click()
    assert site.send("/v0/projects/demo/alerts")[0]["status"] == "active"


def test_a_choice_by_hand(page: Any, site: Site) -> None:
    page.goto("/perf/demo")
    for name in ("main", "bench", "sort::quick", "Latency"):
        page.get_by_label(name, exact=True).check()
    page.get_by_label("upper limits").check()
    page.get_by_role("button", name="Show").click()
    assert page.locator("figure circle").count() == 4
    assert page.locator("path.limit").count() == 1


def test_a_job_is_canceled_by_its_button(page: Any, site: Site) -> None:
    environment = {**clean_environment(), "BENCHER_DATA_DIR": str(site.folder), "DJANGO_SETTINGS_MODULE": "bencher.settings"}
    seeded = subprocess.run([sys.executable, "-c", SEED], cwd=MANAGE.parent, env=environment, capture_output=True, text=True, timeout=100)
    assert seeded.returncode == 0, seeded.stderr
    job = seeded.stdout.split()[-1]
    page.goto(f"/perf/demo/jobs/{job}")
    assert page.get_by_role("button", name="Cancel").count() == 0
    log_in(page, site)
    page.goto(f"/perf/demo/jobs/{job}")
    page.get_by_role("button", name="Cancel").click()
    assert page.locator("h1 .badge").inner_text() == "canceled"
    assert site.send(f"/v0/projects/demo/jobs/{job}")["status"] == "canceled"


@pytest.mark.parametrize("page", ["telephone"], indirect=True)
def test_on_a_telephone_nothing_sticks_out(page: Any, site: Site) -> None:
    log_in(page, site)
    report = site.send("/v0/projects/demo/reports?per_page=1")[0]["uuid"]
    lists = ("reports", "alerts", "thresholds", "branches", "testbeds", "benchmarks", "measures", "jobs", f"reports/{report}")
    for path in ("/", "/console/projects/demo", "/perf/demo", *(f"/perf/demo/{name}" for name in lists)):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
