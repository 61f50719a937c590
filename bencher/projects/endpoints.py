"""The base of every REST view that has a caller: authentication, and the project of the path."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from bencher.core import clock
from bencher.core.api import Endpoint, path_id, path_uuid
from bencher.core.errors import Missing, NotAllowed, NotAuthenticated, ServiceError
from bencher.projects.authentication import ANONYMOUS, Access, Caller, authenticate
from bencher.projects.limiting import limit
from bencher.projects.models import Project, User
from bencher.projects.permissions import Permission, may
from bencher.projects.selectors import find_project

__all__ = ["Access", "ApiView"]
HINT = " If it is private or needs a right, send a credential of somebody who has it: a user key, a project key or a token."
CHECK = " Check the credential that was sent: it may belong to somebody else or to another project."


class ApiView(Endpoint):
    """A resource with a caller. ``access`` is one class for all methods, or one per method (``{"GET": Access.ACTOR, "DELETE": Access.USER}``)."""

    access: ClassVar[Access | dict[str, Access]] = Access.USER
    caller: Caller = ANONYMOUS
    now: datetime
    """When the request arrived: what services take as ``now``."""

    def access_of(self, method: str) -> Access:
        return self.access if isinstance(self.access, Access) else self.access.get("GET" if method == "HEAD" else method, Access.USER)

    def authenticate(self) -> None:
        self.now = clock.now()
        access = self.access_of(str(self.request.method))
        try:
            self.caller = authenticate(self.request.META.get("HTTP_AUTHORIZATION"), access, now=self.now)
        except (NotAuthenticated, Missing, NotAllowed) as fault:
            raise self.hinted(fault) from None
        self.limit("requests")

    def limit(self, what: str) -> None:
        """Count one ``what`` of the caller; TooMany beyond the configured rate (``bencher/core/ratelimits.py``)."""
        limit(self.caller, what, self.request.META, now=self.now)

    def security(self, method: str) -> list[dict[str, list[str]]]:
        access = self.access_of(method)
        return [] if access is Access.PUBLIC else [{}, {"bearer": []}] if access is Access.ACTOR else [{"bearer": []}]

    def error_statuses(self, method: str) -> tuple[int, ...]:
        common = super().error_statuses(method)
        if self.access_of(method) is Access.PUBLIC:
            return common
        return (*common, 401, 403, 404, *(() if method == "GET" else (409,)))

    def anonymous(self) -> bool:
        return self.caller.is_anonymous

    @property
    def user(self) -> User:
        """The calling user: for endpoints of the classes User and Admin."""
        if self.caller.user is None:
            raise NotAuthenticated("this needs a user")
        return self.caller.user

    def uuid(self, name: str) -> UUID:
        """The UUID in that part of the path; else 400."""
        return path_uuid(self.kwargs[name], name)

    def resource_id(self, name: str) -> str:
        """The UUID or slug in that part of the path; else 400."""
        return path_id(self.kwargs[name], name)

    def project(self, permission: Permission | str = "view") -> Project:
        """The project of the path, if the caller has that right in it: else 404, 401 or 403 (rest.md 1.6). A private project hides."""
        project = find_project(self.resource_id("project"))
        if project is None or not may(self.caller, Permission.VIEW, project):
            raise self.hinted(Missing("no such project"))
        if permission != Permission.VIEW and not may(self.caller, permission, project):
            fault = NotAuthenticated if self.caller.is_anonymous else NotAllowed
            raise self.hinted(fault("no right to do that in this project"))
        return project

    def hinted(self, fault: ServiceError) -> ServiceError:
        """The refusal with advice about the credential, on project routes."""
        if "project" not in self.kwargs:
            return fault
        return type(fault)(
            fault.message + "." + (HINT if self.caller.is_anonymous and "HTTP_AUTHORIZATION" not in self.request.META else CHECK)
        )
