"""The admin in a browser, on ``manage.py up``: hostile output stays text, buttons do what they say, and no policy is violated."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.acceptance.bencher.program import MANAGE, Program, clean_environment, manage

pytestmark = [pytest.mark.acceptance, pytest.mark.browser, pytest.mark.enable_socket, pytest.mark.timeout(400)]
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
EMAIL = "ada@example.com"
PATIENCE = 60_000
SEED = """
import django
django.setup()
from tests.jobs_world import iteration, make_job, make_project, make_runner, make_user, ran
hostile = "<script>alert(1)</script><img src=x onerror=alert(2)>\\x1b[31mred\\x1b[0m\\x1b[2J\\x00"
hostile += '<div x-data x-init="alert(4)" hx-get="/admin/" hx-trigger="load">' + "{{ 7*7 }} flood\\n" * (4 << 16)
project = make_project(make_user())
project.name = "<b onclick=alert(5)>Project</b>"
project.save()
done = ran(make_job(project), iteration(hostile, stderr="</pre><script>alert(3)</script>"), error="<svg onload=alert(6)>", status="failed",
           failure="unparsable")
print(done.pk, make_job(project).pk, make_runner().pk, project.organization_id)
"""


class Site(NamedTuple):
    url: str
    key: str
    ended: str
    waiting: str
    runner: str
    organization: str
    program: Program


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("admin") / "data"
    assert manage(folder, "migrate").returncode == 0
    key = manage(folder, "create_admin", "--email", EMAIL).stdout.strip()
    environment = {**clean_environment(), "BENCHER_DATA_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "bencher.settings"}
    seeded = subprocess.run([sys.executable, "-c", SEED], cwd=MANAGE.parent, env=environment, capture_output=True, text=True, timeout=100)
    assert seeded.returncode == 0, seeded.stderr
    program = Program(folder, "up", "--bind", "127.0.0.1:0", "--data", str(folder)).ready()
    yield Site(program.url, key, *seeded.stdout.split()[-4:], program)
    program.close()


class Tab:
    """A page of the browser that remembers every complaint."""

    def __init__(self, page: Any, site: Site) -> None:
        self.page, self.site = page, site
        self.complaints: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("dialog", self._dialog)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("console", lambda message: message.type == "error" and self.complaints.append(f"console: {message.text}"))

    def _dialog(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def go(self, path: str) -> str:
        answer = self.page.goto(self.site.url + path, wait_until="load")
        assert answer.status == 200
        return self.text()

    def text(self) -> str:
        """What is to be read, once the theme's scripts have made it visible."""
        self.page.wait_for_load_state("networkidle")
        self.page.locator("#main, #login-form").first.wait_for(state="visible")
        return str(self.page.inner_text("body"))

    def press(self, button: str) -> str:
        """A button of the object's page, and its question; the text of the page that follows."""
        self.page.get_by_role("link", name=button, exact=True).or_(self.page.locator(f"a:text-is('{button}')")).first.click()
        self.page.wait_for_selector("#dialog button[type=submit]", state="visible")
        with self.page.expect_navigation(wait_until="load"):
            self.page.locator("#dialog button[type=submit]").click()
        return self.text()

    def log_in(self, password: str) -> None:
        self.go("/admin/")
        self.page.fill("[name=username]", EMAIL)
        self.page.fill("[name=password]", password)
        with self.page.expect_navigation(wait_until="load"):
            self.page.click("button[type=submit]")
        assert "Waiting jobs" in self.text()


@pytest.fixture
def tab(site: Site) -> Iterator[Tab]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        found = Tab(browser.new_page(viewport={"width": 1400, "height": 1000}), site)
        found.log_in(site.key)
        yield found
        browser.close()
    assert found.complaints == []


def test_hostile_output_is_text(tab: Tab, site: Site) -> None:
    text = tab.go(f"/admin/jobs/job/{site.ended}/change/")
    for shown in ("<script>alert(1)</script>", "</pre><script>alert(3)", "<svg onload=alert(6)>", "red␛[2J␀", "{{ 7*7 }}", "<b onclick"):
        assert shown in text
    assert tab.page.locator("img[src=x], svg[onload], [onclick]").count() == 0
    assert "Not all of it is shown" in text
    with tab.page.expect_download() as download:
        tab.page.get_by_text("Download everything").click()
    assert Path(download.value.path()).stat().st_size > 4 << 20
    assert "<b onclick" in tab.go("/admin/jobs/job/")
    assert "Failed jobs" in tab.go("/admin/")


def test_cancel_by_its_button(tab: Tab, site: Site) -> None:
    assert "pending" in tab.go(f"/admin/jobs/job/{site.waiting}/change/")
    text = tab.press("Cancel job")
    assert f"{site.waiting}: canceled" in text
    assert tab.page.locator("a:text-is('Cancel job')").count() == 0
    assert f'object="jobs.job {site.waiting}" detail="canceled"' in site.program.text()
    assert site.key not in site.program.text()


def test_a_key_is_rotated_and_a_form_is_saved(tab: Tab, site: Site) -> None:
    tab.go(f"/admin/runners/runner/{site.runner}/change/")
    text = tab.press("Rotate key")
    assert "bencher_runner_" in text
    assert "bencher_runner_" not in tab.go(f"/admin/runners/runner/{site.runner}/change/")
    tab.go(f"/admin/projects/organization/{site.organization}/change/")
    tab.page.fill("[name=priority]", "321")
    with tab.page.expect_navigation(wait_until="load"):
        tab.page.click("[name=_continue]")
    assert "changed successfully" in tab.text()
    assert tab.page.input_value("[name=priority]") == "321"


def test_filters_and_search(tab: Tab, site: Site) -> None:
    tab.go("/admin/jobs/job/")
    tab.page.get_by_text("Filters").first.click()
    tab.page.wait_for_selector("#changelist-filter", state="visible")
    assert site.ended in tab.go(f"/admin/jobs/job/?q={site.ended}")
    assert site.ended not in tab.go(f"/admin/jobs/job/?q={site.waiting}")
