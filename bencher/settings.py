"""Settings, all from the environment (design.md section 11). Defaults are those of the embedded server.

``DATABASE_URL``, ``REDIS_URL`` and ``STORAGE_URL`` switch between the embedded and the production arrangement; nothing else does.
"""

from __future__ import annotations

import logging
import os
import warnings
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from bencher import datafolder

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()
if Path(".env").is_file():
    environ.Env.read_env(Path(".env"))


def whole(name: str, default: int, low: int = 0, high: int | None = None) -> int:
    """A whole number from the environment, checked: a wrong setting stops the start with a sentence, not later with a traceback."""
    text = os.environ.get(name, "")
    try:
        value = int(text) if text else default
    except ValueError:
        raise ImproperlyConfigured(f"{name}: expected a whole number, got {text!r}") from None
    if value < low or (high is not None and value > high):
        raise ImproperlyConfigured(f"{name}: {value} is outside {low}..{'' if high is None else high}")
    return value


def flag(name: str, default: bool) -> bool:
    """On or off; anything else would silently be off."""
    text = os.environ.get(name, "").strip().lower()
    if text in ("", *env.BOOLEAN_TRUE_STRINGS):
        return bool(text) or default
    if text in ("0", "false", "no", "n", "off"):
        return False
    raise ImproperlyConfigured(f"{name}: expected 1 or 0, got {text!r}")


def networks(name: str, default: list[str]) -> list[str]:
    """Addresses and networks in CIDR notation, separated by commas."""
    found: list[str] = env.list(name, default=default)
    for text in found:
        try:
            ip_network(text.strip(), strict=False)
        except ValueError:
            raise ImproperlyConfigured(f"{name}: {text!r} is no address or network such as 10.0.0.0/8") from None
    return found


def address(name: str, text: str, *schemes: str) -> str:
    """``text``, if it is empty or a URL of one of these schemes."""
    if text and not text.startswith(tuple(f"{scheme}://" for scheme in schemes)):
        raise ImproperlyConfigured(f"{name}: expected an address that begins with {' or '.join(f'{scheme}://' for scheme in schemes)}")
    return text


def site(name: str) -> str:
    """The address of a site, without the last slash."""
    return address(name, env.str(name, default=""), "http", "https").rstrip("/")


# -- places -----------------------------------------------------------------------------------------------------
BENCHER_DATA_DIR = Path(env.str("BENCHER_DATA_DIR", default="data")).absolute()
DATABASE_URL = env.str("DATABASE_URL", default="") or f"sqlite:///{BENCHER_DATA_DIR}/bencher.db"
REDIS_URL = address("REDIS_URL", env.str("REDIS_URL", default=""), "redis", "rediss", "unix")
BENCHER_REDIS_PREFIX = env.str("BENCHER_REDIS_PREFIX", default="bencher")
STORAGE_URL = address("STORAGE_URL", env.str("STORAGE_URL", default=""), "file", "s3", "memory") or f"file://{BENCHER_DATA_DIR}/storage"
ON_SQLITE = DATABASE_URL.startswith("sqlite:")
DEBUG = flag("DEBUG", False)


def _secret_key() -> str:
    """From the environment; else, with SQLite, one that is generated once into the data folder (mode 0600)."""
    if key := os.environ.get("SECRET_KEY", ""):
        return key
    if not ON_SQLITE and not DEBUG:
        raise ImproperlyConfigured("SECRET_KEY: required with a database server (it signs every token); set it to 50 random characters")
    return datafolder.prepare(BENCHER_DATA_DIR)


SECRET_KEY = _secret_key()

# -- addresses --------------------------------------------------------------------------------------------------
BENCHER_PUBLIC_URL = site("BENCHER_PUBLIC_URL") or f"http://localhost:{os.environ.get('BENCHER_BOUND_PORT') or 6610}"
BENCHER_REGISTRY_URL = site("BENCHER_REGISTRY_URL") or BENCHER_PUBLIC_URL
BENCHER_CONSOLE_URL = site("BENCHER_CONSOLE_URL") or BENCHER_PUBLIC_URL
BENCHER_TRUSTED_PROXIES = networks("BENCHER_TRUSTED_PROXIES", ["127.0.0.0/8", "::1/128"])
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["*"])
CSRF_TRUSTED_ORIGINS = [url for url in {BENCHER_PUBLIC_URL, BENCHER_CONSOLE_URL} if "://" in url]

