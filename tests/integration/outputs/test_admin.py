"""outputs/admin.py: alerts, reports, thresholds and dimensions by their services."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from outputs import models
from outputs.models import Alert, Benchmark, Branch, Plot, Report, Threshold, ThresholdModel
from tests.adminworld import make_everything
from tests.jobs_world import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def web() -> Client:
    user = make_user(admin=True)
    make_everything(user)
    client = Client()
    client.force_login(user)
    return client


def act(web: Client, name: str, row: Model) -> str:
    answer = web.post(reverse(f"admin:outputs_{row._meta.model_name}_{name}_this", args=(row.pk,)), {"_form_submitted": "on"})
    return str(web.get(answer["HX-Redirect"]).content.decode())


def test_alerts(web: Client) -> None:
    alert = Alert.objects.get()
    act(web, "dismiss", alert)
    assert Alert.objects.get().status == "dismissed"
    act(web, "reactivate", alert)
    assert Alert.objects.get().status == "active"


@pytest.mark.parametrize("model", [Branch, models.Testbed, Benchmark])
def test_dimensions(web: Client, model: type[Branch | models.Testbed | Benchmark]) -> None:
    row = model.objects.get()
    act(web, "archive", row)
    assert model.objects.get().archived
    act(web, "unarchive", row)
    assert not model.objects.get().archived
    assert "used by a" in act(web, "remove", row)
    assert model.objects.exists()


def test_what_is_used_stays_until_it_is_not(web: Client) -> None:
    assert "refer to this threshold" in act(web, "remove", Threshold.objects.get())
    act(web, "remove", Plot.objects.get())
    act(web, "remove", Report.objects.get())
    assert not Alert.objects.exists()
    act(web, "remove", Threshold.objects.get())
    act(web, "remove", Benchmark.objects.get())
    for model in (Plot, Report, Threshold, Benchmark):
        assert not model._default_manager.exists()
    assert LogEntry.objects.filter(action_flag=3).count() == 4


def test_models_of_thresholds_are_read_only(web: Client) -> None:
    model = ThresholdModel.objects.get()
    address = reverse("admin:outputs_thresholdmodel_change", args=(model.pk,))
    assert web.post(address, {"test": "iqr"}).status_code == 403
    assert ThresholdModel.objects.get().test == "t_test"
