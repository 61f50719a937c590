"""One run of a benchmark, ready to be started by any of the sandboxes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from runners.agent.users import Identity


@dataclass(frozen=True, slots=True)
class Plan:
    """`root` is a path that is valid in the launcher's mount namespace; `folder` is the run's private folder on the host."""

    run: str
    folder: Path
    root: Path
    argv: tuple[str, ...]
    env: Mapping[str, str]
    workdir: str
    identity: Identity
    network: bool
    owner: tuple[int, int] = (0, 0)
    """User and group that the root's files belong to, as the launcher sees them."""
    memory: int | None = None
    disk: int | None = None
    cpus: tuple[int, ...] | None = None
    pids: int | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start it: `tool` with its own arguments, then `argv`, which is the benchmark's and passed on untouched.

    In `tool`, `{args}` stands for the number of a descriptor with the content `args` (never visible in `ps`), `{status}` for one on which
    the tool tells, if it got as far as the benchmark, its exit code, as bubblewrap's `--json-status-fd` does.
    """

    tool: tuple[str, ...]
    argv: tuple[str, ...]
    env: Mapping[str, str]
    args: bytes = b""
    pid_file: Path | None = None
    """Written by the tool when it gets as far as the benchmark, if it tells it in this way."""
    unprivileged: bool = False
    """The tool can do its work as the user that the root's files belong to."""
    workdir: str = "/"
    """Where the launcher goes before it starts `argv`."""


class Sandbox(Protocol):
    """A way to run a plan. `needs_host_path`: the root must be visible to the host's processes, so it cannot be an overlay."""

    @property
    def name(self) -> str: ...

    @property
    def needs_host_path(self) -> bool: ...

    def launch(self, plan: Plan) -> Launch: ...

    def forget(self, run: str) -> None:
        """Removes what may be left of a run whose processes are dead."""
