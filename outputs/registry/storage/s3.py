"""Bytes in an S3-compatible bucket. A PUT is atomic and durable there; an upload is a multipart upload.

Parts but the last have 5 MiB at least, so what is left over at the end of a request (the *tail*) rests as an object of its own until the
next request goes on with it. Clients and servers of other makers do not all know S3's newer checksums: they are off.
"""

import contextlib
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from outputs.registry.storage.base import UPLOADS, Appender, Entry, NotFound, Reader, State, Storage, StorageError, check_key

PART = 8 << 20
_GROWTH = 2500
"""After so many parts the next ones are twice as large: S3 takes 10 000 parts, which so hold 300 GiB."""

_ABSENT = frozenset({"NoSuchKey", "NoSuchUpload", "404", "NotFound"})
_CONFIG: dict[str, Any] = {
    "retries": {"mode": "standard", "max_attempts": 4},
    "connect_timeout": 5,
    "read_timeout": 60,
    "max_pool_connections": 32,
    "request_checksum_calculation": "when_required",
    "response_checksum_validation": "when_required",
}


@contextlib.contextmanager
def _faults(key: str) -> Iterator[None]:
    """The client's errors as ours."""
    try:
        yield
    except ClientError as problem:
        code = str(problem.response.get("Error", {}).get("Code", ""))
        if code in _ABSENT:
            raise NotFound(key) from problem
        raise StorageError(f"{key}: S3 answered {code}") from problem
    except BotoCoreError as problem:
        raise StorageError(f"{key}: {type(problem).__name__}") from problem


class S3Storage(Storage):
    """``prefix``: a folder in the bucket, "" = all of it. Credentials come from the usual places of AWS clients (environment, files, roles)."""

    def __init__(self, bucket: str, prefix: str = "", *, endpoint_url: str | None = None, region: str | None = None) -> None:
        style = {"addressing_style": "path"} if endpoint_url else {}
        self.bucket, self.prefix = bucket, prefix.strip("/")
        self.client: Any = boto3.client("s3", endpoint_url=endpoint_url, region_name=region, config=Config(**_CONFIG, s3=style))

    # -- whole objects -----------------------------------------------------------------------------------------------
    def put(self, key: str, data: bytes | bytearray) -> None:
        with _faults(key):
            self.client.put_object(**self._at(key), Body=bytes(data))

    def get(self, key: str) -> bytes:
        with _faults(key):
            return bytes(self.client.get_object(**self._at(key))["Body"].read())

    def size(self, key: str) -> int:
        with _faults(key):
            return int(self.client.head_object(**self._at(key))["ContentLength"])

    def delete(self, key: str) -> None:
        with _faults(key):
            self.client.delete_object(**self._at(key))

    def copy(self, source: str, target: str) -> None:
        with _faults(source):
            self.client.copy(self._at(source), **self._at(target))

    def open_read(self, key: str, start: int = 0, end: int | None = None) -> Reader:
        if end is not None and end <= start:
            self.size(key)
            return Reader(lambda size: b"", lambda: None, 0)
        part = {"Range": f"bytes={start}-{'' if end is None else end - 1}"} if (start, end) != (0, None) else {}
        with _faults(key):
            body = self.client.get_object(**self._at(key), **part)["Body"]

        def read(size: int) -> bytes:
            with _faults(key):
                return bytes(body.read(size))

        return Reader(read, body.close, None if end is None else end - start)

    def list(self, prefix: str = "") -> Iterator[Entry]:
        for entry in self._list(f"{check_key(prefix)}/" if prefix else ""):
            if not entry.key.startswith(f"{UPLOADS}/"):
                yield entry

    def missing(self, keys: Iterable[str]) -> set[str]:
        keys = list(keys)
        with ThreadPoolExecutor(min(16, len(keys) or 1)) as pool:
            return {key for key, found in zip(keys, pool.map(self.exists, keys), strict=True) if not found}

    def check(self) -> None:
        self.put(f"{UPLOADS}/_probe", b"probe")

    # -- uploads -----------------------------------------------------------------------------------------------------
    def append(self, key: str, state: State, offset: int) -> Appender:
        appender = _PartAppender(self, check_key(key), state)
        if appender.size != offset:
            raise NotFound(key)
        return appender

    def abort(self, key: str) -> None:
        for upload in self._multiparts(key):
            if upload["Key"] == self._at(key)["Key"]:
                with _faults(key), contextlib.suppress(NotFound):
                    self.client.abort_multipart_upload(**self._at(key), UploadId=upload["UploadId"])
        for entry in self._list(f"{UPLOADS}/{key}/"):
            self.delete(entry.key)

    def uploads(self) -> Iterator[Entry]:
        for upload in self._multiparts(""):
            yield Entry(self._inner(upload["Key"]), 0, upload["Initiated"])
        for entry in self._list(f"{UPLOADS}/"):
            if "/" in (key := entry.key.removeprefix(f"{UPLOADS}/")):
                yield Entry(key.rsplit("/", 1)[0], entry.size, entry.modified)

    # -- names -------------------------------------------------------------------------------------------------------
    def _at(self, key: str) -> dict[str, str]:
        return {"Bucket": self.bucket, "Key": self._outer(check_key(key))}

    def _outer(self, key: str) -> str:
        return f"{self.prefix}/{key}" if self.prefix else key

    def _inner(self, key: str) -> str:
        return key.removeprefix(f"{self.prefix}/") if self.prefix else key

    def _list(self, start: str) -> Iterator[Entry]:
        with _faults(start):
            for page in self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=self._outer(start)):
                for found in page.get("Contents", ()):
                    yield Entry(self._inner(found["Key"]), found["Size"], found["LastModified"])

    def _multiparts(self, start: str) -> Iterator[dict[str, Any]]:
        with _faults(start):
            for page in self.client.get_paginator("list_multipart_uploads").paginate(Bucket=self.bucket, Prefix=self._outer(start)):
                yield from page.get("Uploads", ())


