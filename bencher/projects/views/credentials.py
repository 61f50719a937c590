"""What the routes of one key or token share (rest.md 1.5)."""

from __future__ import annotations

from typing import Any, ClassVar

from bencher.core.api import Reply, no_content
from bencher.core.schema import documented
from bencher.projects.endpoints import ApiView
from bencher.projects.models import Credential
from bencher.projects.requests import JsonUpdateKey
from bencher.projects.services import keys


class OneCredential(ApiView):
    """A credential is shown without its secret, renamed, and revoked."""

    json: ClassVar[Any]
    """What REST shows of a row."""

    def row(self) -> Credential:
        """The credential of the path, for those who may see it."""
        raise NotImplementedError

    def shown(self) -> Reply:
        return Reply(type(self).json(self.row()))

    def renamed(self) -> Reply:
        body, row = self.body(JsonUpdateKey), self.row()
        keys.rename(key=row, name=body.name)
        return Reply(type(self).json(row))

    @documented(status=204)
    def delete(self, request: Any, **_: str) -> Reply:
        """Revoke it: it proves nothing any more, and stays in the list of the revoked."""
        keys.revoke(key=self.row(), now=self.now)
        return no_content()
