"""The whole site as one ASGI application; any ASGI server can load ``bencher.asgi:application``. Who answers what: ``bencher/routing.py``."""

from __future__ import annotations

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bencher.settings")
django.setup(set_prefix=False)

from bencher.routing import site  # noqa: E402  (needs the apps)
from bencher.serving.pace import settle  # noqa: E402

application = site()
settle()
