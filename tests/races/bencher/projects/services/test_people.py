"""People and places that are made at the same moment: one of each, and everybody gets a right answer."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from bencher.core.errors import Busy, Clash, NotAuthenticated
from bencher.projects.authentication import ANONYMOUS, Caller
from bencher.projects.models import Membership, Organization, Project, User
from bencher.projects.services.members import admit
from bencher.projects.services.organizations import claim_organization, create_organization
from bencher.projects.services.resolve import project_for_run
from bencher.projects.services.signup import sign_up
from bencher.specs.models import Spec
from bencher.specs.services import create_spec
from runners.services import create_runner
from tests.races.jobs.at_once import at_once
from tests.restworld import NOW, make_user

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]
CROWD = 12
HARDWARE = {"os": "linux", "architecture": "x86_64", "cpu": 1, "memory": 1, "disk": 1}


@pytest.fixture(autouse=True)
def _real_database() -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite's test database is shared memory, which knows no waiting")


def kinds(results: list[Any]) -> Counter[str]:
    return Counter(type(one).__name__ for one in results)


def test_one_first_user() -> None:
    def sign(number: int) -> User:
        return sign_up(name=f"u{number}", email=f"u{number}@example.com", slug=None, invite=None, claim=None, now=timezone.now())

    results = at_once(*(lambda number=number: sign(number) for number in range(CROWD)))
    assert kinds(results) == {"User": CROWD}
    assert User.objects.filter(admin=True).count() == 1


def test_one_user_of_an_address() -> None:
    def sign() -> User:
        return sign_up(name="same", email="same@example.com", slug=None, invite=None, claim=None, now=timezone.now())

    results = at_once(*[sign] * CROWD)
    assert kinds(results) == {"User": 1, Clash.__name__: CROWD - 1}
    assert User.objects.count() == Organization.objects.count() == 1


def test_one_claim() -> None:
    organization = Organization.objects.create(name="o", slug="o", created=NOW, modified=NOW)
    users = [make_user() for _ in range(CROWD)]

    def claim(user: User) -> Organization:
        return claim_organization(organization=Organization.objects.get(pk=organization.pk), user=user, now=NOW)

    results = at_once(*(lambda user=user: claim(user) for user in users))
    assert kinds(results) == {"Organization": 1, NotAuthenticated.__name__: CROWD - 1}
    assert Membership.objects.filter(organization=organization).count() == 1


def test_one_project_of_a_slug() -> None:
    def run() -> Project:
        return project_for_run(caller=ANONYMOUS, project="nobodys", image_repository=None, context={}, now=NOW)

    results = at_once(*[run] * CROWD)
    assert kinds(results) == {"Project": CROWD}
    assert Project.objects.count() == Organization.objects.count() == 1


def test_projects_of_one_name() -> None:
    """Each with its own number, or asked to try again."""
    user = make_user()

    def run(number: int) -> Project:
        return project_for_run(caller=Caller("user", user), project=f"p-{number}", image_repository=None, context={}, now=NOW)

    results = at_once(*(lambda number=number: run(number) for number in range(4)))
    assert set(kinds(results)) <= {"Project", Busy.__name__}
    assert kinds(results)["Project"] >= 1
    names = [project.name for project in Project.objects.all()]
    assert len(set(names)) == len(names)


def test_one_membership() -> None:
    organization, user = create_organization(name="o", slug=None, leader=make_user(), now=NOW), make_user()
    results = at_once(*[lambda: admit(organization=organization, user=user, role="leader", now=NOW)] * CROWD)
    assert kinds(results) == {"Membership": 1, Clash.__name__: CROWD - 1}


def test_specs_of_a_name_and_one_fallback() -> None:
    results = at_once(*[lambda: create_spec(name="same", slug=None, hardware=dict(HARDWARE), fallback=True, now=timezone.now())] * CROWD)
    assert kinds(results) == {"Spec": CROWD}
    assert len({spec.slug for spec in results}) == CROWD
    assert Spec.objects.filter(fallback__isnull=False).count() == 1


def test_one_runner_of_a_name() -> None:
    results = at_once(*[lambda: create_runner(name="same", slug=None, now=NOW)] * CROWD)
    assert kinds(results) == {"tuple": 1, Clash.__name__: CROWD - 1}
