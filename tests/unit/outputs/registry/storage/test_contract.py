"""What every storage must do: the same tests for a folder, a bucket and memory."""

import os
import threading
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from moto import mock_aws

from outputs.registry.storage import NotFound, Storage, UploadBusy
from outputs.registry.storage.filesystem import FilesystemStorage
from outputs.registry.storage.memory import MemoryStorage
from outputs.registry.storage.s3 import PART, S3Storage

KEY = "project/blobs/one"
BIG = os.urandom(PART + 12345)


@pytest.fixture(scope="module")
def bucket() -> Iterator[S3Storage]:
    """Clients take long to make: one for all tests."""
    with pytest.MonkeyPatch.context() as patch, mock_aws():
        for name, value in (("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s"), ("AWS_DEFAULT_REGION", "us-east-1")):
            patch.setenv(name, value)
        yield S3Storage("bucket")


@pytest.fixture(params=["filesystem", "memory", "s3", "s3-prefix"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    if request.param == "filesystem":
        return FilesystemStorage(tmp_path / "store")
    if request.param == "memory":
        return MemoryStorage()
    storage: S3Storage = request.getfixturevalue("bucket")
    storage.bucket, storage.prefix = f"bucket-{uuid.uuid4()}", "some/folder" if request.param == "s3-prefix" else ""
    storage.client.create_bucket(Bucket=storage.bucket)
    return storage


def read(storage: Storage, key: str = KEY, start: int = 0, end: int | None = None) -> bytes:
    return b"".join(storage.open_read(key, start, end))


def keys(storage: Storage, prefix: str = "") -> set[str]:
    return {entry.key for entry in storage.list(prefix)}


# -- whole objects -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("data", [b"", b"x", os.urandom(600_000)], ids=["empty", "one", "many"])
def test_put_get(storage: Storage, data: bytes) -> None:
    storage.put(KEY, data)
    assert storage.get(KEY) == read(storage) == data
    assert storage.size(KEY) == len(data)
    assert storage.exists(KEY)


def test_put_replaces(storage: Storage) -> None:
    storage.put(KEY, b"the first, which is longer")
    storage.put(KEY, b"second")
    assert storage.get(KEY) == b"second"


def test_absent(storage: Storage) -> None:
    for ask in (storage.get, storage.size, storage.open_read):
        with pytest.raises(NotFound):
            ask("project/blobs/absent")
    with pytest.raises(NotFound):
        storage.open_read("project/blobs/absent", 5, 5)
    assert not storage.exists("project/blobs/absent")
    storage.delete("project/blobs/absent")


def test_delete(storage: Storage) -> None:
    storage.put(KEY, b"x")
    storage.put("project/blobs/two", b"y")
    storage.delete(KEY)
    storage.delete(KEY)
    assert not storage.exists(KEY)
    storage.delete("project/blobs/two")
    storage.put(KEY, b"again")
    assert storage.get(KEY) == b"again"


@pytest.mark.parametrize(("start", "end"), [(0, None), (0, 10), (10, 20), (999, 1000), (500, None), (0, 0), (300, 5000)])
def test_parts(storage: Storage, start: int, end: int | None) -> None:
    data = os.urandom(1000)
    storage.put(KEY, data)
    assert read(storage, start=start, end=end) == data[start:end]


def test_reading_goes_on_after_deleting(storage: Storage) -> None:
    """Whoever began to read gets all of it, or an error; never other bytes."""
    storage.put(KEY, BIG)
    reader = storage.open_read(KEY)
    first = next(reader)
    storage.delete(KEY)
    assert first + b"".join(reader) == BIG


def test_reader_can_be_closed(storage: Storage) -> None:
    storage.put(KEY, BIG)
    reader = storage.open_read(KEY)
    next(reader)
    reader.close()
    reader.close()


def test_copy(storage: Storage) -> None:
    storage.put(KEY, b"content")
    storage.copy(KEY, "other/blobs/copy")
    storage.delete(KEY)
    assert storage.get("other/blobs/copy") == b"content"
    with pytest.raises(NotFound):
        storage.copy(KEY, "other/blobs/nothing")
    assert keys(storage) == {"other/blobs/copy"}


def test_a_copy_is_young(storage: Storage) -> None:
    """Garbage collection judges objects without a row by their age."""
    before = datetime.now(UTC) - timedelta(seconds=5)
    storage.put(KEY, b"content")
    if isinstance(storage, FilesystemStorage):
        os.utime(storage.root / KEY, (0, 0))
    storage.copy(KEY, "other/blobs/copy")
    [entry] = storage.list("other")
    assert entry.modified >= before


def test_list(storage: Storage) -> None:
    for key in ("a/blobs/1", "a/manifests/2", "ab/blobs/3"):
        storage.put(key, key.encode())
    with storage.append("a/blobs/uploading", {}, 0) as appender:
        appender.write(b"x")
        appender.commit()
    assert keys(storage) == {"a/blobs/1", "a/manifests/2", "ab/blobs/3"}
    assert keys(storage, "a") == {"a/blobs/1", "a/manifests/2"}
    assert keys(storage, "a/blobs") == {"a/blobs/1"}
    assert keys(storage, "nothing") == set()
    [entry] = storage.list("a/blobs")
    assert (entry.size, entry.modified.utcoffset()) == (9, timedelta(0))
    assert datetime.now(UTC) - entry.modified < timedelta(minutes=1)


def test_missing(storage: Storage) -> None:
    storage.put("a/1", b"")
    storage.put("a/2", b"")
    assert storage.missing(["a/1", "a/2", "a/3"]) == {"a/3"}
    assert storage.missing([]) == set()


def test_check(storage: Storage) -> None:
    storage.check()
    assert keys(storage) == set()
    assert list(storage.uploads()) == []


@pytest.mark.parametrize("key", ["", "/a", "a/", "a//b", "../a", "a/../b", "a/.b", "a\0", "a b", "a\n", "é", "x" * 600])
def test_keys_are_checked(storage: Storage, key: str) -> None:
    for use in (storage.get, storage.delete, storage.size, storage.open_read, lambda key: storage.put(key, b"")):
        with pytest.raises(ValueError, match="not a storage key"):
            use(key)
    with pytest.raises(ValueError, match="not a storage key"):
        storage.append(key, {}, 0)


# -- uploads -------------------------------------------------------------------------------------------------------------
def test_upload_in_one_go(storage: Storage) -> None:
    with storage.append(KEY, {}, 0) as appender:
        appender.write(b"hel")
        appender.write(b"lo")
        assert not storage.exists(KEY)
        appender.finish()
    assert storage.get(KEY) == b"hello"
    assert list(storage.uploads()) == []


def test_upload_of_nothing(storage: Storage) -> None:
    with storage.append(KEY, {}, 0) as appender:
        appender.finish()
    assert storage.get(KEY) == b""


@pytest.mark.parametrize("sizes", [[5, 5], [0, 7, 0], [PART, PART], [PART - 1, 2], [PART + 100, 50, PART, 1], [1] * 5])
def test_upload_in_chunks(storage: Storage, sizes: list[int]) -> None:
    state, chunks = {}, [os.urandom(size) for size in sizes]
    for number, chunk in enumerate(chunks):
        with storage.append(KEY, state, sum(sizes[:number])) as appender:
            for at in range(0, len(chunk), 1 << 20):
                appender.write(chunk[at : at + (1 << 20)])
            state = appender.commit()
    assert [entry.key for entry in storage.uploads()][:1] == [KEY]
    with storage.append(KEY, state, sum(sizes)) as appender:
        appender.finish()
    assert storage.get(KEY) == b"".join(chunks)
    assert list(storage.uploads()) == []
    assert keys(storage) == {KEY}


@pytest.mark.parametrize("kept", [b"", b"kept", BIG])
@pytest.mark.parametrize("dropped", [b"", b"dropped and longer", BIG])
def test_upload_rolls_back(storage: Storage, kept: bytes, dropped: bytes) -> None:
    state = {}
    if kept:
        with storage.append(KEY, {}, 0) as appender:
            appender.write(kept)
            state = appender.commit()
    with storage.append(KEY, state, len(kept)) as appender:
        appender.write(dropped)
    with storage.append(KEY, state, len(kept)) as appender:
        appender.write(b"the end")
        appender.finish()
    assert storage.get(KEY) == kept + b"the end"
    assert list(storage.uploads()) == []


def test_upload_rolls_back_on_an_error(storage: Storage) -> None:
    def fail() -> None:
        with storage.append(KEY, {}, 0) as appender:
            appender.write(b"x")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with storage.append(KEY, {}, 0) as appender:
        appender.finish()
    assert storage.get(KEY) == b""


def test_upload_that_is_lost(storage: Storage) -> None:
    with storage.append(KEY, {}, 0) as appender:
        appender.write(b"0123456789")
        state = appender.commit()
    storage.abort(KEY)
    with pytest.raises(NotFound):
        storage.append(KEY, state, 10)


@pytest.mark.parametrize("data", [b"small", BIG])
def test_abort(storage: Storage, data: bytes) -> None:
    with storage.append(KEY, {}, 0) as appender:
        appender.write(data)
        appender.commit()
    storage.abort(KEY)
    storage.abort(KEY)
    assert list(storage.uploads()) == []
    assert keys(storage) == set()


def test_uploads_are_listed_with_their_time(storage: Storage) -> None:
    with storage.append(KEY, {}, 0) as appender:
        appender.write(BIG)
        appender.commit()
    found = list(storage.uploads())
    assert {entry.key for entry in found} == {KEY}
    timed = [entry for entry in found if entry.size]  # moto gives every multipart upload one date of its own
    assert timed
    assert all(abs(datetime.now(UTC) - entry.modified) < timedelta(minutes=1) for entry in timed)


def test_one_writer(storage: Storage) -> None:
    """A bucket cannot tell; there the parts of the slower one do not count, see the lease of `outputs.models.Upload`."""
    if isinstance(storage, S3Storage):
        first, second = storage.append(KEY, {}, 0), storage.append(KEY, {}, 0)
        first.write(BIG)
        second.write(b"second")
        first.rollback()
        second.finish()
        assert storage.get(KEY) == b"second"
        return
    with storage.append(KEY, {}, 0), pytest.raises(UploadBusy):
        storage.append(KEY, {}, 0)
    storage.append(KEY, {}, 0).rollback()


def test_many_at_once(storage: Storage) -> None:
    def work(number: int) -> None:
        for turn in range(5):
            key = f"project/blobs/{number}-{turn}"
            storage.put(key, str(number).encode())
            with storage.append(f"{key}-up", {}, 0) as appender:
                appender.write(str(turn).encode())
                appender.finish()
            storage.delete(key)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert keys(storage) == {f"project/blobs/{number}-{turn}-up" for number in range(4) for turn in range(5)}
