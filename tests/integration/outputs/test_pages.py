"""Pages of results: every link that the command line prints opens the right page (design.md section 11, rest.md 8.6)."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from bencher.projects.models import User
from outputs.models import Alert, Benchmark, ChangePoint, Metric, Report, Threshold
from tests.browsing import Browser, links
from tests.restworld import NOWHERE, api_of, make_project, make_user
from tests.results_lab import START, Lab, bmf, latency, watching

pytestmark = pytest.mark.django_db


@dataclass
class World:
    """A project with five reports, the last of which raised an alert."""

    owner: User
    lab: Lab
    api: Any
    browser: Browser

    @property
    def root(self) -> str:
        project = self.lab.project
        return f"/perf/{project.slug}" if project.visibility == "public" else f"/console/projects/{project.slug}"

    def json(self, path: str) -> Any:
        return self.api.ok("GET", f"/v0/projects/{self.lab.project.slug}{path}")

    def query(self, **more: Any) -> str:
        """The perf query of everything."""
        found = {
            kind: ",".join(row["uuid"] for row in self.json(f"/{kind}?per_page=255"))
            for kind in ("branches", "testbeds", "benchmarks", "measures")
        }
        return "&".join(f"{name}={value}" for name, value in {**found, **more}.items())


def make_world(visibility: str = "public") -> World:
    owner = make_user()
    lab = Lab(make_project(owner, visibility=visibility))
    for number, value in enumerate((1.0, 1.0, 1.0, 1.0, 9.0)):
        at = START + timedelta(hours=number)
        lab.run(latency(value), thresholds=None if number else watching(), start_time=at, end_time=at, hash=f"{number:x}" * 40)
    return World(owner, lab, api_of(owner), Browser(owner))


@pytest.fixture
def world() -> World:
    return make_world()


def text_of(page: str) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))


def cli_perf_link(report: dict[str, Any]) -> str:
    """The query that the command line prints for the first result of a report (rest.md 8.6)."""
    row = report["results"][0][0]
    start = datetime.fromisoformat(report["start_time"]) - timedelta(days=30)
    values = {
        "branches": report["branch"]["uuid"],
        "heads": report["branch"]["head"]["uuid"],
        "testbeds": report["testbed"]["uuid"],
        "specs": "",
        "benchmarks": row["benchmark"]["uuid"],
        "measures": row["measures"][0]["measure"]["uuid"],
        "start_time": round(start.timestamp() * 1000),
        "end_time": round(datetime.fromisoformat(report["end_time"]).timestamp() * 1000),
        "report": report["uuid"],
        "upper_boundary": "true",
    }
    return "&".join(f"{name}={value}" for name, value in values.items())


# -- the links of the command line ----------------------------------------------------------------------------------
def test_a_new_level_is_named_where_it_begins(world: World) -> None:
    metric = Metric.objects.filter(report__project=world.lab.project).order_by("report__start_time")[2]
    parts = {"before": 1.0, "after": 2.5, "p_value": 0.0, "created": START}
    ChangePoint.objects.create(threshold=Threshold.objects.get(), metric=metric, report=metric.report, **parts)
    shown = world.browser.go(f"{world.root}?{world.query()}")
    assert re.findall(r'title="the level moved from ([^ ]+) to ([^"]+)"', shown) == [("1", "2.5")]


@pytest.mark.parametrize("visibility", ["public", "private"])
def test_report_and_perf_links(visibility: str) -> None:
    world = make_world(visibility)
    report = world.json(f"/reports/{world.json('/reports')[0]['uuid']}")
    page = world.browser.go(f"{world.root}/reports/{report['uuid']}")
    assert all(part in text_of(page) for part in ("main", "bench", "Latency", "nanoseconds (ns)", "active", "1.1"))
    perf = world.root if visibility == "public" else f"{world.root}/perf"
    shown = world.browser.go(f"{perf}?{cli_perf_link(report)}")
    assert shown.count("<circle") == 5
    assert shown.count('class="alert"') == 1
    assert 'class="limit"' in shown
    assert 'class="this"' in shown
    assert re.findall(r'class="badge active" href="[^"]*/alerts/([^"]+)"', shown) == [world.json("/alerts")[0]["uuid"]]
    assert f"{perf}?{cli_perf_link(report)}" in links(page), "the page links the same series as the command line"


def test_both_prefixes_serve_both(world: World) -> None:
    for prefix in (f"/perf/{world.lab.project.slug}", f"/console/projects/{world.lab.project.slug}"):
        for path in ("/reports", "/alerts", "/thresholds", "/branches", "/testbeds", "/benchmarks", "/measures", "/jobs"):
            world.browser.go(prefix + path)
    world.browser.go(f"/perf/{world.lab.project.pk}/reports")  # by UUID, too


PATHS = ("", "/perf", "/reports", "/alerts", "/thresholds", "/branches", "/testbeds", "/benchmarks", "/measures", "/jobs")


@pytest.mark.parametrize("path", PATHS)
def test_private_projects_hide(path: str) -> None:
    world = make_world("private")
    slug = world.lab.project.slug
    world.browser.go(f"/console/projects/{slug}{path}")
    for browser in (Browser(), Browser(make_user())):
        for prefix in ("/console/projects", "/perf"):
            if prefix == "/perf" and path == "/perf":
                continue
            hidden = browser.go(f"{prefix}/{slug}{path}", 404)
            missing = browser.go(f"{prefix}/nothing-of-that-name{path}", 404)
            token = re.compile(r'name="csrfmiddlewaretoken" value="[^"]+"')
            assert token.sub("", hidden.replace(slug, "X")) == token.sub("", missing.replace("nothing-of-that-name", "X"))


@pytest.mark.parametrize(
    "path", ["/reports/{}", "/alerts/{}", "/thresholds/{}", "/branches/{}", "/testbeds/{}", "/benchmarks/{}", "/measures/{}", "/jobs/{}"]
)
def test_what_is_not_there_is_404(world: World, path: str) -> None:
    other = make_world()
    ids = {
        "/reports/{}": Report.objects.filter(project=other.lab.project).first(),
        "/alerts/{}": Alert.objects.get(project=other.lab.project),
        "/benchmarks/{}": Benchmark.objects.get(project=other.lab.project),
    }
    for word in (NOWHERE, "nonsense", "a b", "%00", str(getattr(ids.get(path), "pk", NOWHERE))):
        world.browser.go(world.root + path.format(word), 404)


def test_branches_and_the_others_by_uuid_or_slug(world: World) -> None:
    for kind in ("branches", "testbeds", "benchmarks", "measures"):
        row = world.json(f"/{kind}")[0]
        for name in (row["slug"], row["uuid"]):
            page = world.browser.go(f"{world.root}/{kind}/{name}")
            assert row["name"] in page
            assert f"{world.root}?{kind}={row['uuid']}" in links(page)
    head = world.json("/branches")[0]["head"]["uuid"]
    assert head in world.browser.go(f"{world.root}/branches/main?head={head}")
    world.browser.go(f"{world.root}/branches/main?head={NOWHERE}", 404)


def test_a_threshold_and_its_earlier_models(world: World) -> None:
    threshold = world.json("/thresholds")[0]
    before = threshold["model"]["uuid"]
    world.api.ok("PUT", f"/v0/projects/{world.lab.project.slug}/thresholds/{threshold['uuid']}", {"test": "z_score", "upper_boundary": 0.9})
    assert "z_score" in world.browser.go(f"{world.root}/thresholds/{threshold['uuid']}")
    old = world.browser.go(f"{world.root}/thresholds/{threshold['uuid']}?model={before}")
    assert "percentage" in old
    assert "was replaced" in old
    assert f"{world.root}/thresholds/{threshold['uuid']}" in links(world.browser.go(f"{world.root}/thresholds"))


# -- perf -----------------------------------------------------------------------------------------------------------
def values(page: str) -> list[str]:
    """The column of values."""
    return [
        cells[0] for cells in (re.findall(r'<td class="n">([^<]*)</td>', row) for row in re.findall(r"<tr.*?</tr>", page, re.S)) if cells
    ]


def test_perf_takes_what_rest_takes(world: World) -> None:
    cut = round((START + timedelta(hours=3)).timestamp() * 1000)
    for query in (world.query(), world.query(start_time=cut), world.query(end_time=cut), world.query(heads="", specs="")):
        wanted = [metric["metric"]["value"] for result in world.json(f"/perf?{query}")["results"] for metric in result["metrics"]]
        assert [float(text) for text in reversed(values(world.browser.go(f"{world.root}?{query}")))] == wanted
    assert "Nothing was measured" in world.browser.go(f"{world.root}?{world.query(specs=NOWHERE)}")


@pytest.mark.parametrize(
    "query",
    [
        "branches=x&testbeds=y&benchmarks=z&measures=a",
        "branches=x",
        "{all}&start_time=soon",
        "{all}&heads=x",
        "{all}&x_axis=y",
        "{all}&page=x",
    ],
)
def test_a_wrong_query_is_said_to_be_wrong(world: World, query: str) -> None:
    page = world.browser.go(f"{world.root}?{query.replace('{all}', world.query())}", 400 if "page=" not in query else 200)
    assert "<script" not in page


def test_without_a_query_there_is_a_choice(world: World) -> None:
    page = world.browser.go(world.root)
    row = world.json("/benchmarks")[0]
    assert f'name="benchmarks" value="{row["uuid"]}"' in page
    assert "<circle" not in page
    partly = world.browser.go(f"{world.root}?benchmarks={row['uuid']}")
    assert f'value="{row["uuid"]}" checked' in partly
    assert "Something of each kind is needed" in partly


def test_what_a_form_sends_becomes_the_query_of_rest(world: World) -> None:
    world.lab.run(latency(2.0, "other"))
    one, two = (row["uuid"] for row in world.json("/benchmarks"))
    rest = world.query().replace(f"benchmarks={one},{two}", f"benchmarks={one}&benchmarks={two}&find_branches=&lower_boundary=true")
    response = world.browser.client.get(f"{world.root}?{rest}")
    assert response.status_code == 302
    sent = parse_qs(urlsplit(response["location"]).query)
    assert sent["benchmarks"] == [f"{one},{two}"]
    assert sent["lower_boundary"] == ["true"]
    assert "find_branches" not in sent
    assert "2 series" in world.browser.go(response["location"])


@pytest.mark.parametrize("visibility", ["public", "private"])
def test_every_link_of_a_page_opens(visibility: str) -> None:
    """REST takes no session: a private project's pages do not link to it."""
    world = make_world(visibility)
    perf = world.root if visibility == "public" else f"{world.root}/perf"
    report = world.json("/reports")[0]["uuid"]
    for path in (
        f"{perf}?{world.query()}",
        f"{world.root}/reports/{report}",
        f"/console/projects/{world.lab.project.slug}",
        f"{world.root}/alerts",
    ):
        for target in {one for one in links(world.browser.go(path)) if one.startswith("/") and not one.startswith(("/static/", "/admin/"))}:
            wanted = 405 if target == "/auth/logout" else 200
            assert world.browser.client.get(target).status_code == wanted, f"{path} links to {target}"


