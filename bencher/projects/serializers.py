"""What REST shows of people and places: exact shapes (rest.md 1.5, 5.1)."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from bencher.core.api import ts, ts_or_none
from bencher.core.newtypes import Moment
from bencher.projects.models import ApiToken, Membership, Organization, Project, ProjectKey, User, UserKey


class JsonUser(msgspec.Struct):
    uuid: UUID
    name: str
    slug: str
    email: str
    admin: bool
    locked: bool
    created: Moment


class JsonPubUser(msgspec.Struct):
    """What others may know of a user."""

    uuid: UUID
    name: str
    slug: str


class JsonOrganization(msgspec.Struct):
    uuid: UUID
    name: str
    slug: str
    license: str | None
    sso: list[dict[str, str]] | None
    priority: int
    """Of its jobs, 0..1000: an extension."""
    created: Moment
    modified: Moment
    claimed: Moment | None


class JsonMember(msgspec.Struct):
    uuid: UUID
    name: str
    slug: str
    email: str
    role: Literal["leader"]
    created: Moment
    modified: Moment


class JsonProject(msgspec.Struct):
    uuid: UUID
    organization: UUID
    name: str
    slug: str
    url: str | None
    visibility: Literal["public", "private"]
    created: Moment
    modified: Moment
    claimed: Moment | None


class JsonUserKey(msgspec.Struct):
    uuid: UUID
    user: UUID
    name: str
    creation: Moment
    expiration: Moment
    revoked: Moment | UnsetType = UNSET


class JsonUserKeyCreated(msgspec.Struct):
    """With the key itself: shown this once."""

    uuid: UUID
    user: UUID
    name: str
    key: str
    creation: Moment
    expiration: Moment


class JsonToken(msgspec.Struct):
    uuid: UUID
    user: UUID
    name: str
    token: str
    creation: Moment
    expiration: Moment
    revoked: Moment | UnsetType = UNSET


class JsonProjectKey(msgspec.Struct):
    uuid: UUID
    project: UUID
    creator: UUID | None
    name: str
    creation: Moment
    expiration: Moment
    revoked: Moment | UnsetType = UNSET


class JsonProjectKeyCreated(msgspec.Struct):
    """With the key itself: shown this once."""

    uuid: UUID
    project: UUID
    name: str
    key: str
    creation: Moment
    expiration: Moment


class JsonAllowed(msgspec.Struct):
    allowed: bool


class JsonEmail(msgspec.Struct):
    """Where a mail was sent."""

    email: str


class JsonConfirmed(msgspec.Struct):
    user: JsonUser
    token: str
    creation: Moment
    expiration: Moment


class JsonUsage(msgspec.Struct):
    organization: UUID
    kind: Literal["self_hosted_free", "self_hosted_licensed"]
    plan: None
    license: None
    start_time: Moment
    end_time: Moment
    metrics: int | None
    active_series: int | None
    runner_minutes: int | None


def user_json(user: User) -> JsonUser:
    return JsonUser(user.id, user.name, user.slug, user.email, user.admin, user.locked, ts(user.created))


def pub_user_json(user: User | None) -> JsonPubUser | None:
    return None if user is None else JsonPubUser(user.id, user.name, user.slug)


def organization_json(row: Organization) -> JsonOrganization:
    return JsonOrganization(
        row.id, row.name, row.slug, row.license, [], row.priority, ts(row.created), ts(row.modified), ts_or_none(row.claimed)
    )


def member_json(row: Membership) -> JsonMember:
    """``row.user`` is loaded."""
    user = row.user
    return JsonMember(user.id, user.name, user.slug, user.email, "leader", ts(row.created), ts(row.modified))


def project_json(row: Project) -> JsonProject:
    """``row.organization`` is loaded."""
    visibility: Any = row.visibility
    return JsonProject(
        row.id,
        row.organization_id,
        row.name,
        row.slug,
        row.url,
        visibility,
        ts(row.created),
        ts(row.modified),
        ts_or_none(row.organization.claimed),
    )


def _revoked(row: UserKey | ProjectKey | ApiToken) -> str | UnsetType:
    return UNSET if row.revoked is None else ts(row.revoked)


def user_key_json(row: UserKey) -> JsonUserKey:
    return JsonUserKey(row.id, row.user_id, row.name, ts(row.creation), ts(row.expiration), _revoked(row))


def user_key_created_json(row: UserKey, key: str) -> JsonUserKeyCreated:
    return JsonUserKeyCreated(row.id, row.user_id, row.name, key, ts(row.creation), ts(row.expiration))


def token_json(row: ApiToken) -> JsonToken:
    return JsonToken(row.id, row.user_id, row.name, row.token, ts(row.creation), ts(row.expiration), _revoked(row))


def project_key_json(row: ProjectKey) -> JsonProjectKey:
    return JsonProjectKey(row.id, row.project_id, row.creator_id, row.name, ts(row.creation), ts(row.expiration), _revoked(row))


def project_key_created_json(row: ProjectKey, key: str) -> JsonProjectKeyCreated:
    return JsonProjectKeyCreated(row.id, row.project_id, row.name, key, ts(row.creation), ts(row.expiration))
