"""The registry's refusals (OCI distribution-spec, "Error Codes"; registry.md 1.9). Services raise them, the door answers with them."""

from collections.abc import Mapping
from typing import ClassVar


class RegistryError(Exception):
    """``code`` and the text go into the body; ``headers`` onto the answer. A text never holds a credential."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "UNKNOWN"
    text: ClassVar[str] = "the registry failed"

    def __init__(self, text: str = "", *, headers: Mapping[str, str] | None = None) -> None:
        self.message = text or self.text
        self.headers = dict(headers or {})
        super().__init__(self.message)


class Unauthorized(RegistryError):
    """Always answered with a challenge. ``scope``: what the caller needs a token for; "" = any token."""

    status, code, text = 401, "UNAUTHORIZED", "a token of this registry is needed"

    def __init__(self, text: str = "", *, scope: str = "") -> None:
        super().__init__(text)
        self.scope = scope


class Denied(RegistryError):
    """``scope``: what another token would have to be asked for; "" = no token of this caller's would do."""

    status, code, text = 403, "DENIED", "the token does not allow this"

    def __init__(self, text: str = "", *, scope: str = "") -> None:
        super().__init__(text)
        self.scope = scope


class NameUnknown(RegistryError):
    status, code, text = 404, "NAME_UNKNOWN", "there is no such repository: a name is a project's slug or UUID"


class NameInvalid(RegistryError):
    status, code, text = 400, "NAME_INVALID", "a repository is named like a project: 1 to 64 of a-z, 0-9 and single dashes between them"


class BlobUnknown(RegistryError):
    status, code, text = 404, "BLOB_UNKNOWN", "there is no such blob"


class BlobUploadUnknown(RegistryError):
    status, code, text = 404, "BLOB_UPLOAD_UNKNOWN", "there is no such upload"


class BlobUploadInvalid(RegistryError):
    status, code, text = 416, "BLOB_UPLOAD_INVALID", "the chunk does not follow what is stored"


class UploadClash(RegistryError):
    status, code, text = 409, "BLOB_UPLOAD_INVALID", "another request is writing to this upload"


class DigestInvalid(RegistryError):
    status, code, text = 400, "DIGEST_INVALID", "the digest is not the content's"


class ManifestUnknown(RegistryError):
    status, code, text = 404, "MANIFEST_UNKNOWN", "there is no such manifest"


class ManifestInvalid(RegistryError):
    status, code, text = 400, "MANIFEST_INVALID", "the document is no manifest"


class ManifestBlobUnknown(RegistryError):
    status, code, text = 400, "MANIFEST_BLOB_UNKNOWN", "the manifest refers to content that was not pushed"


class TagInvalid(RegistryError):
    status, code, text = 400, "TAG_INVALID", "a tag has 1 to 128 of A-Z, a-z, 0-9, _, . and -, and does not start with . or -"


class PageInvalid(RegistryError):
    status, code, text = 400, "PAGINATION_NUMBER_INVALID", "n is a whole number from 0"


class SizeInvalid(RegistryError):
    status, code, text = 413, "SIZE_INVALID", "the content is larger than this registry takes"


class RangeInvalid(RegistryError):
    status, code, text = 416, "RANGE_INVALID", "the range lies beyond the blob"


class TimedOut(RegistryError):
    status, code, text = 408, "BLOB_UPLOAD_INVALID", "nothing arrived for too long"


class Unsupported(RegistryError):
    status, code, text = 405, "UNSUPPORTED", "this path does not have that method"


class TooManyRequests(RegistryError):
    status, code, text = 429, "TOOMANYREQUESTS", "too many requests"


class Unavailable(RegistryError):
    status, code, text = 503, "UNAVAILABLE", "the registry cannot do this now: try again"

    def __init__(self, text: str = "") -> None:
        super().__init__(text, headers={"Retry-After": "1"})
