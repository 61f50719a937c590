"""The outermost middleware: a request id for every request, JSON errors for everything under the API."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponse

from bencher.core.api import error_response, request_id

API_PREFIXES = ("/v0", "/v2")
logger = logging.getLogger("bencher.api")


class ApiGate:
    """Gives ``x-request-id`` and turns the framework's own 404 and 500 pages into the documented body under ``/v0``."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponse | Awaitable[HttpResponse]:
        request_id(request)
        if iscoroutinefunction(self):
            return self._async(request)
        return self._finish(request, self.get_response(request))

    async def _async(self, request: HttpRequest) -> HttpResponse:
        return self._finish(request, await self.get_response(request))

    def _finish(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        is_api = request.path.startswith(API_PREFIXES)
        if is_api and response.status_code >= 400 and not response.get("content-type", "").startswith("application/json"):
            text = {404: "not found: no such route", 500: "internal error"}.get(response.status_code, response.reason_phrase)
            response = error_response(request, response.status_code, text, cors=False)
        response["x-request-id"] = request_id(request)
        return response
