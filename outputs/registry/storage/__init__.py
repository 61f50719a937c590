"""Where bytes live: one interface, three places (``STORAGE_URL``)."""

from outputs.registry.storage.base import Appender, Entry, NotFound, Reader, State, Storage, StorageError, StorageFull, UploadBusy
from outputs.registry.storage.job_outputs import get_job_output, put_job_output
from outputs.registry.storage.place import get_storage, open_storage

__all__ = [
    "Appender",
    "Entry",
    "NotFound",
    "Reader",
    "State",
    "Storage",
    "StorageError",
    "StorageFull",
    "UploadBusy",
    "get_job_output",
    "get_storage",
    "open_storage",
    "put_job_output",
]
