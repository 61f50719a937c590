"""The messages of the runner channel: eleven JSON objects, told apart by their key ``event`` (protocol.md, section 2).

Input is read strictly: no ``NaN``, no lone surrogates, no number where a text belongs; unknown keys are ignored, ``null`` is the same as absence.
Output leaves out absent optional fields, except the three of :class:`Spec` that the stock server writes as ``null``.
Everything that goes beyond the stock protocol travels in one key, ``ext`` (typed-results.md, D1): an object that is kept as raw bytes here.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

import msgspec

from runners.protocol import limits
from runners.protocol.errors import CloseCode, Undecodable

T = TypeVar("T")

NO_EXT = msgspec.Raw(b"")
"""The value of ``ext`` in a message without one."""

OperatingSystem = Literal["linux", "macos", "windows"]
Architecture = Literal["x86_64", "aarch64"]
Channel = Literal["stable", "canary"]
Sandbox = Literal["firecracker"]
Average = Literal["mean", "median"]
Fold = Literal["min", "max", "mean", "median"]

Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
Digest = Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}\Z")]
PollTimeout = Annotated[int, msgspec.Meta(ge=limits.MIN_POLL_TIMEOUT, le=limits.MAX_POLL_TIMEOUT)]
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
UInt32 = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]
Seconds = Annotated[int, msgspec.Meta(ge=1, le=limits.MAX_JOB_TIMEOUT)]


class _Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="event", tag=str.lower):
    ext: msgspec.Raw = NO_EXT


class _Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    pass


# -- parts ---------------------------------------------------------------------------------------------------------
class RunnerInfo(_Part, frozen=True, kw_only=True):
    """What a runner program says about itself; its presence arms the server's self-update."""

    os: OperatingSystem
    arch: Architecture
    version: str
    channel: Channel | None = None
    checksum: Sha256 | None = None
    ext: msgspec.Raw = NO_EXT


class IterationOutput(_Part, frozen=True, kw_only=True):
    """One run of the benchmark. ``output`` maps the path of a collected file to its text."""

    exit_code: Int32
    stdout: str | None = None
    stderr: str | None = None
    output: dict[str, str] | None = None
    ext: msgspec.Raw = NO_EXT


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """The hardware that a job asks for. ``memory`` and ``disk`` are bytes; ``sandbox``, ``fallback`` and ``archived`` are written as ``null``."""

    uuid: UUID
    name: str
    slug: str
    os: OperatingSystem
    architecture: Architecture
    sandbox: Sandbox | None = None
    cpu: int
    memory: int
    disk: int
    network: bool
    fallback: datetime | None = None
    created: datetime
    modified: datetime
    archived: datetime | None = None


class JobConfig(_Part, frozen=True, kw_only=True):
    """What is run: an image by digest in a registry, how often, with what, for how many seconds at most."""

    registry: str
    project: UUID
    digest: Digest
    image: str | None = None
    entrypoint: Annotated[list[str], msgspec.Meta(max_length=limits.MAX_ENTRYPOINT_ITEMS)] | None = None
    cmd: Annotated[list[str], msgspec.Meta(max_length=limits.MAX_CMD_ITEMS)] | None = None
    env: Annotated[dict[str, str], msgspec.Meta(max_length=limits.MAX_ENV_ENTRIES)] | None = None
    timeout: Seconds
    file_paths: Annotated[list[str], msgspec.Meta(max_length=limits.MAX_FILE_PATHS)] | None = None
    build_time: bool | None = None
    file_size: bool | None = None
    average: Average | None = None
    iter: UInt32 | None = None
    fold: Fold | None = None
    allow_failure: bool | None = None
    backdate: datetime | None = None
    ext: msgspec.Raw = NO_EXT


# -- runner to server ----------------------------------------------------------------------------------------------
class Ready(_Message, frozen=True, kw_only=True):
    """The runner wants a job and waits ``poll_timeout`` seconds for one."""

    poll_timeout: PollTimeout | None = None
    runner: RunnerInfo | None = None


