"""Repositories and manifests in the admin."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from django.test import Client as Web

from bencher.projects.models import Project
from outputs.models import Manifest
from outputs.registry.services import manifests
from tests.integration.outputs.registry.conftest import Image, make_project, make_user, push_blob

pytestmark = pytest.mark.django_db


@pytest.fixture
def web() -> Web:
    web = Web()
    web.force_login(make_user("root", admin=True))
    return web


@pytest.fixture
def image(project: Project, push_image: Callable[..., Image], now: datetime) -> Image:
    image = push_image("v1.2.3")
    push_blob(project, b"x" * 2048)
    manifests.get_manifest(project=project, reference="v1.2.3", content=True, now=now)
    return image


def test_repositories(web: Web, project: Project, image: Image) -> None:
    """What each holds, its size, its last pull; in a constant number of queries."""
    make_project("empty")
    page = web.get("/admin/outputs/repository/").content.decode()
    assert "mine" in page
    assert "2.4\xa0KB" in page  # 2048 + 2 x 16 + the manifest
    assert "2026-05-06" in page
    assert "never" in page


def test_queries_do_not_grow(web: Web, project: Project, image: Image, django_assert_max_num_queries: object) -> None:
    for number in range(20):
        make_project(f"more-{number}")
    with django_assert_max_num_queries(10):  # type: ignore[operator]
        web.get("/admin/outputs/repository/")


def test_repository(web: Web, project: Project, image: Image) -> None:
    page = web.get(f"/admin/outputs/repository/{project.pk}/change/").content.decode()
    assert "v1.2.3" in page
    assert image.digest in page
    assert 'name="_save"' not in page


def test_manifests(web: Web, image: Image) -> None:
    page = web.get("/admin/outputs/manifest/?q=v1.2").content.decode()
    assert image.digest in page
    assert "32\xa0bytes" in page
    found = Manifest.objects.get()
    assert web.get(f"/admin/outputs/manifest/{found.pk}/change/").status_code == 200


def test_remove(web: Web, image: Image) -> None:
    chosen = {"action": "remove", "_selected_action": [str(Manifest.objects.get().pk)]}
    page = web.post("/admin/outputs/manifest/", chosen, follow=True).content.decode()
    assert f"{image.digest}: deleted" in page
    assert not Manifest.objects.exists()
