"""``STORAGE_URL``."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from outputs.registry.storage import get_storage, open_storage
from outputs.registry.storage.filesystem import FilesystemStorage
from outputs.registry.storage.memory import MemoryStorage
from outputs.registry.storage.s3 import S3Storage


def test_folder() -> None:
    storage = open_storage("file:///srv/some%20where")
    assert isinstance(storage, FilesystemStorage)
    assert storage.root == Path("/srv/some where")
    assert open_storage("file:///srv/some%20where") is storage


def test_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = open_storage("s3://bucket/some/prefix?endpoint_url=http://127.0.0.1:9000&region=eu-central-1")
    assert isinstance(storage, S3Storage)
    assert (storage.bucket, storage.prefix) == ("bucket", "some/prefix")
    assert storage.client.meta.endpoint_url == "http://127.0.0.1:9000"
    assert storage.client.meta.region_name == "eu-central-1"


def test_setting(settings: pytest.FixtureRequest) -> None:
    settings.STORAGE_URL = "memory://one"
    first = get_storage()
    settings.STORAGE_URL = "memory://two"
    assert isinstance(first, MemoryStorage)
    assert get_storage() is not first


@pytest.mark.parametrize("url", ["", "/srv", "file://host/srv", "file:///", "s3://", "s3://bucket?endpoint=x", "ftp://host/x"])
def test_refused(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="STORAGE_URL"):
        open_storage(url)
