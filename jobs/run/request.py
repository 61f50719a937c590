"""``POST /v0/run``: what is asked (rest.md 2.1, 2.2). Pure."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar
from uuid import UUID

import msgspec

from bencher.core.newtypes import U32, GitHash, NameId, PositiveI32, ResourceId, ResourceName, Timestamp
from jobs.scheduling import MAX_PRIORITY
from outputs.names import BranchName
from outputs.requests import Settings, StartPoint, Thresholds
from runners.protocol import limits

JobPriority = Annotated[int, msgspec.Meta(ge=0, le=MAX_PRIORITY)]
Words = list[str]


class RunJob(msgspec.Struct, kw_only=True):
    """The remote half: which image, on what, how."""

    image: Annotated[str, msgspec.Meta(min_length=1)]
    spec: ResourceId | None = None
    entrypoint: Annotated[Words, msgspec.Meta(max_length=limits.MAX_ENTRYPOINT_ITEMS)] | None = None
    cmd: Annotated[Words, msgspec.Meta(max_length=limits.MAX_CMD_ITEMS)] | None = None
    env: Annotated[dict[str, str], msgspec.Meta(max_length=limits.MAX_ENV_ENTRIES)] | None = None
    timeout: PositiveI32 | None = None
    """Seconds."""
    file_paths: Annotated[Words, msgspec.Meta(max_length=limits.MAX_FILE_PATHS)] | None = None
    build_time: bool | None = None
    file_size: bool | None = None
    iter: U32 | None = None
    allow_failure: bool | None = None
    backdate: Timestamp | None = None
    priority: JobPriority | None = None
    """An extension, for server administrators."""
    ext: dict[str, Any] | None = None
    """An extension: what the runner finds as ``config.ext`` (typed results)."""


class RunRequest(msgspec.Struct, kw_only=True):
    """A run: local results, or with ``job`` a remote job."""

    nul_allowed: ClassVar[tuple[str, ...]] = ("results",)
    """What a tool printed may hold anything; it is parsed, not stored."""

    project: ResourceId | None = None
    idempotency_key: UUID | None = None
    branch: NameId | None = None
    hash: GitHash | None = None
    start_point: StartPoint | None = None
    testbed: NameId | None = None
    spec_reset: bool | None = None
    thresholds: Thresholds | None = None
    start_time: Timestamp
    end_time: Timestamp
    results: list[str]
    settings: Settings | None = None
    context: dict[str, str] | None = None
    job: RunJob | None = None

    @property
    def branch_name(self) -> str:
        """The branch that is meant: given, else the context's, else ``main``."""
        return self.branch if self.branch is not None else self._of_context(BRANCH, BranchName) or "main"

    @property
    def commit(self) -> str | None:
        return self.hash if self.hash is not None else self._of_context(COMMIT, GitHash)

    @property
    def local_testbed(self) -> str:
        """The testbed of local results: given, else the context's operating system, else ``localhost``."""
        return self.testbed if self.testbed is not None else self._of_context(OS, ResourceName) or "localhost"

    def _of_context(self, key: str, rule: Any) -> str | None:
        """A value of the context, if there is one that obeys the rule."""
        try:
            text: str | None = rule.parse((self.context or {}).get(key))
        except (TypeError, ValueError):
            return None
        return text


BRANCH = "bencher.dev/v0/branch/ref/name"
COMMIT = "bencher.dev/v0/branch/hash"
OS = "bencher.dev/v0/testbed/os"