def test_measures_have_plots_of_their_own_and_eight_series_are_drawn() -> None:
    world = make_world()
    world.lab.run(bmf({f"b{number}": {"latency": number, "throughput": 1} for number in range(12)}))
    page = world.browser.go(f"{world.root}?{world.query()}")
    assert page.count('<figure class="plot">') == 2
    assert "and 5 more" in page
    assert "and 4 more" in page


def test_the_choice_can_be_searched(world: World) -> None:
    world.lab.run(bmf({f"bench {number:03}": {"latency": 1} for number in range(200)}))
    page = world.browser.go(f"{world.root}?find_benchmarks=bench+19")
    assert page.count('name="benchmarks"') == 10
    assert "in all: search" in world.browser.go(world.root)


def test_points_are_paged_the_newest_first() -> None:
    world = make_world()
    for number in range(60):
        at = START + timedelta(days=1, minutes=number)
        world.lab.run(latency(100.0 + number), start_time=at, end_time=at)
    page = world.browser.go(f"{world.root}?{world.query()}")
    assert values(page)[0] == "159"
    assert "1–50 of 65" in page
    following = next(target for target in links(page) if "page=2" in target)
    assert values(world.browser.go(world.root + following))[-1] == "1"


# -- hostile texts --------------------------------------------------------------------------------------------------
def test_names_are_text() -> None:
    world = make_world()
    name = "<img src=x onerror=alert(1)>\u202e{{ 7*7 }}"
    for value in (1.0, 1.0, 9.0):
        world.lab.run(bmf({name: {"latency": value}}), branch="a<b>c", testbed="<script>1", thresholds=watching())
    report = world.json("/reports?branch=a%3Cb%3Ec")[0]["uuid"]
    alert = world.json("/alerts")[0]["uuid"]
    pages = [
        f"?{world.query()}",
        "",
        "/reports",
        f"/reports/{report}",
        "/alerts",
        f"/alerts/{alert}",
        "/benchmarks",
        "/branches",
        "/testbeds",
    ]
    for path in pages:
        page = world.browser.go(world.root + path)
        assert "<img src=x" not in page
        assert "<b>c" not in page
        assert "\u202e" not in page
    assert "{{ 7*7 }}" in page or "7*7" in world.browser.go(f"{world.root}/benchmarks")


