"""``/v0/organizations/{organization}/members*`` (rest.md 1.5)."""

from __future__ import annotations

from typing import Any

from bencher.core.api import Reply, no_content, ordered, searched
from bencher.core.schema import documented
from bencher.projects.models import Membership
from bencher.projects.permissions import Permission
from bencher.projects.requests import ByName, JsonNewMember, JsonUpdateMember
from bencher.projects.selectors import find_user
from bencher.projects.serializers import JsonEmail, JsonMember, member_json
from bencher.projects.services import members
from bencher.projects.views.organizations import OrganizationView


class Members(OrganizationView):
    @documented(query=ByName, returns=list[JsonMember])
    def get(self, request: Any, organization: str) -> Reply:
        """The members of an organization, by name."""
        query = self.query(ByName)
        rows = Membership.objects.select_related("user").filter(organization=self.organization(Permission.VIEW))
        if query.name is not None:
            rows = rows.filter(user__name=query.name)
        rows = searched(rows, query.search, "user__name", "user__slug", key="user__id")
        found, total = query.cut(ordered(rows, query.direction, "user__name"))
        return Reply([member_json(row) for row in found], total=total)

    @documented(body=JsonNewMember, returns=JsonEmail, status=202)
    def post(self, request: Any, organization: str) -> Reply:
        """Mail an invitation."""
        body = self.body(JsonNewMember)
        found = self.organization(Permission.CREATE_ROLE)
        self.limit("invites")
        members.invite(organization=found, email=body.email, name=body.name, role=body.role, by=self.user, now=self.now)
        return Reply(JsonEmail(body.email), 202)


class OneMember(OrganizationView):
    def row(self, permission: Permission) -> Membership:
        found = self.organization(permission)
        return members.get_member(organization=found, user=find_user(self.resource_id("user")))

    @documented(returns=JsonMember)
    def get(self, request: Any, organization: str, user: str) -> Reply:
        """One member."""
        return Reply(member_json(self.row(Permission.VIEW)))

    @documented(body=JsonUpdateMember, returns=JsonMember)
    def patch(self, request: Any, organization: str, user: str) -> Reply:
        """Change a member's role."""
        body = self.body(JsonUpdateMember)
        row = self.row(Permission.EDIT_ROLE)
        return Reply(member_json(members.change_role(member=row, role=body.role or row.role, now=self.now)))

    @documented(status=204)
    def delete(self, request: Any, organization: str, user: str) -> Reply:
        """Remove a member; without members the organization is unclaimed again."""
        members.remove(member=self.row(Permission.DELETE_ROLE), now=self.now)
        return no_content()
