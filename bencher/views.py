"""The root and ``/v0/server/*`` (rest.md 5.9)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from django.conf import settings

from bencher import statistics
from bencher.backups.archive import backup
from bencher.configuration import configuration
from bencher.core.api import Endpoint, Reply, ts
from bencher.core.errors import Invalid
from bencher.core.newtypes import Moment
from bencher.core.schema import documented
from bencher.openapi import document
from bencher.projects.authentication import Access, bearer, is_well_formed
from bencher.projects.endpoints import ApiView


class JsonServerVersion(msgspec.Struct):
    version: str


class JsonConsole(msgspec.Struct):
    url: str


class JsonBackup(msgspec.Struct):
    compress: bool | None = None
    data_store: Literal["aws_s3"] | None = None
    remove: bool | None = None


class JsonBackupCreated(msgspec.Struct):
    created: Moment


class Root(Endpoint):
    public = True

    @documented(returns=None)
    def get(self, request: Any) -> Reply:
        """Is anybody there: ``null``."""
        return Reply(None)


class Version(Endpoint):
    public = True

    @documented(returns=JsonServerVersion)
    def get(self, request: Any) -> Reply:
        """The version by which clients and runners judge the server."""
        return Reply(JsonServerVersion(settings.BENCHER_API_VERSION))


class Document(Endpoint):
    public = True

    @documented(returns=dict[str, Any])
    def get(self, request: Any) -> Reply:
        """This document: OpenAPI 3.0."""
        return Reply(msgspec.Raw(document()))


class Console(ApiView):
    """Where the links of the CLI lead. What is no credential is passed over, a well-formed one must be good (rest.md 1.6)."""

    access = Access.ACTOR

    def access_of(self, method: str) -> Access:
        credential = bearer(self.request.META.get("HTTP_AUTHORIZATION")) if hasattr(self, "request") and self.request is not None else None
        return Access.ACTOR if credential is not None and is_well_formed(credential) else Access.PUBLIC

    @documented(returns=JsonConsole, errors=(401, 403, 404))
    def get(self, request: Any) -> Reply:
        """The address of the web pages."""
        return Reply(JsonConsole(settings.BENCHER_CONSOLE_URL))


class Config(ApiView):
    access = Access.ADMIN

    @documented(returns=dict[str, Any])
    def get(self, request: Any) -> Reply:
        """The configuration in force, secrets redacted."""
        return Reply(configuration())


class Stats(ApiView):
    access = Access.ADMIN

    @documented(returns=statistics.JsonServerStats)
    def get(self, request: Any) -> Reply:
        """How much there is, and how much was done."""
        return Reply(statistics.server_stats(now=self.now))


class Backup(ApiView):
    access = Access.ADMIN

    @documented(body=JsonBackup, returns=JsonBackupCreated, status=201)
    def post(self, request: Any) -> Reply:
        """Back the server up into its data folder."""
        if self.body(JsonBackup).data_store is not None:
            raise Invalid("data_store: backups are kept in the server's data folder; copy them from there")
        folder = settings.BENCHER_DATA_DIR / "backups"
        folder.mkdir(parents=True, exist_ok=True)
        backup(path=folder / f"bencher-{self.now:%Y%m%dT%H%M%S.%fZ}.tar.zst", now=self.now)
        return Reply(JsonBackupCreated(ts(self.now)), 201)