class Running(_Message, frozen=True, kw_only=True):
    """The runner has begun its job."""


class Heartbeat(_Message, frozen=True, kw_only=True):
    """The runner lives and works on its job."""


class Completed(_Message, frozen=True, kw_only=True):
    """The job ran to its end."""

    job: UUID
    results: list[IterationOutput]


class Failed(_Message, frozen=True, kw_only=True):
    """The job failed; ``results`` holds what there was before."""

    job: UUID
    results: list[IterationOutput]
    error: str


class Canceled(_Message, frozen=True, kw_only=True):
    """The runner gave the job up because it was told to."""

    job: UUID


# -- server to runner ----------------------------------------------------------------------------------------------
class Ack(_Message, frozen=True, kw_only=True):
    """Received; with a job: that job's terminal message is stored."""

    job: UUID | None = None


class Job(_Message, frozen=True, kw_only=True):
    """A job for this runner. ``timeout`` (seconds) equals the config's; ``oci_token`` pulls the image for ten minutes."""

    uuid: UUID
    spec: Spec
    config: JobConfig
    oci_token: str
    timeout: Seconds
    created: datetime


class NoJob(_Message, frozen=True, kw_only=True, tag="no_job"):
    """Nothing to do within the poll time."""


class Cancel(_Message, frozen=True, kw_only=True):
    """Stop the job that you execute."""


class Update(_Message, frozen=True, kw_only=True):
    """Replace yourself by this program."""

    version: str
    url: str
    checksum: Sha256


RunnerMessage = Ready | Running | Heartbeat | Completed | Failed | Canceled
ServerMessage = Ack | Job | NoJob | Cancel | Update
Message = RunnerMessage | ServerMessage

_RUNNER: msgspec.json.Decoder[RunnerMessage] = msgspec.json.Decoder(RunnerMessage)
_SERVER: msgspec.json.Decoder[ServerMessage] = msgspec.json.Decoder(ServerMessage)
_CONFIG: msgspec.json.Decoder[JobConfig] = msgspec.json.Decoder(JobConfig)
_ENCODER = msgspec.json.Encoder(order=None)


def _decode(decoder: msgspec.json.Decoder[T], text: str | bytes) -> T:
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        raise Undecodable(CloseCode.INVALID, f"invalid message: {error}") from None
    except RecursionError:
        raise Undecodable(CloseCode.INVALID, "invalid message: nested too deeply") from None
    except (msgspec.DecodeError, ValueError, OverflowError, MemoryError):  # UnicodeError is a ValueError
        raise Undecodable(CloseCode.NOT_TEXT, "not a JSON text") from None


def decode_runner(text: str | bytes) -> RunnerMessage:
    """Read a frame that a runner sent. Raises :class:`Undecodable`, whatever is wrong with it."""
    return _decode(_RUNNER, text)


def decode_server(text: str | bytes) -> ServerMessage:
    """Read a frame that a server sent. Raises :class:`Undecodable`, whatever is wrong with it."""
    return _decode(_SERVER, text)


def decode_config(text: str | bytes) -> JobConfig:
    """Read a job's config alone, as it is stored. Raises :class:`Undecodable`."""
    return _decode(_CONFIG, text)


def encode(message: Message) -> str:
    """The frame's text: one JSON object, ``event`` first."""
    return _ENCODER.encode(message).decode()


def raw_ext(ext: dict[str, Any] | None) -> msgspec.Raw:
    """An extension object for the field ``ext`` of a message; ``None`` and ``{}`` leave it out."""
    return msgspec.Raw(_ENCODER.encode(ext)) if ext else NO_EXT


def ext_of(part: _Message | RunnerInfo | IterationOutput | JobConfig) -> dict[str, Any]:
    """The extension object of a message or a part; empty when it has none or something that is no object of version 1."""
    if not bytes(part.ext):
        return {}
    try:
        value = msgspec.json.decode(part.ext)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) and value.get("v") == 1 else {}
