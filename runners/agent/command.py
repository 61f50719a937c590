"""What is executed, with which environment and where: the image's wishes and the job's overrides (runner.md A.3, the rules of Docker)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runners.agent.errors import InvalidJob
from runners.agent.images.manifests import RunConfig

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Command:
    """`user` is the image's `USER` text, not yet looked up; `""` means root."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    workdir: str
    user: str


def resolve(image: RunConfig, entrypoint: Sequence[str] | None, cmd: Sequence[str] | None, env: Mapping[str, str] | None) -> Command:
    """Merges image and job. InvalidJob when nothing is left to run, or when a text cannot be given to the kernel."""
    command = Command(
        argv=_argv(image, entrypoint, cmd), env=_env(image.env or (), env or {}), workdir=image.working_dir or "/", user=image.user or ""
    )
    if not command.argv:
        raise InvalidJob("no command: neither the job nor the image names an entrypoint or cmd")
    if not command.argv[0]:
        raise InvalidJob("the program to run is an empty text")
    texts = {"command": command.argv, "env": (*command.env, *command.env.values()), "workdir": (command.workdir,), "user": (command.user,)}
    for field, values in texts.items():
        if any("\0" in value for value in values):
            raise InvalidJob(f"{field} contains a NUL character")
    return command


def _argv(image: RunConfig, entrypoint: Sequence[str] | None, cmd: Sequence[str] | None) -> tuple[str, ...]:
    if entrypoint is not None:  # replaces the image's entrypoint and voids its cmd
        return (*entrypoint, *(cmd or ()))
    return (*(image.entrypoint or ()), *(cmd if cmd is not None else image.cmd or ()))


def _env(image: Sequence[str], job: Mapping[str, str]) -> dict[str, str]:
    merged = {key: value for key, found, value in (entry.partition("=") for entry in image) if found and key}
    for key, value in job.items():
        if not key or "=" in key:
            raise InvalidJob(f"env has the impossible name {key!r}")
        merged[key] = value
    return merged


def benchmark_name(entrypoint: Sequence[str] | None, cmd: Sequence[str] | None, image: str | None, project: str, digest: str) -> str:
    """The name that `build_time` is reported under."""
    overrides = " ".join((*(entrypoint or ()), *(cmd or ())))
    return overrides or image or f"{project}@{digest}"
