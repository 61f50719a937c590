"""People, projects and images for the registry's tests."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bencher.core.ids import key_hash, new_key
from bencher.projects.models import Membership, Organization, Project, ProjectKey, User, UserKey
from outputs.registry.digest import Digest, digest_of
from outputs.registry.manifests import OCI_MANIFEST
from outputs.registry.services import manifests, uploads
from tests.integration.outputs.registry.client import Client, user_token

NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _storage(settings: Any) -> None:
    """A storage of its own for each test."""
    settings.STORAGE_URL = f"memory://{uuid.uuid4()}"


@pytest.fixture
def now() -> datetime:
    return NOW


def make_user(name: str, *, admin: bool = False) -> User:
    return User.objects.create(name=name, slug=name, email=f"{name}@example.com", admin=admin, created=NOW, modified=NOW)


def make_project(slug: str, owner: User | None = None) -> Project:
    claimed = NOW if owner else None
    organization = Organization.objects.create(name=slug, slug=slug, claimed=claimed, created=NOW, modified=NOW)
    if owner:
        Membership.objects.create(organization=organization, user=owner, role="leader", created=NOW, modified=NOW)
    return Project.objects.create(organization=organization, name=slug, slug=slug, created=NOW, modified=NOW)


def make_user_key(user: User) -> str:
    key = new_key("bencher_user_")
    UserKey.objects.create(user=user, name="key", hash=key_hash(key), creation=NOW, expiration=NOW + timedelta(days=365_0))
    return key


def make_project_key(project: Project) -> str:
    key = new_key("bencher_run_")
    ProjectKey.objects.create(project=project, name="key", hash=key_hash(key), creation=NOW, expiration=NOW + timedelta(days=365_0))
    return key


@pytest.fixture
def owner(db: None) -> User:
    return make_user("owner")


@pytest.fixture
def project(owner: User) -> Project:
    return make_project("mine", owner)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    return Client(monkeypatch)


@pytest.fixture
def token(project: Project, owner: User) -> str:
    return user_token(owner)


@dataclass(frozen=True)
class Image:
    digest: str
    content: bytes
    config: Digest
    layer: Digest


def push_blob(project: Project, data: bytes, now: datetime = NOW, algorithm: str = "sha256") -> Digest:
    digest = digest_of(data, algorithm)
    writer = uploads.begin_whole(project=project, digest=digest, length=len(data), now=now)
    writer.write(data, now)
    writer.close(digest, now)
    return digest


def image_of(config: Digest, *layers: Digest, **fields: Any) -> bytes:
    document = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": str(config), "size": 1},
        "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": str(layer), "size": 1} for layer in layers],
        **fields,
    }
    return json.dumps(document).encode()


@pytest.fixture
def push_image(project: Project) -> Callable[..., Image]:
    def push(tag: str = "latest", *, now: datetime = NOW, to: Project = project, **fields: Any) -> Image:
        config, layer = (push_blob(to, uuid.uuid4().bytes, now) for _ in range(2))
        content = image_of(config, layer, **fields)
        stored = manifests.put_manifest(project=to, reference=tag, content=content, content_type=OCI_MANIFEST, now=now)
        return Image(stored.digest, content, config, layer)

    return push
