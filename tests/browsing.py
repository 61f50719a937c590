"""A browser without scripts, in this process: what tests of pages use."""

from __future__ import annotations

import html
import re
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from bencher.projects.models import User


class Browser:
    """Follows no redirect by itself; checks CSRF as a real one would have it."""

    def __init__(self, user: User | None = None) -> None:
        self.client = Client(enforce_csrf_checks=True, headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
        if user is not None:
            self.client.force_login(user, "django.contrib.auth.backends.ModelBackend")

    def go(self, path: str, status: int = 200) -> str:
        """The page's HTML; it has no script and nothing that the content security policy would stop."""
        response = self.client.get(path)
        text = str(response.content.decode())
        assert response.status_code == status, f"{path}: {response.status_code} (expected {status}): {text[:300]}"
        assert response["content-type"].startswith("text/html")
        assert "script-src 'self'" in response["content-security-policy"]
        assert "unsafe" not in response["content-security-policy"]
        assert not re.search(r"<script|<style|<[a-z][^>]*\s(?:style|on\w+)=", text)
        assert '<html lang="en">' in text
        assert "<h1" in text
        return text

    def post(self, page: str, path: str, **fields: str) -> Any:
        """Submit a form of ``page`` to ``path`` with the token of that page."""
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', self.go(page))
        assert found, f"{page} has no form to submit"
        return self.client.post(path, {"csrfmiddlewaretoken": found[1], **fields})

    def queries(self, path: str) -> tuple[int, str]:
        """(queries, the page)."""
        with CaptureQueriesContext(connection) as captured:
            text = self.go(path)
        return len(captured), text


def links(text: str) -> list[str]:
    """Where the page's links and forms lead."""
    return [html.unescape(target) for target in re.findall(r'(?:href|action)="([^"]*)"', text)]
