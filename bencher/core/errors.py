"""Errors that services raise and doors translate: REST to a status (rest.md 0.3), pages and commands to a sentence."""

from __future__ import annotations


class ServiceError(Exception):
    """A refusal with a text for the caller. The text never repeats a credential or another user's data."""

    status = 500
    headers: dict[str, str] = {}

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Invalid(ServiceError):
    """The request itself is wrong: names the field and the limit."""

    status = 400


class NotAuthenticated(ServiceError):
    status = 401


class PaymentRequired(ServiceError):
    status = 402


class NotAllowed(ServiceError):
    status = 403


class Missing(ServiceError):
    status = 404


class Clash(ServiceError):
    """A real conflict with what is stored; waiting does not help."""

    status = 409


class TooMany(ServiceError):
    """More than a rate limit allows; ``retry_after`` in seconds."""

    status = 429

    def __init__(self, message: str, *, retry_after: int = 1) -> None:
        super().__init__(message)
        self.headers = {"Retry-After": str(retry_after)}


class Busy(ServiceError):
    """A transient fault of ours: the same request may succeed later."""

    status = 503
    headers = {"Retry-After": "1"}
