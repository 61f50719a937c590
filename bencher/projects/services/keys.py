"""Keys of users and projects: shown once, stored as a hash, revoked but never erased (rest.md 1.1, 1.5)."""

from __future__ import annotations

from datetime import datetime, timedelta

from bencher.core.errors import Clash
from bencher.core.ids import key_hash, new_key
from bencher.core.newtypes import U32_MAX
from bencher.projects.authentication import PROJECT_KEY, USER_KEY
from bencher.projects.models import Credential, Project, ProjectKey, User, UserKey


def create_user_key(*, user: User, name: str, ttl: int | None, now: datetime) -> tuple[UserKey, str]:
    """(the row, the key in clear); ``ttl`` in seconds, None for the maximum."""
    key = new_key(USER_KEY)
    row = UserKey.objects.create(user=user, name=name, hash=key_hash(key), creation=now, expiration=_end(now, ttl))
    return row, key


def create_project_key(*, project: Project, creator: User | None, name: str, ttl: int | None, now: datetime) -> tuple[ProjectKey, str]:
    """(the row, the key in clear); ``ttl`` in seconds, None for the maximum."""
    key = new_key(PROJECT_KEY)
    row = ProjectKey.objects.create(
        project=project, creator=creator, name=name, hash=key_hash(key), creation=now, expiration=_end(now, ttl)
    )
    return row, key


def rename(*, key: Credential, name: str | None) -> None:
    """Give the key another name; None changes nothing."""
    if name is not None:
        key.name = name
        key.save(update_fields=["name"])


def revoke(*, key: Credential, now: datetime) -> None:
    """End a key; Clash when that was done already."""
    if type(key)._default_manager.filter(pk=key.pk, revoked=None).update(revoked=now) == 0:
        raise Clash("it is revoked already")
    key.revoked = now


def _end(now: datetime, ttl: int | None) -> datetime:
    return now + timedelta(seconds=U32_MAX if ttl is None else ttl)
