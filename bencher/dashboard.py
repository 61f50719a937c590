"""The admin's first page and its navigation."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count
from django.http import HttpRequest
from django.urls import reverse

from bencher.core import clock
from bencher.models import Pulse
from jobs.lifecycle import IN_FLIGHT
from jobs.models import Job
from outputs.models import Alert
from runners.models import Runner

RECENT = 8
TONES = {"pending": "info", "claimed": "warning", "running": "warning", "completed": "info", "processed": "success",
         "failed": "danger", "canceled": "danger"}  # fmt: skip
GROUPS = (
    ("Bench", (("Jobs", "work_history", "jobs_job"), ("Runners", "precision_manufacturing", "runners_runner"), ("Specs", "memory", "specs_spec"))),
    ("Results", (
        ("Reports", "lab_profile", "outputs_report"), ("Alerts", "notifications", "outputs_alert"),
        ("Thresholds", "rule", "outputs_threshold"), ("Change points", "trending_up", "outputs_changepoint"),
        ("Branches", "account_tree", "outputs_branch"), ("Testbeds", "dns", "outputs_testbed"),
        ("Benchmarks", "timer", "outputs_benchmark"), ("Measures", "straighten", "outputs_measure"),
    )),
    ("Images", (("Repositories", "inventory_2", "outputs_repository"), ("Manifests", "description", "outputs_manifest"))),
    ("People", (
        ("Users", "person", "projects_user"), ("Organizations", "groups", "projects_organization"),
        ("Projects", "folder", "projects_project"), ("User keys", "key", "projects_userkey"),
        ("Project keys", "vpn_key", "projects_projectkey"),
    )),
    ("Operation", (("Audit log", "history", "admin_logentry"), ("Signs of life", "monitor_heart", "bencher_pulse"))),
)  # fmt: skip


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """The sidebar: what operators look at; the rest is under all applications."""
    return [
        {
            "title": title,
            "separator": True,
            "items": [{"title": name, "icon": icon, "link": reverse(f"admin:{route}_changelist")} for name, icon, route in items],
        }
        for title, items in GROUPS
    ]


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Numbers and the latest jobs, in a constant number of queries."""
    now = clock.now()
    jobs = reverse("admin:jobs_job_changelist")
    counted = dict(Job.objects.order_by().values_list("status").annotate(Count("id")))
    alive = now - timedelta(seconds=settings.BENCHER_HEARTBEAT_TIMEOUT)
    live = Runner.objects.filter(archived=None)
    cards = [
        ("Waiting jobs", counted.get("pending", 0), f"{jobs}?status__exact=pending"),
        ("Jobs on runners", sum(counted.get(status, 0) for status in IN_FLIGHT), f"{jobs}?status__exact=running"),
        ("Failed jobs", counted.get("failed", 0), f"{jobs}?status__exact=failed"),
        (
            "Runners online",
            f"{live.filter(last_heartbeat__gte=alive).count()} of {live.count()}",
            reverse("admin:runners_runner_changelist"),
        ),
        (
            "Active alerts",
            Alert.objects.filter(status="active").count(),
            reverse("admin:outputs_alert_changelist") + "?status__exact=active",
        ),
    ]
    recent = Job.objects.select_related("project", "spec", "runner").defer("config").order_by("-created", "-id")[:RECENT]
    rows = [(job, TONES.get(job.status, "info"), reverse("admin:jobs_job_change", args=(job.pk,))) for job in recent]
    return {**context, "cards": cards, "recent": rows, "pulses": Pulse.objects.order_by("name"), "jobs_url": jobs, "now": now}