# -- alerts ---------------------------------------------------------------------------------------------------------
def test_an_alert_is_dismissed_and_reactivated_by_who_may(world: World) -> None:
    alert = Alert.objects.get(project=world.lab.project)
    path = f"{world.root}/alerts/{alert.pk}"
    assert "above the upper limit of 1.1" in text_of(world.browser.go(path))
    for status, offered in (("dismissed", "Reactivate"), ("active", "Dismiss")):
        assert world.browser.post(path, path, status=status)["location"] == path
        alert.refresh_from_db()
        assert alert.status == status
        assert offered in world.browser.go(path)
    assert world.browser.post(path, path, status="silenced").status_code == 400
    for stranger, status in ((Browser(), 401), (Browser(make_user()), 403)):
        assert "Dismiss" not in stranger.go(path)
        assert stranger.post("/auth/login", path, status="dismissed").status_code == status
    assert world.browser.client.post(path, {"status": "dismissed"}).status_code == 403  # no token of a page
    alert.refresh_from_db()
    assert alert.status == "active"


def test_filters_are_those_of_rest(world: World) -> None:
    assert "No alert is like that" in text_of(world.browser.go(f"{world.root}/alerts?status=dismissed"))
    world.browser.go(f"{world.root}/alerts?status=&archived=true")
    world.browser.go(f"{world.root}/alerts?status=nonsense", 400)
    assert "1.00" not in world.browser.go(f"{world.root}/reports?branch=nothing&testbed=")
    assert "No report is like that" in text_of(world.browser.go(f"{world.root}/reports?branch=nothing"))