# -- protocol (protocol.md, table of settings) ------------------------------------------------------------------
BENCHER_HEARTBEAT_TIMEOUT = whole("BENCHER_HEARTBEAT_TIMEOUT", 90, 1, 900)
BENCHER_JOB_TIMEOUT_GRACE_PERIOD = whole("BENCHER_JOB_TIMEOUT_GRACE_PERIOD", 60, 1, 900)
BENCHER_REQUEST_BODY_MAX_BYTES = whole("BENCHER_REQUEST_BODY_MAX_BYTES", 4 << 20, 1)
BENCHER_REGISTRY_MAX_BODY_BYTES = whole("BENCHER_REGISTRY_MAX_BODY_BYTES", 1 << 30, 1)
BENCHER_REGISTRY_UPLOAD_TIMEOUT = whole("BENCHER_REGISTRY_UPLOAD_TIMEOUT", 3600, 1)
BENCHER_UPDATE_BASE_URL = env.str("BENCHER_UPDATE_BASE_URL", default="")
BENCHER_API_VERSION = env.str("BENCHER_API_VERSION", default="0.6.12")
BENCHER_SWEEP_INTERVAL = whole("BENCHER_SWEEP_INTERVAL", 2, 1, 3600)

# -- policy -----------------------------------------------------------------------------------------------------
BENCHER_TIER_LIMITS = flag("BENCHER_TIER_LIMITS", False)
BENCHER_ALLOW_ANONYMOUS_RUNS = flag("BENCHER_ALLOW_ANONYMOUS_RUNS", True)
BENCHER_PROJECT_CONCURRENCY = whole("BENCHER_PROJECT_CONCURRENCY", 0)
BENCHER_RATE_LIMITS = env.str("BENCHER_RATE_LIMITS", default="")
BENCHER_ONE_CORE = flag("BENCHER_ONE_CORE", True)

# -- Django -----------------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "unfold",
    "unfold.contrib.filters",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_filters",
    "django_htmx",
    "channels",
    "bencher",
    "bencher.core",
    "bencher.projects",
    "bencher.specs",
    "runners",
    "outputs",
    "jobs",
]
MIDDLEWARE = [
    "bencher.core.middleware.ApiGate",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "bencher.projects.backends.SessionUsers",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "bencher.core.csp.ContentPolicy",
    "bencher.core.middleware.NoNul",
    "django_htmx.middleware.HtmxMiddleware",
]
ROOT_URLCONF = "bencher.urls"
ASGI_APPLICATION = "bencher.asgi.application"
AUTH_USER_MODEL = "projects.User"
AUTHENTICATION_BACKENDS = ["bencher.projects.backends.KeyBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [{"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"}]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en-us"
USE_I18N = False
FORMAT_MODULE_PATH = ["bencher.formats"]
APPEND_SLASH = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
DATA_UPLOAD_MAX_MEMORY_SIZE = None  # the server counts bytes while they arrive, bencher/server.py
DATA_UPLOAD_MAX_NUMBER_FIELDS = 10_000


def _database() -> dict[str, Any]:
    if ON_SQLITE:
        path = DATABASE_URL.removeprefix("sqlite://")
        path = path.removeprefix("/") if path.startswith("//") else path
        return {
            "ENGINE": "bencher.core.sqlite",
            "NAME": path,
            "CONN_MAX_AGE": 0,
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA cache_size=-16000;"
                # Every 16 MiB, not 4: that is one big report, whose commit would move it all and sync twice.
                "PRAGMA wal_autocheckpoint=4000;",
            },
        }
    values = env.db_url_config(DATABASE_URL)
    return {
        **values,
        "ENGINE": "bencher.core.postgresql",
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": False,  # our backend looks, without a round trip
        "OPTIONS": {
            **values.get("OPTIONS", {}),
            # It waits twice as long before each new attempt, up to minutes; who needs a connection starts anew when it has given up.
            "pool": {"min_size": 2, "max_size": whole("BENCHER_DATABASE_POOL", 8, 1, 1000), "timeout": 10, "reconnect_timeout": 3},
        },
    }


DATABASES = {"default": _database()}


