"""One file out, the same server in; nothing replaced by a file that is not whole."""

from __future__ import annotations

import io
import json
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import zstandard
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import transaction

from bencher.backups import archive, rows
from bencher.models import Pulse
from bencher.projects.models import Organization, User, UserKey
from bencher.projects.services.users import create_admin
from outputs.registry.storage import get_storage

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "the backup"


@pytest.fixture
def filled() -> User:
    """A little of everything that is awkward: times with microseconds, texts of other scripts, large objects."""
    user, _ = create_admin(email="ada@example.com", name="Ada", now=NOW)
    Organization.objects.create(name='日本 "quoted" \\ \n', slug="jp", created=NOW, modified=NOW, claimed=NOW)
    Pulse.beat("canary", now=NOW)
    storage = get_storage()
    for key in objects():  # what other tests left
        storage.delete(key)
    storage.put("a/small", b"\x00\xff" * 10)
    storage.put("a/empty", b"")
    storage.put("b/large", b"0123456789abcdef" * (archive.IN_MEMORY // 16 + 1))
    return user


def content() -> dict[str, list[Any]]:
    return {m._meta.label: list(m._base_manager.order_by("pk").values()) for m in rows.tables()}


def objects() -> dict[str, bytes]:
    storage = get_storage()
    return {entry.key: storage.get(entry.key) for entry in storage.list()}


def clear() -> None:
    with transaction.atomic():
        rows.empty()
    storage = get_storage()
    for key in objects():
        storage.delete(key)


def test_there_and_back(filled: User, file: Path) -> None:
    before, stored = content(), objects()
    summary = archive.backup(path=file, now=NOW)
    clear()
    assert not User.objects.exists()
    restored = archive.restore(path=file)
    assert (content(), objects()) == (before, stored)
    assert restored.tables == summary.tables
    assert (restored.rows, restored.objects, restored.object_bytes) == (summary.rows, 3, sum(map(len, stored.values())))
    assert summary.tables["projects.user"] == 1


def test_a_restore_replaces_what_came_after(filled: User, file: Path) -> None:
    archive.backup(path=file, now=NOW)
    create_admin(email="later@example.com", name="Later", now=NOW + timedelta(days=1))
    User.objects.filter(pk=filled.pk).update(name="Changed")
    archive.restore(path=file)
    assert list(User.objects.values_list("email", "name")) == [("ada@example.com", "Ada")]
    create_admin(email="next@example.com", name="Next", now=NOW)  # generated keys go on behind the restored ones
    assert UserKey.objects.count() == 2


def test_every_table_is_kept_or_excused(filled: User, file: Path) -> None:
    """A new model is in the backup without anybody thinking of it."""
    archive.backup(path=file, now=NOW)
    with file.open("rb") as packed, tarfile.open(fileobj=zstandard.ZstdDecompressor().stream_reader(packed), mode="r|") as members:
        names = [member.name for member in members]
    tables = {name.removeprefix("database/").removesuffix(".jsonl") for name in names if name.startswith("database/")}
    assert tables | rows.PASSING == {
        model._meta.label_lower for model in apps.get_models(include_auto_created=True) if not model._meta.proxy
    }
    assert (names[0], names[-1]) == ("manifest.json", "end.json")


def test_the_file_is_private_and_appears_whole(filled: User, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive.backup(path=file, now=NOW)
    assert file.stat().st_mode & 0o777 == 0o600
    before = file.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive, "_add_objects", fail)
    with pytest.raises(archive.BackupError, match="No space left"):
        archive.backup(path=file, now=NOW)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


# -- files that are not what they should be ----------------------------------------------------------------------------
def rewritten(file: Path, change: Any) -> None:
    """The same archive with ``change(name, data)``: other bytes, or None to leave the member out."""
    with file.open("rb") as packed, tarfile.open(fileobj=zstandard.ZstdDecompressor().stream_reader(packed), mode="r|") as old:
        members = [(member.name, old.extractfile(member).read()) for member in old]
    text = io.BytesIO()
    with tarfile.open(fileobj=text, mode="w") as new:
        for name, data in members:
            if (data := change(name, data)) is not None:
                member = tarfile.TarInfo(name)
                member.size = len(data)
                new.addfile(member, io.BytesIO(data))
    file.write_bytes(zstandard.compress(text.getvalue()))


def other_form(name: str, data: bytes) -> bytes:
    return data.replace(b'"form": 1', b'"form": 2') if name == "manifest.json" else data


def other_migrations(name: str, data: bytes) -> bytes:
    return data.replace(b"projects.0001_initial", b"projects.9999_future") if name == "manifest.json" else data


def without_users(name: str, data: bytes) -> bytes | None:
    return None if name == "database/projects.user.jsonl" else data


def without_an_object(name: str, data: bytes) -> bytes | None:
    return None if name == "storage/a/small" else data


def without_end(name: str, data: bytes) -> bytes | None:
    return None if name == "end.json" else data


def without_manifest(name: str, data: bytes) -> bytes | None:
    return None if name == "manifest.json" else data


def unknown_column(name: str, data: bytes) -> bytes:
    return data.replace(b'"email"', b'"e_mail"') if name == "database/projects.user.jsonl" else data


def not_json(name: str, data: bytes) -> bytes:
    return data[:-5] if name == "database/projects.user.jsonl" else data


def dangling(name: str, data: bytes) -> bytes:
    """Keys of a user who is not there."""
    return data.split(b"\n")[0] + b"\n" if name == "database/projects.user.jsonl" else data


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (other_form, "form 2 is not known"),
        (other_migrations, "with other tables"),
        (without_users, "parts are missing"),
        (without_an_object, "parts are missing"),
        (without_end, "parts are missing"),
        (without_manifest, "not a backup"),
        (unknown_column, "unknown column e_mail"),
        (not_json, "JSON is malformed|truncated"),
        (dangling, "foreign key"),
    ],
)
def test_a_bad_file_changes_nothing(filled: User, file: Path, change: Any, why: str) -> None:
    archive.backup(path=file, now=NOW)
    before = content()
    rewritten(file, change)
    with pytest.raises(archive.BackupError, match=f"(?i){why}"):
        archive.restore(path=file)
    assert content() == before


@pytest.mark.parametrize("share", [0, 0.3, 0.9, 0.999])
def test_a_file_that_is_cut_off(filled: User, file: Path, share: float) -> None:
    archive.backup(path=file, now=NOW)
    before, data = content(), file.read_bytes()
    file.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(archive.BackupError):
        archive.restore(path=file)
    assert content() == before


@pytest.mark.parametrize("data", [b"", b"nonsense" * 1000, zstandard.compress(b"nonsense" * 1000), zstandard.compress(b"")])
def test_a_file_of_something_else(filled: User, file: Path, data: bytes) -> None:
    file.write_bytes(data)
    with pytest.raises(archive.BackupError, match=str(file)):
        archive.restore(path=file)
    assert User.objects.count() == 1


# -- the commands ------------------------------------------------------------------------------------------------------
def test_the_commands(filled: User, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("backup", str(file), "--json")
    made = json.loads(capsys.readouterr().out)
    assert made["file"] == str(file)
    assert (made["objects"], made["file_bytes"]) == (3, file.stat().st_size)
    clear()
    call_command("restore", str(file))
    assert f"restored from {file}: {made['rows']} rows" in capsys.readouterr().out
    assert User.objects.get() == filled


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_a_place_that_does_not_exist(command: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file or directory"):
        call_command(command, str(tmp_path / "no" / "where"))
