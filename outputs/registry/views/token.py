"""``/v0/auth/oci/token``: GET with Basic credentials, POST with an OAuth2 form (registry.md 1.3)."""

from __future__ import annotations

from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from bencher.core import clock
from bencher.core.client_ip import client_ip
from outputs.registry.authentication import BadCredentials, basic_credentials, challenge
from outputs.registry.errors import RegistryError, Unauthorized
from outputs.registry.http import cors, refusal
from outputs.registry.scopes import InvalidScope, Scope, read_scopes
from outputs.registry.services.mint import Granted, grant_token

METHODS = ("GET", "POST", "OPTIONS")
FORM = ("application/x-www-form-urlencoded", "multipart/form-data")


class OAuthError(Exception):
    """A refused form, in the words of RFC 6749, 5.2."""

    def __init__(self, error: str, text: str) -> None:
        super().__init__(text)
        self.error = error


@method_decorator(csrf_exempt, name="dispatch")
class TokenView(View):
    """Answers carry no cookie and need none: every call brings its credentials."""

    http_method_names = ["get", "post", "options"]

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        response: HttpResponseBase
        try:
            response = super().dispatch(request, *args, **kwargs)
        except (Unauthorized, BadCredentials) as problem:
            known = problem if isinstance(problem, Unauthorized) else Unauthorized("the Basic credentials are unreadable")
            response = _refused(known, {"WWW-Authenticate": challenge()})
        except RegistryError as problem:
            response = _refused(problem)
        except OAuthError as problem:
            response = JsonResponse({"error": problem.error, "error_description": str(problem)}, status=400)
        for name, value in cors(METHODS).items():
            response[name] = value
        response["Cache-Control"] = "no-store"
        return response

    def get(self, request: HttpRequest) -> HttpResponse:
        try:
            scope = read_scopes(request.GET.getlist("scope"))
        except InvalidScope as problem:
            return JsonResponse({"errors": [{"code": "UNSUPPORTED", "message": str(problem)}]}, status=400)
        credentials = basic_credentials(request.headers.get("Authorization"))
        granted = grant_token(credentials=credentials, scope=scope, address=client_ip(request.META), now=clock.now())
        return JsonResponse({"token": granted.token, "expires_in": granted.life, "issued_at": _rfc3339(granted.issued)})

    def post(self, request: HttpRequest) -> HttpResponse:
        """No anonymous callers here, and no ``token`` in the answer."""
        scope, credentials = _read_form(request)
        granted: Granted = grant_token(credentials=credentials, scope=scope, address=client_ip(request.META), now=clock.now())
        document = {
            "access_token": granted.token,
            "expires_in": granted.life,
            "scope": granted.scope,
            "issued_at": _rfc3339(granted.issued),
        }
        return JsonResponse(document)

    def options(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        return HttpResponse(b"", status=200)


def _read_form(request: HttpRequest) -> tuple[Scope, tuple[str, str]]:
    if request.content_type not in FORM:
        raise OAuthError("invalid_request", "the body must be a form: application/x-www-form-urlencoded")
    form = request.POST
    grant_type = form.get("grant_type")
    if not grant_type:
        raise OAuthError("invalid_request", "grant_type is missing")
    if grant_type != "password":
        raise OAuthError("unsupported_grant_type", "the only grant_type is password")
    try:
        scope = read_scopes(form.get("scope", "").split())
    except InvalidScope as problem:
        raise OAuthError("invalid_scope", str(problem)) from None
    if name := form.get("username"):
        return scope, (name, form.get("password", ""))
    credentials = basic_credentials(request.headers.get("Authorization"))
    if credentials is None:
        raise OAuthError("invalid_request", "username and password are missing")
    return scope, credentials


def _refused(problem: RegistryError, headers: dict[str, str] | None = None) -> HttpResponse:
    answer = refusal(problem, headers)
    return HttpResponse(answer.body, status=answer.status, headers=answer.headers)


def _rfc3339(moment: datetime) -> str:
    """In UTC: clients that read another zone into it would fetch a token for every request."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
