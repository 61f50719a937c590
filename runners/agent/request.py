"""What is to be run, whoever asks: a claimed job or the command line."""

from collections.abc import Mapping
from dataclasses import dataclass

from runners.agent.command import benchmark_name
from runners.agent.errors import InvalidJob
from runners.agent.images import reference
from runners.protocol import messages

JOB_GRACE_SECONDS = 60
"""A server adds this to a job's timeout by default; past it a result is of no use to anybody."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """What the job may use. None: no limit of that kind. Bytes and cores."""

    cpu: int | None = None
    memory: int | None = None
    disk: int | None = None
    network: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One job. `timeout` counts for each iteration, `deadline` for all of them; both in seconds."""

    name: str
    hardware: Hardware
    timeout: float
    deadline: float | None = None
    sandbox: str | None = None
    entrypoint: tuple[str, ...] | None = None
    cmd: tuple[str, ...] | None = None
    env: Mapping[str, str] | None = None
    file_paths: tuple[str, ...] = ()
    build_time: bool = False
    file_size: bool = False
    iterations: int = 1
    allow_failure: bool = False


def of_job(job: messages.Job) -> tuple[Request, reference.Reference]:
    """A claimed job as a request, and where its image is. InvalidJob or ImageError when it cannot be run by anybody."""
    config, spec = job.config, job.spec
    for kind, value in (("cpu", spec.cpu), ("memory", spec.memory), ("disk", spec.disk)):
        if value < 1:
            raise InvalidJob(f"spec.{kind} is {value}; it must be at least 1")
    image = reference.for_job(config.registry, str(config.project), config.digest)
    request = Request(
        name=benchmark_name(config.entrypoint, config.cmd, config.image, str(config.project), config.digest),
        hardware=Hardware(spec.cpu, spec.memory, spec.disk, spec.network),
        timeout=config.timeout,
        deadline=config.timeout + JOB_GRACE_SECONDS,
        sandbox=spec.sandbox,
        entrypoint=None if config.entrypoint is None else tuple(config.entrypoint),
        cmd=None if config.cmd is None else tuple(config.cmd),
        env=config.env,
        file_paths=tuple(config.file_paths or ()),
        build_time=bool(config.build_time),
        file_size=bool(config.file_size),
        iterations=1 if config.iter is None else config.iter,
        allow_failure=bool(config.allow_failure),
    )
    return request, image
