"""What must not be lost, on disk: the job that runs, and results until the server has acknowledged them.

`active/<job>.json` is written when a job is taken and after each of its iterations, `pending/<job>.json` when it has ended. Every file is
written aside with mode 0600, flushed to the disk and renamed. `dead-letter/` is for results that are not tried again; nothing deletes those.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import msgspec

from runners.protocol import messages
from runners.protocol.agent_signals import Pending, Terminal
from runners.protocol.errors import Undecodable

MAX_AGE_SECONDS = 24 * 3600


class _Filed(msgspec.Struct):
    """A spooled result: the message as it would be sent, when it was made (Unix time), how often a channel was dropped over it."""

    message: msgspec.Raw
    made: float
    refusals: int = 0
    why: str = ""


class Spool:
    """One per runner; the folder belongs to one process at a time."""

    def __init__(self, folder: Path) -> None:
        self._active, self._pending, self.dead_letters = (folder / name for name in ("active", "pending", "dead-letter"))
        for path in (self._active, self._pending, self.dead_letters):
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            for half_written in path.glob("*.new"):  # by a predecessor that was killed
                half_written.unlink()

    # -- the running job ---------------------------------------------------------------------------------------------
    def begin(self, job: UUID, results: list[messages.IterationOutput] | None = None) -> None:
        """Remembers a job as taken, with the results so far: should this process die, the next one reports them as `failed`."""
        message = messages.Failed(job=job, results=results or [], error="RunnerCrash: the runner was killed while the job ran")
        _write(self._active / f"{job}.json", messages.encode(message).encode())

    def interrupted(self) -> list[Terminal]:
        """What a killed predecessor had taken and not finished, as messages to be filed."""
        found: list[Terminal] = []
        for path in sorted(self._active.glob("*.json")):
            message = _decode(path.read_bytes())
            if message is None or (self._pending / path.name).exists():
                path.unlink()
            else:
                found.append(message)
        return found

    # -- results -----------------------------------------------------------------------------------------------------
    def file(self, message: Terminal, made: float | None = None) -> None:
        """Puts a result on the disk; the job is over from then on."""
        filed = _Filed(msgspec.Raw(messages.encode(message).encode()), time.time() if made is None else made)
        _write(self._pending / f"{message.job}.json", msgspec.json.encode(filed))
        (self._active / f"{message.job}.json").unlink(missing_ok=True)

    def load(self) -> Iterator[Pending]:
        """Results that wait for their ack, oldest first. A file that cannot be read is put aside."""
        filed = {path: self._read(path) for path in self._pending.glob("*.json")}
        for path, record in sorted(filed.items(), key=lambda item: item[1].made if item[1] else 0):
            message = _decode(record.message) if record else None
            if record is None or message is None:
                path.rename(self.dead_letters / path.name)
            else:
                yield Pending(message, record.refusals)

    def refused(self, job: UUID, times: int) -> None:
        path = self._pending / f"{job}.json"
        if record := self._read(path):
            record.refusals = times
            _write(path, msgspec.json.encode(record))

    def delivered(self, job: UUID) -> None:
        (self._pending / f"{job}.json").unlink(missing_ok=True)
        _sync(self._pending)

    def park(self, job: UUID, why: str) -> Path:
        """Moves a result to the dead letters, with the reason in it. Where it is now."""
        path, target = self._pending / f"{job}.json", self.dead_letters / f"{job}.json"
        if record := self._read(path):
            record.why = why
            _write(target, msgspec.json.encode(record))
            path.unlink()
        return target

    def expired(self, now: float) -> list[UUID]:
        """Jobs whose results are older than a day."""
        records = ((path, self._read(path)) for path in self._pending.glob("*.json"))
        return [UUID(path.stem) for path, record in records if record and now - record.made > MAX_AGE_SECONDS]

    @staticmethod
    def _read(path: Path) -> _Filed | None:
        try:
            return msgspec.json.decode(path.read_bytes(), type=_Filed)
        except (OSError, msgspec.DecodeError):
            return None


def _decode(text: bytes | msgspec.Raw) -> Terminal | None:
    try:
        message = messages.decode_runner(bytes(text))
    except Undecodable:
        return None
    return message if isinstance(message, messages.Completed | messages.Failed | messages.Canceled) else None


def _write(path: Path, content: bytes) -> None:
    temporary = path.with_suffix(".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    os.rename(temporary, path)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
