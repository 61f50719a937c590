"""One file with everything: database, stored bytes, the generated secret key. Readable by ``tar`` and ``zstd``.

| member | what |
|---|---|
| ``manifest.json`` | form, version, moment, applied migrations |
| ``secret_key`` | of the data folder, when it was generated there |
| ``database/{app.model}.jsonl`` | one table each (``rows.py``) |
| ``storage/{key}`` | one stored object each |
| ``end.json`` | the last one, with the number of objects: a file without it is cut off |

A backup is taken from a running server: rows are of one moment, and what they point to was stored before. It is written beside its place and moved
there when it is complete. A restore replaces the database in one transaction.
"""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import msgspec
import zstandard
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, transaction

from bencher.backups import rows
from outputs.registry.storage import NotFound, Storage, get_storage

FORM = 1
IN_MEMORY = 4 << 20
"""Stored objects up to this size are restored in one piece."""


class BackupError(Exception):
    """The file cannot be written, read or used; says why."""


@dataclass
class Summary:
    """What went into or came out of a backup. Sizes in bytes."""

    file: str
    tables: dict[str, int] = field(default_factory=dict)
    objects: int = 0
    object_bytes: int = 0
    file_bytes: int = 0

    def json(self) -> str:
        return msgspec.json.encode({**asdict(self), "rows": self.rows}).decode()

    @property
    def rows(self) -> int:
        return sum(self.tables.values())

    def __str__(self) -> str:
        return f"{self.rows} rows of {len(self.tables)} tables, {self.objects} stored objects ({self.object_bytes / 1e6:.1f} MB)"


# -- writing ---------------------------------------------------------------------------------------------------------
def backup(*, path: Path, now: datetime) -> Summary:
    """Write ``path`` (mode 0600: it holds password hashes and perhaps the secret key). Raises `BackupError`."""
    summary = Summary(str(path))
    try:
        with _new_archive(path) as archive:
            _add(archive, "manifest.json", _manifest(now))
            if key := _secret_key():
                _add(archive, "secret_key", key)
            with rows.snapshot():
                for model in rows.tables():
                    label = model._meta.label_lower
                    summary.tables[label] = _add_lines(archive, f"database/{label}.jsonl", rows.dump(model))
            _add_objects(archive, get_storage(), summary)
            _add(archive, "end.json", msgspec.json.encode({"objects": summary.objects}))
    except OSError as error:
        raise BackupError(f"{path}: {error.strerror or error}") from error
    summary.file_bytes = path.stat().st_size
    return summary


@contextmanager
def _new_archive(path: Path) -> Iterator[tarfile.TarFile]:
    """A file that is at its place when it is complete and on disk, or never."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            with (
                zstandard.ZstdCompressor().stream_writer(file, closefd=False) as packed,
                tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as archive,
            ):
                yield archive
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _manifest(now: datetime) -> bytes:
    values = {"form": FORM, "version": settings.BENCHER_API_VERSION, "created": now, "migrations": rows.migrations()}
    return msgspec.json.format(msgspec.json.encode(values))


def _secret_key() -> bytes:
    path = settings.BENCHER_DATA_DIR / "secret_key"
    return path.read_bytes() if path.is_file() and "SECRET_KEY" not in os.environ else b""


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), 0o600
    archive.addfile(member, io.BytesIO(data))


def _add_lines(archive: tarfile.TarFile, name: str, lines: Iterable[bytes]) -> int:
    """A member must say its size first: large tables wait in a temporary file. How many rows."""
    count = -1  # the column names
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as file:
        for line in lines:
            file.write(line)
            count += 1
        member = tarfile.TarInfo(name)
        member.size, member.mode = file.tell(), 0o600
        file.seek(0)
        archive.addfile(member, file)
    return count


def _add_objects(archive: tarfile.TarFile, storage: Storage, summary: Summary) -> None:
    for entry in sorted(storage.list(), key=lambda entry: entry.key):
        try:
            pieces = storage.open_read(entry.key)
        except NotFound:
            continue  # collected as garbage a moment ago, so nothing points to it
        member = tarfile.TarInfo(f"storage/{entry.key}")
        member.size, member.mode = entry.size, 0o600
        archive.addfile(member, _Pieces(pieces))  # type: ignore[arg-type]
        summary.objects += 1
        summary.object_bytes += entry.size


class _Pieces:
    """An iterator of bytes, read as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, b""

    def read(self, size: int) -> bytes:
        while len(self._rest) < size and (piece := next(self._pieces, b"")):
            self._rest += piece
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


