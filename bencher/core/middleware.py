"""The outermost middleware: a request id for every request, and the documented error body for everybody but browsers on pages.

And the innermost: what no database column can hold goes no further.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

from bencher.core.api import error_response, request_id
from bencher.core.newtypes import NUL

API_PREFIXES = ("/v0", "/v2")
TEXTS = {404: "not found: no such route", 500: "internal error"}


class ApiGate:
    """Gives ``x-request-id`` and turns the framework's own error pages into the documented body (rest.md 0.3), unless a browser asked for a page."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response
        self._is_async = iscoroutinefunction(get_response)
        if self._is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponse | Awaitable[HttpResponse]:
        request_id(request)
        if self._is_async:
            return self._async(request)
        return self._finish(request, self.get_response(request))

    async def _async(self, request: HttpRequest) -> HttpResponse:
        return self._finish(request, await self.get_response(request))

    def _finish(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if response.status_code >= 400 and _is_page(response) and not _wants_page(request):
            text = TEXTS.get(response.status_code, response.reason_phrase)
            response = error_response(request, response.status_code, text, cors=False)
        response["x-request-id"] = request_id(request)
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        return response


class NoNul(MiddlewareMixin):
    """400 for a NUL in a page's query: PostgreSQL stores and compares none, and the admin's filters do not look. Forms and the API look themselves."""

    def process_view(self, request: HttpRequest, *_: Any) -> None:
        if request.path.startswith(API_PREFIXES):
            return
        if any(NUL in text for name, values in request.GET.lists() for text in (name, *values)):
            raise BadRequest("the NUL character is not allowed")


def _is_page(response: HttpResponse) -> bool:
    return str(response.get("content-type", "")).startswith("text/html")


def _wants_page(request: HttpRequest) -> bool:
    return not request.path.startswith(API_PREFIXES) and "text/html" in request.headers.get("Accept", "")
