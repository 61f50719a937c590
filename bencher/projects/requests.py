"""What REST takes about people and places (rest.md 1.5, 5.1): one struct a body or query."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar
from uuid import UUID

import msgspec
from django.db.models import QuerySet
from msgspec import UNSET, UnsetType

from bencher.core.api import Listing, ordered
from bencher.core.errors import Invalid
from bencher.core.newtypes import Email, Jwt, PositiveU32, ResourceName, Slug, Url, UserName
from bencher.projects.models import Credential
from bencher.projects.permissions import WORDS, Permission

K = TypeVar("K", bound=Credential)
Word = Literal["view", "create", "edit", "delete", "manage", "view_role", "create_role", "edit_role", "delete_role"]


class JsonSignup(msgspec.Struct, kw_only=True):
    name: UserName
    slug: Slug | None = None
    email: Email
    plan: str | None = None
    invite: Jwt | None = None
    claim: UUID | None = None
    i_agree: bool
    recaptcha_token: str | None = None


class JsonLogin(msgspec.Struct, kw_only=True):
    email: Email
    plan: str | None = None
    invite: Jwt | None = None
    recaptcha_token: str | None = None


class JsonConfirm(msgspec.Struct, kw_only=True):
    token: Jwt


class JsonAccept(msgspec.Struct, kw_only=True):
    invite: Jwt


class JsonUpdateUser(msgspec.Struct, kw_only=True):
    name: UserName | None = None
    slug: Slug | None = None
    email: Email | None = None
    admin: bool | None = None
    locked: bool | None = None


class JsonNewKey(msgspec.Struct, kw_only=True):
    name: ResourceName
    ttl: PositiveU32 | None = None
    """Seconds; without it the longest there is."""


class JsonUpdateKey(msgspec.Struct, kw_only=True):
    name: ResourceName | None = None


class JsonNewOrganization(msgspec.Struct, kw_only=True):
    name: ResourceName
    slug: Slug | None = None


class JsonUpdateOrganization(msgspec.Struct, kw_only=True):
    name: ResourceName | None = None
    slug: Slug | None = None
    license: UnsetType | None = UNSET
    priority: Annotated[int, msgspec.Meta(ge=0, le=1000)] | None = None
    """Of its jobs; for server administrators: an extension."""


class JsonClaim(msgspec.Struct):
    """Nothing to say."""


class JsonNewMember(msgspec.Struct, kw_only=True):
    name: UserName | None = None
    email: Email
    role: Literal["leader"]


class JsonUpdateMember(msgspec.Struct, kw_only=True):
    role: Literal["leader"] | None = None


class JsonNewProject(msgspec.Struct, kw_only=True):
    name: ResourceName
    slug: Slug | None = None
    url: Url | None = None
    visibility: Literal["public", "private"] | None = None


class JsonUpdateProject(msgspec.Struct, kw_only=True):
    name: ResourceName | None = None
    slug: Slug | None = None
    url: Url | UnsetType | None = UNSET
    visibility: Literal["public", "private"] | None = None


class ByName(Listing, kw_only=True):
    """Lists that are sorted by name."""

    sort: Literal["name"] = "name"


class KeyList(ByName, kw_only=True):
    revoked: bool = False
    """Only revoked ones, or only the others."""

    def listed(self, rows: QuerySet[K]) -> tuple[list[K], int]:
        """(this page of the keys or tokens, the number of all)."""
        found = self.filtered(rows.filter(revoked__isnull=not self.revoked), "name")
        return self.cut(ordered(found, self.direction, "name"))


class ProjectDelete(msgspec.Struct, kw_only=True):
    hard: bool = False


def permission_word(text: str) -> Permission:
    """One of the nine words of ``allowed/{permission}`` in a path; else 400."""
    if text not in WORDS:
        raise Invalid(f"path: permission: expected one of {', '.join(WORDS)}")
    return Permission(text)