# -- reading ---------------------------------------------------------------------------------------------------------
def restore(*, path: Path) -> Summary:
    """Replace the database by that of ``path``, and store its objects. No server may run meanwhile. Raises `BackupError`; then the database is as before."""
    summary = Summary(str(path), file_bytes=path.stat().st_size if path.is_file() else 0)
    models = {f"database/{model._meta.label_lower}.jsonl": model for model in rows.tables()}
    try:
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as unpacked, transaction.atomic():
            with tarfile.open(fileobj=unpacked, mode="r|") as archive:
                objects = _restore_members(archive, models, summary)
            if objects != summary.objects or set(summary.tables) != {model._meta.label_lower for model in models.values()}:
                raise BackupError(f"{path}: parts are missing: the file is cut off")
            rows.reset_sequences()
    except (zstandard.ZstdError, tarfile.TarError, EOFError) as error:
        raise BackupError(f"{path}: not a backup, or damaged: {error}") from error
    except OSError as error:
        raise BackupError(f"{path}: {error.strerror or error}") from error
    except (msgspec.DecodeError, ValueError, ValidationError) as error:
        raise BackupError(f"{path}: {error}") from error
    except (IntegrityError, DataError) as error:
        raise BackupError(f"{path}: its rows do not fit together: {error}") from error
    return summary


def _restore_members(archive: tarfile.TarFile, models: dict[str, Any], summary: Summary) -> int:
    """How many objects the file should have; -1 when it does not say."""
    storage, objects = get_storage(), -1
    for position, member in enumerate(archive):
        file = archive.extractfile(member)
        if file is None or (position == 0) != (member.name == "manifest.json"):
            raise BackupError(f"{summary.file}: not a backup: it begins with {member.name!r}")
        if position == 0:
            _check(msgspec.json.decode(file.read()), summary.file)
            rows.empty()
        elif member.name == "secret_key":
            _put_secret_key(file.read())
        elif member.name in models:
            model = models[member.name]
            summary.tables[model._meta.label_lower] = rows.load(model, file)
        elif member.name.startswith("storage/"):
            _put_object(storage, member.name.removeprefix("storage/"), file, member.size)
            summary.objects += 1
            summary.object_bytes += member.size
        elif member.name == "end.json":
            objects = msgspec.json.decode(file.read())["objects"]
        else:
            raise BackupError(f"{summary.file}: unknown part {member.name!r}: made by another version?")
    return objects


def _check(manifest: dict[str, Any], file: str) -> None:
    if manifest.get("form") != FORM:
        raise BackupError(f"{file}: form {manifest.get('form')!r} is not known here, only {FORM}")
    theirs, ours = set(manifest["migrations"]), set(rows.migrations())
    if theirs != ours:
        first = sorted(theirs ^ ours)[0]
        where = "the backup" if first in theirs else "this version"
        raise BackupError(
            f"{file}: made by version {manifest['version']} with other tables ({first} is only in {where}): restore with that version, then migrate"
        )


def _put_object(storage: Storage, key: str, file: IO[bytes], size: int) -> None:
    if size <= IN_MEMORY:
        storage.put(key, file.read())
        return
    storage.abort(key)
    with storage.append(key, {}, 0) as appender:
        while piece := file.read(1 << 20):
            appender.write(piece)
        appender.finish()


def _put_secret_key(key: bytes) -> None:
    """Tokens that were issued stay valid. Not where the environment names a key."""
    if "SECRET_KEY" in os.environ:
        return
    path = settings.BENCHER_DATA_DIR / "secret_key"
    unfinished = path.with_name("secret_key.unfinished")
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(key)
    unfinished.replace(path)