def _channel_layer() -> dict[str, Any]:
    if not REDIS_URL:
        return {"BACKEND": "bencher.layers.MemoryLayer"}
    return {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": f"{BENCHER_REDIS_PREFIX}.layer"},
    }


CHANNEL_LAYERS = {"default": _channel_layer()}

CELERY_BROKER_URL = REDIS_URL or "memory://"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TIMEZONE = "UTC"

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "bencher.core.schema.EndpointSchema",
    "UNAUTHENTICATED_USER": None,
    "EXCEPTION_HANDLER": "bencher.core.api.exception_handler",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Bencher, self-hosted",
    "VERSION": BENCHER_API_VERSION,
    "OAS_VERSION": "3.0.3",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVERS": [{"url": "/"}],
    "PREPROCESSING_HOOKS": ["bencher.openapi.only_endpoints"],
    "POSTPROCESSING_HOOKS": [],
    "APPEND_COMPONENTS": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
}

vars().update(env.email_url("EMAIL_URL", default="consolemail://"))
EMAIL_BACKEND = "bencher.core.mail.ConsoleBackend" if "EMAIL_URL" not in os.environ else vars()["EMAIL_BACKEND"]
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default=f"bencher@{urlsplit(BENCHER_PUBLIC_URL).hostname or 'localhost'}")

# -- security ---------------------------------------------------------------------------------------------------
_HTTPS = BENCHER_PUBLIC_URL.startswith("https://")
LOGIN_REDIRECT_URL = "/"  # where the admin's login leads when its `next` leads elsewhere
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_HSTS_SECONDS = whole("SECURE_HSTS_SECONDS", 86400 if _HTTPS else 0)
SECURE_SSL_REDIRECT = False
# TLS ends at the proxy, which redirects and speaks for subdomains; cookies and HSTS follow BENCHER_PUBLIC_URL, they would break plain HTTP.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W008", "security.W021"]
SILENCED_SYSTEM_CHECKS += [] if _HTTPS else ["security.W004", "security.W012", "security.W016"]
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "style-src": ["'self'"],
        "script-src": ["'self'"],
        "connect-src": ["'self'"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    },
}
# Alpine, which the admin's theme is made of, compiles its attributes; the theme's colours are a style element. No inline script, no foreign source.
ADMIN_CONTENT_SECURITY_POLICY = {"script-src": ["'self'", "'unsafe-eval'"], "style-src": ["'self'", "'unsafe-inline'"]}

# -- admin: what the pages say is in bencher/dashboard.py -----------------------------------------------------------
UNFOLD = {
    "SITE_TITLE": "Bencher",
    "SITE_HEADER": "Bencher",
    "SITE_SUBHEADER": "continuous benchmarking",
    "SITE_SYMBOL": "speed",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": STATIC_URL + "admin-extra/favicon.svg"}],
    "STYLES": [STATIC_URL + "admin-extra/admin.css"],
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
    "LOGIN": {"form": "bencher.projects.login.LoginForm"},
    "DASHBOARD_CALLBACK": "bencher.dashboard.dashboard",
    "SIDEBAR": {"show_search": True, "show_all_applications": True, "navigation": "bencher.dashboard.navigation"},
}

# -- logs: to standard output, plain; secrets never reach a logger (bencher/core/logs.py) -------------------------
LOG_LEVEL = env.str("LOG_LEVEL", default="INFO").upper()
if LOG_LEVEL not in logging.getLevelNamesMapping():
    raise ImproperlyConfigured(f"LOG_LEVEL: expected one of {', '.join(logging.getLevelNamesMapping())}")
logging.captureWarnings(True)
warnings.filterwarnings("ignore", message="No directory at", module="django.core.handlers.base")  # static files are found where they lie
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"()": "bencher.core.logs.Redacting", "format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "filters": {"client": {"()": "bencher.core.logs.ClientFaults"}},
    "handlers": {"out": {"class": "logging.StreamHandler", "formatter": "plain", "filters": ["client"]}},
    "root": {"handlers": ["out"], "level": LOG_LEVEL},
    "loggers": {
        "daphne": {"level": "WARNING"},
        "celery": {"level": "WARNING"},
        "django.request": {"level": "ERROR"},
        "django.channels.server": {"level": "WARNING"},
    },
}
