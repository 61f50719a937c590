"""Settings of the tests: the product's own, with a throw-away data folder. The database is the environment's."""

from __future__ import annotations

import os
import tempfile

os.environ.setdefault("BENCHER_DATA_DIR", tempfile.mkdtemp(prefix="bencher-tests-"))
# One server at a time uses a folder: the processes of one run, which inherit it, have a part each.
if worker := os.environ.get("PYTEST_XDIST_WORKER"):
    os.environ["BENCHER_DATA_DIR"] = os.path.join(os.environ["BENCHER_DATA_DIR"].removesuffix(f"/{worker}"), worker)
    os.makedirs(os.environ["BENCHER_DATA_DIR"], exist_ok=True)
os.environ.setdefault("SECRET_KEY", "tests-only-" * 5)
os.environ.setdefault("STORAGE_URL", "memory://")

from bencher.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CELERY_TASK_ALWAYS_EAGER = False
STATIC_ROOT = BENCHER_DATA_DIR  # noqa: F405  (a folder that exists: nothing is collected for tests)
if ON_SQLITE:  # noqa: F405
    DATABASES["default"]["TEST"] = {"NAME": ":memory:"}  # noqa: F405  (as by Django's own backend; each process of the tests has one)
