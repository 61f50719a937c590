"""People and places in the admin: changed through the services of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.contrib.auth.models import Group
from django.http import HttpRequest
from unfold.contrib.filters.admin import AutocompleteSelectFilter
from unfold.decorators import display

from bencher.core.admin import Act, CheckedForm, ReadOnlyAdmin, Rows, ServiceAdmin
from bencher.core.errors import Clash
from bencher.core.newtypes import Checked, Email, ResourceName, Slug, Url, UserName
from bencher.projects.models import (
    ApiToken,
    Credential,
    Invitation,
    Membership,
    Organization,
    Project,
    ProjectKey,
    ProjectRole,
    User,
    UserKey,
)
from bencher.projects.services import keys, members, organizations, projects, users

if admin.site.is_registered(Group):
    admin.site.unregister(Group)  # rights are roles here, not groups


def rules(**found: Any) -> dict[str, type[Checked]]:
    return found


# -- users -----------------------------------------------------------------------------------------------------------
class UserForm(CheckedForm):
    rules = rules(name=UserName, slug=Slug, email=Email)


def _user(values: dict[str, Any], *, not_oneself: bool = False) -> Any:
    def call(request: HttpRequest, row: User, now: datetime) -> None:
        by: Any = request.user
        if not_oneself and row.pk == by.pk:
            raise Clash("that would end your own session: ask another administrator")
        users.change_user(user=row, by=by, values=values, now=now)

    return call


class MembershipRows(Rows):
    model = Membership
    fields = ("organization", "user", "role", "created")
    joined = ("organization", "user")
    ordering = ("created", "id")
    verbose_name_plural = "memberships"


class UserKeyRows(Rows):
    model = UserKey
    fields = ("name", "creation", "expiration", "revoked")
    ordering = ("-creation", "id")
    verbose_name_plural = "keys"


@admin.register(User)
class UserAdmin(ServiceAdmin):
    list_display = ("name", "email", "standing", "created", "last_login")
    list_filter = ("admin", "locked", "created")
    search_fields = ("name", "slug", "email")
    ordering = ("name", "id")
    form = UserForm
    editable = ("name", "slug", "email")
    fieldsets = ((None, {"fields": ("id", "name", "slug", "email", "standing", "created", "modified", "last_login")}),)
    inlines = (MembershipRows, UserKeyRows)
    acts = (
        Act("lock", "Lock", "locked", _user({"locked": True}, not_oneself=True), "Keys, tokens and sessions are refused until it is unlocked.",
            lambda row: not row.locked, danger=True),
        Act("unlock", "Unlock", "unlocked", _user({"locked": False}), "Its keys and tokens are accepted again.", lambda row: row.locked),
        Act("promote", "Make administrator", "made an administrator", _user({"admin": True}),
            "Administrators see and change everything on this server.", lambda row: not row.admin),
        Act("demote", "Take administration away", "no administrator any more", _user({"admin": False}, not_oneself=True),
            "It keeps its organizations and projects.", lambda row: row.admin, danger=True),
    )  # fmt: skip

    @display(description="standing", label={"administrator": "info", "locked": "danger"})
    def standing(self, row: User) -> str:
        return "locked" if row.locked else "administrator" if row.admin else "user"

    def serve_change(self, request: HttpRequest, row: User, values: dict[str, Any], now: datetime) -> None:
        by: Any = request.user
        users.change_user(user=row, by=by, values=values, now=now)


# -- organizations ---------------------------------------------------------------------------------------------------
class OrganizationForm(CheckedForm):
    rules = rules(name=ResourceName, slug=Slug)


def _delete_organization(request: HttpRequest, row: Organization, now: datetime) -> None:
    if row.deleted:
        raise Clash("it is deleted already")
    organizations.delete_organization(organization=row, now=now)


class ProjectRows(Rows):
    model = Project
    fields = ("name", "slug", "visibility", "created", "deleted")
    ordering = ("name", "id")


@admin.register(Organization)
class OrganizationAdmin(ServiceAdmin):
    list_display = ("name", "slug", "standing", "priority", "created")
    list_filter = (("claimed", admin.EmptyFieldListFilter), ("deleted", admin.EmptyFieldListFilter), "priority", "created")
    search_fields = ("name", "slug")
    ordering = ("name", "id")
    form = OrganizationForm
    editable = ("name", "slug", "priority")
    fieldsets = ((None, {"fields": ("id", "name", "slug", "priority", "standing", "claimed", "created", "modified", "deleted")}),)
    inlines = (MembershipRows, ProjectRows)
    acts = (
        Act("remove", "Delete", "deleted", _delete_organization, "It and its projects are gone for everybody; the rows stay.",
            lambda row: not row.deleted, danger=True),
    )  # fmt: skip

    @display(description="standing", label={"claimed": "success", "unclaimed": "warning", "deleted": "danger"})
    def standing(self, row: Organization) -> str:
        return "deleted" if row.deleted else "claimed" if row.claimed else "unclaimed"

    def serve_change(self, request: HttpRequest, row: Organization, values: dict[str, Any], now: datetime) -> None:
        organizations.change_organization(organization=row, values=values, now=now)


def _role(role: str) -> Any:
    def call(request: HttpRequest, row: Membership, now: datetime) -> None:
        members.change_role(member=row, role=role, now=now)

    return call


def _leave(request: HttpRequest, row: Membership, now: datetime) -> None:
    members.remove(member=row, now=now)


@admin.register(Membership)
class MembershipAdmin(ServiceAdmin):
    list_display = ("organization", "user", "role", "created")
    list_filter = ("role", ("organization", AutocompleteSelectFilter), ("user", AutocompleteSelectFilter))
    list_select_related = ("organization", "user")
    search_fields = ("organization__name", "organization__slug", "user__name", "user__email")
    uuid_fields = ("pk", "organization", "user")
    ordering = ("-created", "-id")
    autocomplete_fields = ("organization", "user")
    addable = ("organization", "user")
    fieldsets = ((None, {"fields": ("organization", "user", "role", "created", "modified")}),)
    acts = (
        Act("lead", "Make leader", "leads", _role("leader"), "Leaders may do everything in the organization.", lambda row: row.role != "leader"),
        Act("follow", "Make member", "a member", _role("member"), "Members may look at everything in the organization.",
            lambda row: row.role != "member"),
        Act("leave", "Remove", "removed", _leave, "Without members the organization is unclaimed again.", danger=True, gone=True),
    )  # fmt: skip

    def label(self, row: Membership) -> str:
        return f"{row.user} in {row.organization}"

    def serve_add(self, request: HttpRequest, values: dict[str, Any], now: datetime) -> tuple[Membership, None]:
        return members.admit(organization=values["organization"], user=values["user"], role="member", now=now), None


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyAdmin):
    list_display = ("email", "organization", "role", "created", "accepted")
    list_filter = ("role", ("accepted", admin.EmptyFieldListFilter), "created")
    list_select_related = ("organization",)
    search_fields = ("email", "organization__name", "organization__slug")
    uuid_fields = ("pk", "organization")
    ordering = ("-created", "-id")
    fields = ("organization", "email", "role", "created", "accepted")


# -- projects --------------------------------------------------------------------------------------------------------
class ProjectForm(CheckedForm):
    rules = rules(name=ResourceName, slug=Slug, url=Url)


def _visibility(visibility: str) -> Any:
    def call(request: HttpRequest, row: Project, now: datetime) -> None:
        projects.change_project(project=row, values={"visibility": visibility}, now=now)

    return call


def _delete_project(request: HttpRequest, row: Project, now: datetime) -> None:
    by: Any = request.user
    if row.deleted:
        raise Clash("it is deleted already")
    projects.delete_project(project=row, hard=False, by=by, now=now)


class ProjectRoleRows(Rows):
    model = ProjectRole
    fields = ("user", "role", "created")
    joined = ("user",)
    ordering = ("created", "id")
    verbose_name_plural = "roles"


@admin.register(Project)
class ProjectAdmin(ServiceAdmin):
    list_display = ("name", "slug", "organization", "standing", "created")
    list_filter = ("visibility", ("deleted", admin.EmptyFieldListFilter), ("organization", AutocompleteSelectFilter), "created")
    list_select_related = ("organization",)
    search_fields = ("name", "slug", "organization__name", "organization__slug")
    uuid_fields = ("pk", "organization")
    ordering = ("name", "id")
    form = ProjectForm
    editable = ("name", "slug", "url", "visibility")
    fieldsets = (
        (None, {"fields": ("id", "name", "slug", "url", "visibility", "organization", "standing", "created", "modified", "deleted")}),
    )
    inlines = (ProjectRoleRows,)
    acts = (
        Act("hide", "Make private", "private now", _visibility("private"), "Only its members and administrators see it.",
            lambda row: row.visibility == "public" and not row.deleted),
        Act("publish", "Make public", "public now", _visibility("public"), "Everybody who reaches this server sees it.",
            lambda row: row.visibility == "private" and not row.deleted),
        Act("remove", "Delete", "deleted", _delete_project, "It is gone for everybody; the rows stay, its slug is free again.",
            lambda row: not row.deleted, danger=True),
    )  # fmt: skip

    @display(description="standing", label={"public": "success", "private": "info", "deleted": "danger"})
    def standing(self, row: Project) -> str:
        return "deleted" if row.deleted else row.visibility

    def serve_change(self, request: HttpRequest, row: Project, values: dict[str, Any], now: datetime) -> None:
        projects.change_project(project=row, values={**values, **({"url": values["url"] or None} if "url" in values else {})}, now=now)


@admin.register(ProjectRole)
class ProjectRoleAdmin(ReadOnlyAdmin):
    list_display = ("project", "user", "role", "created")
    list_filter = ("role", ("project", AutocompleteSelectFilter), ("user", AutocompleteSelectFilter))
    list_select_related = ("project", "user")
    search_fields = ("project__name", "project__slug", "user__name", "user__email")
    uuid_fields = ("pk", "project", "user")
    ordering = ("-created", "-id")
    fields = ("project", "user", "role", "created", "modified")


# -- credentials: a row knows the hash only, and the hash is not shown ------------------------------------------------
def _revoke(request: HttpRequest, row: Credential, now: datetime) -> None:
    keys.revoke(key=row, now=now)


class CredentialAdmin(ReadOnlyAdmin):
    list_filter = (("revoked", admin.EmptyFieldListFilter), "creation", "expiration")
    ordering = ("-creation", "-id")

    @display(description="standing", label={"valid": "success", "revoked": "danger"})
    def standing(self, row: Credential) -> str:
        return "revoked" if row.revoked else "valid"


REVOKE = Act(
    "revoke",
    "Revoke",
    "revoked",
    _revoke,
    "It is refused from now on, and the sessions it opened end.",
    lambda row: not row.revoked,
    danger=True,
)


@admin.register(UserKey)
class UserKeyAdmin(CredentialAdmin):
    list_display = ("name", "user", "standing", "creation", "expiration")
    list_select_related = ("user",)
    search_fields = ("name", "user__name", "user__email")
    uuid_fields = ("pk", "user")
    fields = ("id", "name", "user", "standing", "creation", "expiration", "revoked")
    acts = (REVOKE,)


@admin.register(ApiToken)
class ApiTokenAdmin(UserKeyAdmin):
    pass


@admin.register(ProjectKey)
class ProjectKeyAdmin(CredentialAdmin):
    list_display = ("name", "project", "creator", "standing", "creation", "expiration")
    list_select_related = ("project", "creator")
    search_fields = ("name", "project__name", "project__slug")
    uuid_fields = ("pk", "project", "creator")
    fields = ("id", "name", "project", "creator", "standing", "creation", "expiration", "revoked")
    acts = (REVOKE,)