class _PartAppender(Appender):
    """State: ``upload`` (S3's id), ``parts`` (ETags), ``size`` (bytes in parts and tail), ``tail`` (object), ``old`` (the tail before).

    Rolling back is forgetting: parts sent in vain are sent again under the same numbers, and only parts that the state lists count.
    """

    def __init__(self, storage: S3Storage, key: str, state: State) -> None:
        self._storage, self._key, self._before = storage, key, state
        self._upload: str | None = state.get("upload")
        self._parts: list[str] = [*state.get("parts", ())]
        self.size: int = state.get("size", 0)
        self._buffer = bytearray(storage.get(state["tail"]) if state.get("tail") else b"")

    def write(self, data: bytes) -> None:
        self._buffer += data
        self.size += len(data)
        while len(self._buffer) >= (size := PART << (len(self._parts) // _GROWTH)):
            self._send(bytes(memoryview(self._buffer)[:size]))
            del self._buffer[:size]

    def commit(self) -> State:
        self.ended = True
        tail = None
        if self._buffer:
            tail = f"{UPLOADS}/{self._key}/{uuid.uuid4().hex}"
            self._storage.put(tail, self._buffer)
        self._forget("old")
        return {"upload": self._upload, "parts": self._parts, "size": self.size, "tail": tail, "old": self._before.get("tail")}

    def finish(self) -> None:
        if not self._parts:
            self._storage.put(self._key, self._buffer)
        else:
            if self._buffer:
                self._send(bytes(self._buffer))
            parts = [{"PartNumber": number, "ETag": tag} for number, tag in enumerate(self._parts, 1)]
            with _faults(self._key):
                self._storage.client.complete_multipart_upload(
                    **self._storage._at(self._key), UploadId=self._upload, MultipartUpload={"Parts": parts}
                )
        self.ended = True
        self._forget("old")
        self._forget("tail")

    def rollback(self) -> None:
        """A multipart upload that only this appender knew has to be given up."""
        self.ended = True
        if self._upload and not self._before.get("upload"):
            with _faults(self._key), contextlib.suppress(NotFound):
                self._storage.client.abort_multipart_upload(**self._storage._at(self._key), UploadId=self._upload)

    def _send(self, data: bytes) -> None:
        at = self._storage._at(self._key)
        with _faults(self._key):
            if self._upload is None:
                self._upload = self._storage.client.create_multipart_upload(**at)["UploadId"]
            answer = self._storage.client.upload_part(**at, UploadId=self._upload, PartNumber=len(self._parts) + 1, Body=data)
        self._parts.append(answer["ETag"])

    def _forget(self, name: str) -> None:
        if key := self._before.get(name):
            with contextlib.suppress(StorageError):  # the sweep finds it
                self._storage.delete(key)
