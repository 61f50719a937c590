"""The storage that ``STORAGE_URL`` names."""

import functools
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from outputs.registry.storage.base import Storage
from outputs.registry.storage.filesystem import FilesystemStorage
from outputs.registry.storage.memory import MemoryStorage


def get_storage() -> Storage:
    return open_storage(settings.STORAGE_URL)


@functools.cache
def open_storage(url: str) -> Storage:
    """``file:///folder``, ``s3://bucket/prefix?endpoint_url=…&region=…``, ``memory://name``; one object for each URL and process.

    Raises `ImproperlyConfigured`.
    """
    parts = urlsplit(url)
    if parts.scheme == "file":
        if parts.netloc or not parts.path.strip("/"):
            raise ImproperlyConfigured(f"STORAGE_URL: a folder is file:///path, got {url!r}")
        return FilesystemStorage(Path(unquote(parts.path)))
    if parts.scheme == "s3" and parts.netloc:
        options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        if unknown := sorted(options.keys() - {"endpoint_url", "region"}):
            raise ImproperlyConfigured(f"STORAGE_URL: unknown option {unknown[0]!r}; there are endpoint_url and region")
        from outputs.registry.storage.s3 import S3Storage  # its client is large: only where it is used

        return S3Storage(parts.netloc, unquote(parts.path), **options)
    if parts.scheme == "memory":
        return MemoryStorage()
    raise ImproperlyConfigured(f"STORAGE_URL: expected file:///folder, s3://bucket/prefix or memory://, got {parts.scheme!r}")
