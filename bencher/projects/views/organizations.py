"""``/v0/organizations*`` (rest.md 1.5, 5.1)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from bencher.core.api import Reply, given, no_content, ordered, ts
from bencher.core.errors import Missing, NotAllowed
from bencher.core.hooks import active_series, metrics_count, runner_minutes
from bencher.core.newtypes import ResourceId
from bencher.core.schema import documented
from bencher.projects.endpoints import ApiView
from bencher.projects.models import Organization, Project
from bencher.projects.permissions import Permission, may_in_organization
from bencher.projects.requests import (
    ByName,
    JsonClaim,
    JsonNewOrganization,
    JsonNewProject,
    JsonUpdateOrganization,
    Word,
    permission_word,
)
from bencher.projects.selectors import find_organization
from bencher.projects.serializers import JsonAllowed, JsonOrganization, JsonProject, JsonUsage, organization_json, project_json
from bencher.projects.services import organizations, projects

USAGE_DAYS = 30


class OrganizationView(ApiView):
    """Below one organization."""

    path_shapes: dict[str, Any] = {"organization": ResourceId, "permission": Word, "user": ResourceId}

    def existing(self) -> Organization:
        found = find_organization(self.resource_id("organization"))
        if found is None:
            raise Missing("no such organization")
        return found

    def organization(self, permission: Permission) -> Organization:
        """The organization of the path, if the caller may do that: to others reading, changing and deleting is 404, anything else 403."""
        found = self.existing()
        if may_in_organization(self.caller, permission, found):
            return found
        if permission in (Permission.VIEW, Permission.EDIT, Permission.DELETE) and not may_in_organization(
            self.caller, Permission.VIEW, found
        ):
            raise Missing("no such organization")
        raise NotAllowed("no right to do that in this organization")


class Organizations(ApiView):
    @documented(query=ByName, returns=list[JsonOrganization])
    def get(self, request: Any) -> Reply:
        """The organizations that the caller belongs to, by name; all there are for an administrator."""
        query = self.query(ByName)
        rows = Organization.objects.filter(deleted=None)
        if not self.user.admin:
            rows = rows.filter(memberships__user=self.user)
        found, total = query.cut(ordered(query.filtered(rows), query.direction, "name"))
        return Reply([organization_json(row) for row in found], total=total)

    @documented(body=JsonNewOrganization, returns=JsonOrganization, status=201)
    def post(self, request: Any) -> Reply:
        """Make an organization; the caller leads it."""
        body = self.body(JsonNewOrganization)
        self.limit("organizations")
        made = organizations.create_organization(name=body.name, slug=body.slug, leader=self.user, now=self.now)
        return Reply(organization_json(made), 201)


class OneOrganization(OrganizationView):
    @documented(returns=JsonOrganization)
    def get(self, request: Any, organization: str) -> Reply:
        """One organization."""
        return Reply(organization_json(self.organization(Permission.VIEW)))

    @documented(body=JsonUpdateOrganization, returns=JsonOrganization)
    def patch(self, request: Any, organization: str) -> Reply:
        """Change an organization; ``priority`` is for server administrators."""
        values = given(self.body(JsonUpdateOrganization))
        found = self.organization(Permission.EDIT)
        if "priority" in values and not self.user.admin:
            raise NotAllowed("priority is changed by server administrators only")
        return Reply(organization_json(organizations.change_organization(organization=found, values=values, now=self.now)))

    @documented(status=204)
    def delete(self, request: Any, organization: str) -> Reply:
        """Delete an organization with its projects."""
        organizations.delete_organization(organization=self.organization(Permission.DELETE), now=self.now)
        return no_content()


class Allowed(OrganizationView):
    @documented(returns=JsonAllowed)
    def get(self, request: Any, organization: str, permission: str) -> Reply:
        """May the caller do that in the organization?"""
        word = permission_word(permission)
        found = find_organization(self.resource_id("organization"))
        return Reply(JsonAllowed(found is not None and may_in_organization(self.caller, word, found)))


class Claim(OrganizationView):
    @documented(body=JsonClaim, returns=JsonOrganization, status=201)
    def post(self, request: Any, organization: str) -> Reply:
        """Become the leader of an organization without members."""
        self.body(JsonClaim)
        return Reply(organization_json(organizations.claim_organization(organization=self.existing(), user=self.user, now=self.now)), 201)


class Projects(OrganizationView):
    @documented(query=ByName, returns=list[JsonProject])
    def get(self, request: Any, organization: str) -> Reply:
        """The projects of an organization, by name."""
        query = self.query(ByName)
        rows = Project.objects.select_related("organization").filter(organization=self.organization(Permission.VIEW), deleted=None)
        found, total = query.cut(ordered(query.filtered(rows), query.direction, "name"))
        return Reply([project_json(row) for row in found], total=total)

    @documented(body=JsonNewProject, returns=JsonProject, status=201)
    def post(self, request: Any, organization: str) -> Reply:
        """Make an empty project; the caller maintains it."""
        body = self.body(JsonNewProject)
        made = projects.create_project(
            organization=self.organization(Permission.CREATE),
            name=body.name,
            slug=body.slug,
            url=body.url,
            visibility=body.visibility or "public",
            creator=self.user,
            now=self.now,
        )
        return Reply(project_json(made), 201)


class Usage(OrganizationView):
    @documented(returns=JsonUsage)
    def get(self, request: Any, organization: str) -> Reply:
        """What the organization used in the last 30 days."""
        found = self.organization(Permission.MANAGE)
        span: Any = {"organization_id": found.pk, "since": self.now - timedelta(days=USAGE_DAYS), "until": self.now}
        numbers = metrics_count(**span), active_series(**span), runner_minutes(**span)
        return Reply(JsonUsage(found.pk, "self_hosted_free", None, None, ts(span["since"]), ts(span["until"]), *numbers))
