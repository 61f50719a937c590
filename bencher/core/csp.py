"""Which content security policy an answer carries: the site's, or the admin's, whose theme needs ``eval``."""

from __future__ import annotations

from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class ContentPolicy(CSPMiddleware):
    def get_policy_parts(self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        if not report_only and parts.config is None and request.path_info.startswith("/admin/"):
            parts.config = {**settings.CONTENT_SECURITY_POLICY["DIRECTIVES"], **settings.ADMIN_CONTENT_SECURITY_POLICY}
        return parts
