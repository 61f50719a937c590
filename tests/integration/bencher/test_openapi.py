"""The OpenAPI document tells the truth: schemathesis sends what it allows, and what it forbids, to every operation, and runs all of its checks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import schemathesis
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

from bencher.openapi import document
from bencher.projects.models import User
from outputs import models
from runners.protocol.messages import IterationOutput
from tests.jobs_world import make_job, make_runner, make_spec, ran
from tests.restworld import api_of, key_of, make_project, make_user
from tests.results_lab import Lab, latency, watching

pytestmark = pytest.mark.django_db
BEYOND_JSON_SCHEMA = (
    "bytes, got",  # JSON Schema counts characters
    "expected a name that git takes as a reference",
    "model: ",  # which boundary a test needs, and in which order they lie
    "project: name one",
    "context: it is needed",
    "Cannot read result",
    "is not in the registry",
    "the NUL character is not allowed",
)
"""What a refusal says when it is for a rule that JSON Schema cannot express."""
EXAMPLES = 8
DOCUMENT = json.loads(document())
OPERATIONS = [(path, method) for path, item in DOCUMENT["paths"].items() for method in item if "backup" not in path]
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
SCHEMA.app = WSGIHandler()


@contextmanager
def one_connection() -> Iterator[None]:
    """A request shares the test's connection and transaction, as those of Django's own test client do: the handler would close it."""
    both = (request_started, request_finished)
    for signal in both:
        signal.disconnect(close_old_connections)
    yield
    for signal in both:
        signal.connect(close_old_connections)


@pytest.fixture
def admin(db: None) -> User:
    return make_user(admin=True)


@pytest.fixture
def places(admin: User) -> dict[str, str]:
    """One of everything, by the names of the path parameters."""
    api = api_of(admin)
    project = make_project(admin)
    lab = Lab(project)
    lab.run(latency(1.0), thresholds=watching())
    lab.run(latency(1.0))
    lab.run(latency(9.0))
    spec = make_spec()
    job = ran(make_job(project, spec), IterationOutput(exit_code=0, stdout="text", output={"/a": "b"}), error="broken")
    root = f"/v0/projects/{project.slug}"
    lists = {
        name: [str(model.objects.get(project=project, name=text).pk)]
        for name, model, text in (
            ("testbeds", models.Testbed, "bench"),
            ("benchmarks", models.Benchmark, "bench"),
            ("measures", models.Measure, "Latency"),
        )
    }
    lists["branches"] = [api.ok("GET", f"{root}/branches/main")["uuid"]]
    flags = dict.fromkeys(("lower_value", "upper_value", "lower_boundary", "upper_boundary"), True)
    plot = api.ok("POST", f"{root}/plots", {**flags, **lists, "x_axis": "version", "window": 60})
    return {
        "project": project.slug,
        "organization": project.organization.slug,
        "user": admin.slug,
        "runner": make_runner(spec).slug,
        "spec": spec.slug,
        "permission": "view",
        "job": str(job.pk),
        "report": str(models.Report.objects.filter(project=project).latest("created").pk),
        "metric": str(models.Metric.objects.latest("id").pk),
        "threshold": str(models.Threshold.objects.get().pk),
        "alert": str(models.Alert.objects.get().pk),
        "plot": plot["uuid"],
        "key": str(api.ok("POST", f"{root}/keys", {"name": "key"})["uuid"]),
        **{name: items[0] for name, items in lists.items()},
    }


def path_parameters(path: str, places: dict[str, str]) -> dict[str, str]:
    """Those of the operation that name something; ``resource`` is one of the kind in the path."""
    kind = path.split("/")[4] if path.count("/") > 3 else ""
    known = {**places, "resource": places.get(kind, "")}
    return {name: known[name] for name in known if "{" + name + "}" in path and known[name]}


def send_many(path: str, method: str, mode: GenerationMode, credential: str | None, *excluded: Any, **fixed: Any) -> set[int]:
    """Statuses of the answers to generated requests. Every answer passes every check of schemathesis but one, which knows only 401 and 403 for a
    missing credential: rest.md 1.6 says 400."""
    headers = {"Authorization": f"Bearer {credential}"} if credential else {}
    statuses: set[int] = set()

    @hypothesis_settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=SCHEMA[path][method.upper()].as_strategy(mode, headers=headers, **fixed))
    def run(case: Any) -> None:
        with one_connection():
            response = case.call()
        statuses.add(response.status_code)
        known = response.status_code == 400 and any(rule in response.text for rule in BEYOND_JSON_SCHEMA)
        case.validate_response(response, excluded_checks=[ignored_auth, *excluded, *([positive_data_acceptance] if known else [])])

    run()
    return statuses


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_operation(path: str, method: str, places: dict[str, str], admin: User) -> None:
    """What the document forbids is refused as it says; what it allows, about things that exist, is done; without a credential it is 400 where one is
    needed. Nothing is a fault of the server, and every answer is as described."""
    operation, key, fixed = SCHEMA[path][method.upper()], key_of(admin), {"path_parameters": path_parameters(path, places)}
    if DOCUMENT["paths"][path][method]["security"] == [{"bearer": []}]:
        assert send_many(path, method, GenerationMode.POSITIVE, None, positive_data_acceptance, **fixed) == {400}
    else:
        assert max(send_many(path, method, GenerationMode.POSITIVE, None, **fixed)) < 500
    if operation.body or operation.query:
        assert max(send_many(path, method, GenerationMode.NEGATIVE, key, **fixed)) < 500
    elif operation.path_parameters:
        assert max(send_many(path, method, GenerationMode.NEGATIVE, key)) < 500
    assert max(send_many(path, method, GenerationMode.POSITIVE, key, **fixed)) < 500
