"""``/v0/projects``, ``/v0/projects/{project}`` and its keys (rest.md 1.5, 5.1)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from bencher.core.api import Reply, given, no_content, ordered
from bencher.core.newtypes import ResourceId
from bencher.core.schema import documented
from bencher.projects.endpoints import Access, ApiView
from bencher.projects.models import ProjectKey
from bencher.projects.permissions import project_permissions
from bencher.projects.requests import (
    ByName,
    JsonNewKey,
    JsonUpdateKey,
    JsonUpdateProject,
    KeyList,
    ProjectDelete,
    Word,
    permission_word,
)
from bencher.projects.selectors import find_credential, find_project, visible_projects
from bencher.projects.serializers import (
    JsonAllowed,
    JsonProject,
    JsonProjectKey,
    JsonProjectKeyCreated,
    project_json,
    project_key_created_json,
    project_key_json,
)
from bencher.projects.services import keys, projects
from bencher.projects.views.credentials import OneCredential


class ProjectView(ApiView):
    """Below one project."""

    path_shapes: dict[str, Any] = {"project": ResourceId, "permission": Word, "key": UUID}


class Projects(ApiView):
    access = Access.ACTOR

    @documented(query=ByName, returns=list[JsonProject])
    def get(self, request: Any) -> Reply:
        """Public projects and those that the caller may view, by name; with a project key, its own."""
        query = self.query(ByName)
        found, total = query.cut(ordered(query.filtered(visible_projects(self.caller)), query.direction, "name"))
        return Reply([project_json(row) for row in found], total=total)


class OneProject(ProjectView):
    access = {"GET": Access.ACTOR, "PATCH": Access.USER, "DELETE": Access.USER}

    @documented(returns=JsonProject)
    def get(self, request: Any, project: str) -> Reply:
        """One project."""
        return Reply(project_json(self.project()))

    @documented(body=JsonUpdateProject, returns=JsonProject)
    def patch(self, request: Any, project: str) -> Reply:
        """Change a project; ``url: null`` clears the address."""
        values = given(self.body(JsonUpdateProject))
        return Reply(project_json(projects.change_project(project=self.project("edit"), values=values, now=self.now)))

    @documented(query=ProjectDelete, status=204)
    def delete(self, request: Any, project: str) -> Reply:
        """Delete a project; ``hard`` erases it and is for server administrators."""
        query = self.query(ProjectDelete)
        projects.delete_project(project=self.project("delete"), hard=query.hard, by=self.user, now=self.now)
        return no_content()


class Allowed(ProjectView):
    @documented(returns=JsonAllowed)
    def get(self, request: Any, project: str, permission: str) -> Reply:
        """Does a role give the caller that right in the project? What anybody may do in a public project does not count."""
        word = permission_word(permission)
        found = find_project(self.resource_id("project"))
        return Reply(JsonAllowed(found is not None and word in project_permissions(self.user, found)))


class Keys(ProjectView):
    @documented(query=KeyList, returns=list[JsonProjectKey])
    def get(self, request: Any, project: str) -> Reply:
        """The keys of a project, by name."""
        query = self.query(KeyList)
        rows, total = query.listed(ProjectKey.objects.filter(project=self.project("manage")))
        return Reply([project_key_json(row) for row in rows], total=total)

    @documented(body=JsonNewKey, returns=JsonProjectKeyCreated, status=201)
    def post(self, request: Any, project: str) -> Reply:
        """Make a key; the answer is the only place where it shows."""
        body = self.body(JsonNewKey)
        found = self.project("manage")
        self.limit("credentials")
        row, key = keys.create_project_key(project=found, creator=self.user, name=body.name, ttl=body.ttl, now=self.now)
        return Reply(project_key_created_json(row, key), 201)


class OneKey(OneCredential, ProjectView):
    json = staticmethod(project_key_json)

    def row(self) -> ProjectKey:
        return find_credential(ProjectKey.objects.filter(project=self.project("manage")), self.uuid("key"))

    @documented(returns=JsonProjectKey)
    def get(self, request: Any, project: str, key: str) -> Reply:
        """One key, without its secret."""
        return self.shown()

    @documented(body=JsonUpdateKey, returns=JsonProjectKey)
    def patch(self, request: Any, project: str, key: str) -> Reply:
        """Rename a key."""
        return self.renamed()
