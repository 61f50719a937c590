"""rest.md 4.2: specs, the fallback, what archiving and deleting do."""

from __future__ import annotations

from typing import Any

import pytest

from bencher.core import hooks
from bencher.specs.models import Spec
from bencher.specs.selectors import fallback_spec, find_spec
from outputs.models import Testbed as Bed
from runners.models import Runner, RunnerSpec
from tests.jobs_world import make_job
from tests.restworld import NOW, NOWHERE, Api, api_of, fresh, make_project, make_user

pytestmark = pytest.mark.django_db
SPEC = {"os": "linux", "architecture": "x86_64", "cpu": 1, "memory": 1 << 30, "disk": 1 << 30}


@pytest.fixture
def admin() -> Api:
    return api_of(make_user(admin=True))


def create(admin: Api, **values: Any) -> dict[str, Any]:
    made: dict[str, Any] = admin.ok("POST", "/v0/specs", {**SPEC, "name": fresh("spec"), **values})
    return made


def change(admin: Api, spec: dict[str, Any], **values: Any) -> dict[str, Any]:
    changed: dict[str, Any] = admin.ok("PATCH", f"/v0/specs/{spec['uuid']}", values)
    return changed


def test_all_that_was_sent_comes_back(admin: Api) -> None:
    made = create(
        admin, name="Big", cpu=2**31 - 1, memory=2**63 - 1, disk=1, network=True, sandbox="firecracker", os="macos", architecture="aarch64"
    )
    assert (made["slug"], made["cpu"], made["memory"], made["disk"]) == ("big", 2**31 - 1, 2**63 - 1, 1)
    assert (made["network"], made["sandbox"], made["fallback"], made["archived"]) == (True, "firecracker", None, None)
    assert admin.ok("GET", "/v0/specs/big") == admin.ok("GET", f"/v0/specs/{made['uuid']}") == made
    assert create(admin, name="Big")["slug"].startswith("big-")


@pytest.mark.parametrize(
    "values",
    [
        {"name": ""},
        {"os": "plan9"},
        {"architecture": None},
        {"sandbox": "docker"},
        {"cpu": 0},
        {"cpu": 2**31},
        {"cpu": 1.5},
        {"cpu": True},
        {"memory": 2**63},
        {"memory": "1"},
        {"disk": 0},
        {"network": "yes"},
    ],
)
def test_wrong_specs(admin: Api, values: dict[str, Any]) -> None:
    message = admin.refused("POST", "/v0/specs", 400, {**SPEC, "name": "x", **values})
    assert next(iter(values)) in message
    assert not Spec.objects.exists()


def test_hardware_is_fixed(admin: Api) -> None:
    made = create(admin)
    changed = change(admin, made, cpu=64, os="windows", network=True)
    assert {key: changed[key] for key in SPEC} == SPEC


def test_one_fallback(admin: Api) -> None:
    first, second = create(admin, fallback=True), create(admin, fallback=True)
    assert admin.ok("GET", f"/v0/specs/{first['uuid']}")["fallback"] is None
    assert fallback_spec() == find_spec(second["slug"])
    since = change(admin, second, fallback=True)["fallback"]
    assert since == second["fallback"]
    assert change(admin, first, fallback=True)["fallback"]
    assert fallback_spec() == find_spec(first["slug"])
    assert change(admin, first, fallback=False)["fallback"] is None
    assert fallback_spec() is None


def test_archiving_wins_over_the_fallback(admin: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr(hooks.spec_archived, "_function", lambda **values: told.append(str(values["spec_id"])))
    made = create(admin, fallback=True)
    changed = change(admin, made, archived=True, fallback=True)
    assert (changed["archived"] is not None, changed["fallback"]) == (True, None)
    assert change(admin, made, fallback=True)["fallback"] is None
    assert change(admin, made, archived=True)["archived"] == changed["archived"]
    assert change(admin, made, archived=False)["fallback"] is None
    assert told == [made["uuid"]]


def test_archiving_detaches_testbeds_and_keeps_runners(admin: Api) -> None:
    made = create(admin)
    runner = Runner.objects.create(name="r", slug="r", key_hash="r", created=NOW, modified=NOW)
    admin.ok("POST", "/v0/runners/r/specs", {"spec": made["slug"]})
    bed = Bed.objects.create(project=make_project(make_user()), name="b", slug="b", spec_id=made["uuid"], created=NOW, modified=NOW)
    change(admin, made, archived=True)
    bed.refresh_from_db()
    assert bed.spec is None
    assert RunnerSpec.objects.filter(runner=runner).count() == 1
    change(admin, made, archived=False)
    bed.refresh_from_db()
    assert bed.spec is None


def test_deletion(admin: Api) -> None:
    free, attached, used, in_bed = (create(admin) for _ in range(4))
    Runner.objects.create(name="r", slug="r", key_hash="r", created=NOW, modified=NOW)
    admin.ok("POST", "/v0/runners/r/specs", {"spec": attached["slug"]})
    project = make_project(make_user())
    make_job(project, find_spec(used["slug"]))
    bed = Bed.objects.create(project=project, name="b", slug="b", spec_id=in_bed["uuid"], created=NOW, modified=NOW)
    for spec in (attached, used):
        admin.refused("DELETE", f"/v0/specs/{spec['uuid']}", 409)
    for spec in (free, in_bed):
        admin.ok("DELETE", f"/v0/specs/{spec['slug']}")
        admin.refused("GET", f"/v0/specs/{spec['uuid']}", 404)
    bed.refresh_from_db()
    assert bed.spec is None


def test_lists(admin: Api) -> None:
    beta, alpha = create(admin, name="Beta"), create(admin, name="Alpha")
    change(admin, beta, archived=True)

    def names(**query: Any) -> list[str]:
        return [one["name"] for one in admin.ok("GET", "/v0/specs", query=query)]

    assert names() == ["Alpha"]
    assert names(archived="true") == ["Alpha", "Beta"]
    assert names(archived="true", direction="desc") == ["Beta", "Alpha"]
    assert names(archived="true", search="bet") == ["Beta"]
    assert names(name="Alpha") == ["Alpha"]
    Spec.objects.filter(pk=alpha["uuid"]).update(created=NOW)
    assert names(archived="true", sort="created") == ["Beta", "Alpha"]


def test_who(admin: Api) -> None:
    made, stranger = create(admin), api_of(make_user())
    for method, path, body in (
        ("GET", "/v0/specs", None),
        ("POST", "/v0/specs", {**SPEC, "name": "x"}),
        ("GET", f"/v0/specs/{made['uuid']}", None),
        ("PATCH", f"/v0/specs/{made['uuid']}", {}),
        ("DELETE", f"/v0/specs/{made['uuid']}", None),
    ):
        stranger.refused(method, path, 403, body)
        Api().refused(method, path, 400, body)
    admin.refused("GET", f"/v0/specs/{NOWHERE}", 404)
    admin.refused("GET", "/v0/specs/x_y", 400)
