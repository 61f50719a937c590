"""A user with a project of their own."""

from __future__ import annotations

import pytest

from bencher.projects.models import Project, User
from tests.jobs_world import make_project, make_user


@pytest.fixture
def owner() -> User:
    return make_user()


@pytest.fixture
def project(owner: User) -> Project:
    return make_project(owner)
