"""Who may do what (rest.md 1.4): a table, and the functions that ask it."""

from __future__ import annotations

from enum import StrEnum
from uuid import UUID

from bencher.core.compiled import Compiled, Slot
from bencher.projects.authentication import Caller
from bencher.projects.models import Membership, Organization, Project, ProjectRole, User


class Permission(StrEnum):
    """The words of ``allowed/{permission}``, and three finer ones of our own for what a project key may change."""

    VIEW = "view"
    CREATE = "create"
    EDIT = "edit"
    DELETE = "delete"
    MANAGE = "manage"
    VIEW_ROLE = "view_role"
    CREATE_ROLE = "create_role"
    EDIT_ROLE = "edit_role"
    DELETE_ROLE = "delete_role"
    ARCHIVE = "archive"
    """Archive and unarchive a branch, testbed, benchmark or measure."""
    MODEL = "model"
    """Replace or remove a threshold's model."""
    TRIAGE = "triage"
    """Dismiss or reactivate an alert."""


OURS = frozenset({Permission.ARCHIVE, Permission.MODEL, Permission.TRIAGE})
WORDS = tuple(permission.value for permission in Permission if permission not in OURS)
"""What ``allowed/{permission}`` takes."""
EVERYTHING = frozenset(Permission)
ORGANIZATION_ROLES: dict[str, frozenset[Permission]] = {
    "leader": EVERYTHING,
    "member": frozenset({Permission.VIEW, Permission.VIEW_ROLE}),
}
"""Of an organization's member, in it and in all of its projects."""
PROJECT_ROLES: dict[str, frozenset[Permission]] = {
    "maintainer": EVERYTHING,
    "developer": frozenset({Permission.VIEW, Permission.CREATE, Permission.EDIT, Permission.DELETE, Permission.VIEW_ROLE}) | OURS,
    "viewer": frozenset({Permission.VIEW, Permission.VIEW_ROLE}),
}
PROJECT_KEY_MAY = frozenset({Permission.VIEW, Permission.CREATE}) | OURS
_ROLE_IN_ORGANIZATION = Compiled(
    lambda: Membership.objects.filter(organization_id=Slot("organization"), user_id=Slot("user")).values_list("role", flat=True)
)
_ROLE_IN_PROJECT = Compiled(
    lambda: ProjectRole.objects.filter(project_id=Slot("project"), user_id=Slot("user")).values_list("role", flat=True)
)
ANYBODY_MAY = frozenset({Permission.VIEW})
"""In a public project."""


def may(caller: Caller, permission: Permission | str, project: Project) -> bool:
    """May the caller do that in the project? At most two indexed queries; none for anonymous callers, administrators and project keys."""
    permission = Permission(permission)
    if project.visibility == "public" and permission in ANYBODY_MAY:
        return True
    if caller.project_key is not None:
        return caller.project_key.project_id == project.id and permission in PROJECT_KEY_MAY
    return caller.user is not None and permission in project_permissions(caller.user, project)


def project_permissions(user: User, project: Project) -> frozenset[Permission]:
    """All that the user may do there by role."""
    granted = organization_permissions(user, project.organization_id)
    if granted == EVERYTHING:
        return granted
    role = _ROLE_IN_PROJECT.first(project=project.id, user=user.id)
    return granted | PROJECT_ROLES.get(role or "", frozenset())


def organization_permissions(user: User, organization: Organization | UUID) -> frozenset[Permission]:
    """All that the user may do in the organization (a row or its UUID)."""
    if user.admin:
        return EVERYTHING
    pk = organization.pk if isinstance(organization, Organization) else organization
    role = _ROLE_IN_ORGANIZATION.first(organization=pk, user=user.id)
    return ORGANIZATION_ROLES.get(role or "", frozenset())


def may_in_organization(caller: Caller, permission: Permission | str, organization: Organization) -> bool:
    return caller.user is not None and Permission(permission) in organization_permissions(caller.user, organization)