def test_an_empty_project_says_what_would_fill_it() -> None:
    owner = make_user()
    project = make_project(owner)
    for path, said in (("reports", "No report yet"), ("alerts", "No alert yet"), ("thresholds", "No threshold yet"), ("branches", "None yet"),
                       ("jobs", "No job yet")):  # fmt: skip
        assert said in text_of(Browser().go(f"/perf/{project.slug}/{path}"))
    assert "none yet" in Browser().go(f"/perf/{project.slug}")
    assert "None yet" in Browser().go(f"/console/projects/{project.slug}")


# -- cost -----------------------------------------------------------------------------------------------------------
def test_a_page_costs_the_same_with_one_row_and_with_a_hundred() -> None:
    few, many = make_world(), make_world()
    for number in range(20):
        many.lab.run(
            bmf({f"bench {one}": {"latency": number, "throughput": 1} for one in range(10)}), thresholds=watching(), branch=f"b{number}"
        )
    many.lab.run(bmf({f"bench {one}": {"latency": 1.0} for one in range(100)}), branch="main")
    many.lab.run(bmf({f"bench {one}": {"latency": 100.0} for one in range(100)}), branch="main")
    for path in ("/reports", "/alerts", "/thresholds", "/branches", "/testbeds", "/benchmarks", "/measures", ""):
        costs = [one.browser.queries(f"{one.root}{path}")[0] for one in (few, many)]
        assert costs[0] == costs[1] <= 14, path
    for world in (few, many):
        assert world.browser.queries(f"{world.root}?{world.query()}")[0] <= 23
        newest = world.json("/reports?per_page=1")[0]["uuid"]
        assert world.browser.queries(f"{world.root}/reports/{newest}")[0] <= 12
    overview = [one.browser.queries(f"/console/projects/{one.lab.project.slug}")[0] for one in (few, many)]
    assert overview[0] == overview[1] <= 12


def test_a_report_of_ten_thousand_metrics_is_paged() -> None:
    world = make_world()
    world.lab.run(
        bmf({f"bench {number:05}": {"latency": number} for number in range(3000)}), start_time=datetime.now(UTC), end_time=datetime.now(UTC)
    )
    report = world.json("/reports")[0]["uuid"]
    page = world.browser.go(f"{world.root}/reports/{report}?page=60")
    assert "2951–3000 of 3000" in page
    assert len(page) < 100_000
