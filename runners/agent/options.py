"""The command line's vocabulary: types that refuse with a clear message, and the flags that both commands share (runner.md A.1)."""

import functools
import os
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click

from runners.agent.cpus import Layout
from runners.agent.images.store import Limits
from runners.agent.iteration import Settings
from runners.agent.progress import Json, Lines, Progress
from runners.agent.tuning.knobs import Tuning

F = TypeVar("F", bound=Callable[..., Any])
KEY = re.compile(r"bencher_runner_[A-Za-z0-9]{30}\Z", re.ASCII)
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_MAX_SLUG = 64


class KeyType(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic since click 8.3 only
    """A runner key. Its error message never repeats what was typed."""

    name = "key"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not KEY.match(str(value)):
            self.fail("a runner key is bencher_runner_ followed by exactly 30 ASCII letters and digits", param, ctx)
        return str(value)


class RunnerType(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic since click 8.3 only
    name = "uuid or slug"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        try:
            return str(uuid.UUID(text)) if len(text) == 36 else self._slug(text)
        except ValueError:
            self.fail(f"{text!r} is neither a UUID nor a slug (lower-case letters, digits, single hyphens)", param, ctx)

    @staticmethod
    def _slug(text: str) -> str:
        if len(text) > _MAX_SLUG or not _SLUG.match(text):
            raise ValueError(text)
        return text


class HostType(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic since click 8.3 only
    name = "url"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        url = urlsplit(str(value))
        try:
            url.port  # noqa: B018 - raises for an impossible one
        except ValueError as error:
            self.fail(f"{value!r} is not a URL: {error}", param, ctx)
        if url.scheme not in {"http", "https"} or not url.hostname or url.query or url.fragment or url.username:
            self.fail(f"{value!r} is not the URL of a server, like https://bench.example.com", param, ctx)
        return str(value)


class PairType(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic since click 8.3 only
    """`KEY=VALUE`; the value may be empty."""

    name = "key=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        key, found, text = str(value).partition("=")
        if not found or not key:
            self.fail(f"{key!r} is not KEY=VALUE", param, ctx)
        return key, text


SECONDS = click.IntRange(1, 900)
POSITIVE = click.IntRange(min=1)
LOG_LEVELS = click.Choice(["off", "error", "warning", "info", "debug", "trace"], case_sensitive=False)


def default_state() -> Path:
    """systemd's StateDirectory, else the usual place of root or of an ordinary user."""
    if given := os.environ.get("STATE_DIRECTORY"):
        return Path(given.split(":")[0])
    if os.geteuid() == 0:
        return Path("/var/lib/bencher-runner")
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "bencher-runner"


_TUNING_FLAGS = (
    click.option("--no-tuning", is_flag=True, help="Leave every knob of the host alone; the flags below are moot then."),
    click.option("--aslr", is_flag=True, help="Leave address space randomisation as it is."),
    click.option("--nmi-watchdog", is_flag=True, help="Leave the NMI watchdog."),
    click.option("--smt", is_flag=True, help="Leave hyper-threading."),
    click.option("--turbo", is_flag=True, help="Leave turbo frequencies."),
    click.option("--numa-balancing", is_flag=True, help="Leave automatic NUMA balancing."),
    click.option("--timer-migration", is_flag=True, help="Leave timer migration."),
    click.option("--soft-watchdog", is_flag=True, help="Leave the soft-lockup watchdog."),
    click.option("--ksm", is_flag=True, help="Leave kernel same-page merging."),
    click.option("--cstates", is_flag=True, help="Leave deep C-states."),
    click.option("--no-irq-steering", is_flag=True, help="Do not move interrupts and work queues to the housekeeping cores."),
    click.option("--no-cpuset-partition", is_flag=True, help="Do not build the isolated cpuset partition."),
    click.option("--swappiness", type=click.IntRange(0, 200), default=10, show_default=True),
    click.option("--governor", default="performance", show_default=True, help="CPU frequency governor."),
    click.option("--perf-event-paranoid", type=click.IntRange(-1, 4), default=-1, show_default=True),
    click.option(
        "--thp", type=click.Choice(["never", "madvise", "always", "leave"], case_sensitive=False), default="never", show_default=True
    ),
)

_MACHINE_FLAGS = (
    click.option(
        "--state-dir", type=click.Path(path_type=Path, file_okay=False), envvar="BENCHER_RUNNER_STATE_DIR", help="Spool and image cache."
    ),
    click.option(
        "--max-output-size", type=POSITIVE, default=25 << 20, help="Bytes kept of each stream and of all files.  [default: 25 MiB]"
    ),
    click.option("--max-file-count", type=click.IntRange(1, 65535), default=255, show_default=True),
    click.option(
        "--max-symlinks", type=click.IntRange(1, 4096), default=40, show_default=True, help="Links followed for one path in the image."
    ),
    click.option("--max-processes", type=POSITIVE, default=4096, show_default=True, help="Processes and threads of a benchmark."),
    click.option("--max-image-size", type=POSITIVE, default=8 << 30, help="Bytes of an unpacked image.  [default: 8 GiB]"),
    click.option("--max-image-entries", type=POSITIVE, default=500_000, show_default=True),
    click.option("--cache-size", type=click.IntRange(min=0), default=20 << 30, help="Bytes of images kept.  [default: 20 GiB]"),
    click.option("--grace-period", type=SECONDS, default=1, show_default=True, help="Seconds between SIGTERM and SIGKILL."),
    click.option("--stock-build-time", is_flag=True, help="build_time of the whole iteration, not of the run alone."),
    click.option("--json", "as_json", is_flag=True, help="Progress as one JSON object per line."),
)


def shared(command: F) -> F:
    """The flags of both commands. The tuning ones arrive as one `tuning`."""

    @functools.wraps(command)
    def collected(**values: Any) -> Any:
        fields = {name: values.pop(name) for name in Tuning.flags()}
        return command(tuning=Tuning.of_flags(**fields), **values)

    for option in reversed((*_MACHINE_FLAGS, *_TUNING_FLAGS)):
        collected = option(collected)
    return collected  # type: ignore[return-value]


def progress(given: dict[str, Any]) -> Progress:
    return Json() if given["as_json"] else Lines()


def limits(given: dict[str, Any]) -> Limits:
    return Limits(image_bytes=given["max_image_size"], image_entries=given["max_image_entries"], cache_bytes=given["cache_size"])


def settings(given: dict[str, Any], layout: Layout) -> Settings:
    return Settings(
        output_bytes=given["max_output_size"], file_count=given["max_file_count"], symlinks=given["max_symlinks"],
        grace=given["grace_period"], pids=given["max_processes"], cpus=layout.benchmark, stock_build_time=given["stock_build_time"],
    )  # fmt: skip
