"""What a runner gets of a run: the stored configuration (rest.md 2.5, protocol.md section 2). Pure."""

from __future__ import annotations

from uuid import UUID

import msgspec

from jobs.run.request import RunRequest
from runners.protocol.messages import JobConfig, raw_ext

EXT_VERSION = 1


def job_config(request: RunRequest, *, registry: str, project: UUID, digest: str, timeout: int) -> JobConfig:
    """The configuration of ``request.job`` with what the server decided: ``digest`` is the image's, frozen; ``timeout`` in seconds."""
    job, settings = request.job, request.settings
    if job is None:
        raise ValueError("the run has no job")
    return JobConfig(
        registry=registry.rstrip("/") + "/",
        project=project,
        digest=digest,
        image=job.image,
        entrypoint=job.entrypoint,
        cmd=job.cmd,
        env=job.env,
        timeout=timeout,
        file_paths=job.file_paths,
        build_time=job.build_time,
        file_size=job.file_size,
        average=settings.average if settings else None,
        iter=job.iter,
        fold=settings.fold if settings else None,
        allow_failure=job.allow_failure,
        backdate=job.backdate,
        ext=raw_ext({**job.ext, "v": EXT_VERSION} if job.ext else None),
    )


def encode(config: JobConfig) -> str:
    """The text that is stored, and that ``runners.protocol.messages.decode_config`` reads."""
    return msgspec.json.encode(config).decode()
