"""What a folder alone can show: durability, leftovers, full disks, names."""

import errno
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from outputs.registry.storage import NotFound, StorageError, StorageFull
from outputs.registry.storage import filesystem as module
from outputs.registry.storage.filesystem import TEMPORARY, FilesystemStorage

KEY = "project/blobs/one"


@pytest.fixture
def storage(tmp_path: Path) -> FilesystemStorage:
    return FilesystemStorage(tmp_path / "store")


def test_a_failed_put_leaves_nothing(storage: FilesystemStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.put(KEY, b"before")

    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StorageFull):
        storage.put(KEY, b"after")
    assert storage.get(KEY) == b"before"
    assert list((storage.root / TEMPORARY).iterdir()) == []


def test_bytes_are_on_the_disk_before_their_name(storage: FilesystemStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sync the file, rename it, sync the folder: in this order, for objects and for uploads."""
    storage.put("project/blobs/first", b"makes the folders")
    order: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(
        os,
        "fsync",
        lambda descriptor: (order.append("folder" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "file"), fsync(descriptor)),
    )
    monkeypatch.setattr(os, "replace", lambda source, target: (order.append("rename"), replace(source, target)))
    storage.put(KEY, b"x")
    assert order == ["file", "rename", "folder"]
    order.clear()
    with storage.append("project/blobs/two", {}, 0) as appender:
        appender.write(b"x")
        appender.finish()
    assert order[-3:] == ["file", "rename", "folder"]


def test_what_a_crash_left_is_cleaned(storage: FilesystemStorage) -> None:
    storage.check()
    old, young = storage.root / TEMPORARY / "old", storage.root / TEMPORARY / "young"
    old.write_bytes(b"x")
    young.write_bytes(b"x")
    os.utime(old, (0, 0))
    assert storage.clean(datetime.now(UTC) - timedelta(days=1)) == 1
    assert [path.name for path in (storage.root / TEMPORARY).iterdir()] == ["young"]
    assert list(storage.list()) == []


def test_uploads_leave_room_for_small_writes(storage: FilesystemStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk refuses images before it refuses results."""
    real = os.statvfs(".")
    monkeypatch.setattr(module, "RESERVE", real.f_bavail * real.f_frsize * 2)
    with storage.append(KEY, {}, 0) as appender, pytest.raises(StorageFull):
        appender.write(b"x")
    storage.put(KEY, b"small")


def test_a_short_upload_is_lost(storage: FilesystemStorage) -> None:
    """A crash may forget bytes that were not synced: the session's row says how many there must be."""
    with storage.append(KEY, {}, 0) as appender:
        appender.write(b"0123456789")
        appender.commit()
    with pytest.raises(NotFound):
        storage.append(KEY, {}, 11)
    storage.append(KEY, {}, 10).rollback()


def test_more_than_was_committed_is_cut_off(storage: FilesystemStorage) -> None:
    appender = storage.append(KEY, {}, 0)
    appender.write(b"kept, then the process is killed")
    appender.commit()
    with storage.append(KEY, {}, 4) as appender:
        appender.finish()
    assert storage.get(KEY) == b"kept"


def test_copies_share_the_bytes(storage: FilesystemStorage) -> None:
    storage.put(KEY, b"x")
    storage.copy(KEY, "other/blobs/two")
    assert (storage.root / KEY).stat().st_ino == (storage.root / "other/blobs/two").stat().st_ino


def test_copies_without_links(storage: FilesystemStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    storage.put(KEY, b"content")
    storage.copy(KEY, "other/blobs/two")
    storage.delete(KEY)
    assert storage.get("other/blobs/two") == b"content"


def test_empty_folders_go(storage: FilesystemStorage) -> None:
    storage.put(KEY, b"x")
    storage.delete(KEY)
    assert not (storage.root / KEY).parent.exists()


def test_faults_are_told(storage: FilesystemStorage) -> None:
    storage.root.parent.mkdir(exist_ok=True)
    storage.root.write_bytes(b"a file where the folder should be")
    for use in (storage.check, lambda: storage.put(KEY, b"x"), lambda: storage.append(KEY, {}, 0), lambda: storage.get(KEY)):
        with pytest.raises(StorageError):
            use()
