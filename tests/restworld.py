"""What tests of the REST API need: a client of one caller, and people and places made through the services."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime
from typing import Any

from django.test import Client
from django.utils import timezone

from bencher.projects.models import Organization, Project, User
from bencher.projects.services.keys import create_project_key, create_user_key
from bencher.projects.services.organizations import create_organization
from bencher.projects.services.projects import create_project
from bencher.projects.services.users import create_user

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOWHERE = "00000000-0000-4000-8000-000000000001"
_numbers = itertools.count(1)


def fresh(prefix: str) -> str:
    """A name that is its own slug and that no other test uses."""
    return f"{prefix}-{next(_numbers)}"


class Api:
    """HTTP client of one caller, in this process."""

    def __init__(self, credential: str | None = None) -> None:
        self.client = Client(raise_request_exception=False)
        self.headers = {"Authorization": f"Bearer {credential}"} if credential else {}

    def send(
        self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None, query: dict[str, Any] | None = None
    ) -> Any:
        """The response; ``body`` is bytes or encoded as JSON."""
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.generic(method, path, data, "application/json", headers={**self.headers, **(headers or {})}, query_params=query)

    def ok(self, method: str, path: str, body: Any = None, status: int | None = None, **kwargs: Any) -> Any:
        """The JSON of a success."""
        response = self.send(method, path, body, **kwargs)
        wanted = status or {"POST": 201, "DELETE": 204}.get(method, 200)
        assert response.status_code == wanted, f"{method} {path}: {response.status_code} (expected {wanted}): {response.content[:400]!r}"
        return json.loads(response.content) if response.content else None

    def refused(self, method: str, path: str, status: int, body: Any = None, **kwargs: Any) -> str:
        """The message of a refusal with the documented body."""
        response = self.send(method, path, body, **kwargs)
        assert response.status_code == status, f"{method} {path}: {response.status_code} (expected {status}): {response.content[:400]!r}"
        answer = json.loads(response.content)
        assert set(answer) - {"error_code"} == {"request_id", "message"}
        assert answer["request_id"] == response["x-request-id"]
        return str(answer["message"])


def make_user(*, admin: bool = False, name: str | None = None) -> User:
    name = name or fresh("user")
    user = create_user(name=name, email=f"{name}@example.com", slug=None, now=NOW)
    if user.admin != admin:
        user.admin = admin
        user.save()
    create_organization(name=user.name, slug=user.slug, leader=user, now=NOW, pk=user.pk)
    return user


def key_of(user: User) -> str:
    return create_user_key(user=user, name=fresh("key"), ttl=None, now=timezone.now())[1]


def api_of(user: User) -> Api:
    return Api(key_of(user))


def make_project(owner: User, *, visibility: str = "public", name: str | None = None, organization: Organization | None = None) -> Project:
    name = name or fresh("project")
    organization = organization or create_organization(name=fresh("org"), slug=None, leader=owner, now=NOW)
    return create_project(organization=organization, name=name, slug=None, url=None, visibility=visibility, creator=owner, now=NOW)


def project_api(project: Project) -> Api:
    """The caller who holds a key of that project."""
    return Api(create_project_key(project=project, creator=None, name=fresh("key"), ttl=None, now=timezone.now())[1])
