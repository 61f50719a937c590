"""The real outputs of tools and the inputs at their edges (tests/data/adapters), names, settings, and what a refusal says."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from outputs.adapters.measures import builtin
from outputs.adapters.parse import ADAPTERS, EXCERPT, excerpt, normalize, parse_results
from outputs.adapters.results import AdapterError, Parsed

DATA = Path(__file__).resolve().parents[3] / "data" / "adapters"
EXPECTED = json.loads((DATA / "expected.json").read_text())
EDGES = json.loads((DATA / "edges.json").read_text())
OWN = {(entry["fixture"], adapter) for entry in EXPECTED if entry["status"] == 201 for adapter, _ in entry["settings"]}
LEAVES = sorted({adapter for _, adapter in OWN} - {"magic"})
TEXTS = [(DATA / entry["fixture"]).read_text() for entry in EXPECTED] + [text for edge in EDGES for text in edge["texts"]]

KNOWN_TO_THE_SERVER = {"unknown"}
"""Outcomes that only the server can tell: a UUID that no benchmark has."""


def simple(parsed: list[tuple[int, Parsed]]) -> list[dict[str, dict[str, tuple]]]:
    """Iterations with metrics, measures by slug as the server resolves them, benchmarks without metrics left out."""
    iterations = [
        {
            name: {slug(measure): tuple(metric) for measure, metric in measures.items()}
            for name, measures in found.benchmarks.items()
            if measures
        }
        for _, found in parsed
    ]
    return [iteration for iteration in iterations if iteration]


def slug(measure: str) -> str:
    known = builtin(measure)
    return known.slug if known else measure.lower().replace(" ", "-")


def recorded(results: list[dict[str, Any]]) -> list[dict[str, dict[str, tuple]]]:
    return [
        {
            name: {measure: (metric["value"], metric["lower"], metric["upper"]) for measure, metric in measures.items()}
            for name, measures in iteration.items()
        }
        for iteration in results
    ]


def same(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float) and right is not None:
        return math.isclose(left, right, rel_tol=1e-12, abs_tol=0)
    return left == right


def attempt(texts: list[str], options: dict[str, Any]) -> list[dict[str, dict[str, tuple]]] | str:
    """The results, or the message of the refusal."""
    try:
        return simple(parse_results(texts, **options))
    except AdapterError as error:
        return str(error)


def check(texts: list[str], options: dict[str, Any], outcome: dict[str, Any]) -> None:
    allowed = outcome.get("statuses") or [outcome["status"]]
    seen = attempt(texts, options)
    if isinstance(seen, str):
        assert 400 in allowed, seen
        assert options["adapter"] in seen
        return
    assert 201 in allowed or outcome.get("class") in KNOWN_TO_THE_SERVER, seen
    if "results" in outcome and 201 in allowed:
        wanted = recorded(outcome["results"])
        ignored = ("_bencher_ignore", "BencherIgnore", "-bencher-ignore")  # the server takes these off the names
        seen = [{strip(name, ignored): measures for name, measures in iteration.items()} for iteration in seen]
        assert same(seen, wanted), (seen, wanted)


def strip(name: str, suffixes: tuple[str, ...]) -> str:
    return next((name.removesuffix(suffix) for suffix in suffixes if name.endswith(suffix)), name)


@pytest.mark.parametrize(
    ("fixture", "adapter", "average", "outcome"),
    [
        pytest.param(entry["fixture"], adapter, average, entry, id=f"{entry['fixture']}-{adapter}-{average}")
        for entry in EXPECTED
        for adapter, average in entry["settings"]
    ],
)
def test_fixture(fixture: str, adapter: str, average: str | None, outcome: dict[str, Any]) -> None:
    check([(DATA / fixture).read_text()], {"adapter": adapter, "average": average}, outcome)


@pytest.mark.parametrize("edge", [pytest.param(edge, id=edge["name"]) for edge in EDGES])
def test_edge(edge: dict[str, Any]) -> None:
    options = {key: edge.get(key) for key in ("adapter", "average", "fold")}
    check(edge["texts"], options, edge.get("ours", edge["stock"]))


@pytest.mark.parametrize("adapter", LEAVES)
def test_another_tools_output_is_refused(adapter: str) -> None:
    others = {str(Path(fixture).parent): fixture for fixture, _ in sorted(OWN) if (fixture, adapter) not in OWN}
    assert others
    for fixture in others.values():
        with pytest.raises(AdapterError):
            parse_results([(DATA / fixture).read_text()], adapter=adapter)


@pytest.mark.parametrize("fixture", sorted({fixture for fixture, adapter in OWN if adapter == "magic"}))
def test_windows_line_ends_and_byte_order_marks_change_nothing(fixture: str) -> None:
    text = (DATA / fixture).read_text()
    assert parse_results(["\ufeff" + text.replace("\n", "\r\n")]) == parse_results([text])


# -- names and settings --------------------------------------------------------------------------------------------------
def test_names() -> None:
    assert len(ADAPTERS) == len(set(ADAPTERS)) == 31
    assert {normalize(name) for name in ADAPTERS} == {"magic", *LEAVES}


@pytest.mark.parametrize("group", ["rust", "cpp", "go", "java", "c_sharp", "js", "python", "ruby", "shell", "dart"])
def test_language_groups_are_magic(group: str) -> None:
    assert normalize(group) == "magic"
    assert parse_results(["A(RunTime): 1 us."], adapter=group) == parse_results(["A(RunTime): 1 us."])


def test_alias() -> None:
    assert normalize("rust_iai_callgrind") == "rust_gungraun"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"adapter": "nonsense"}, "unknown adapter: nonsense"),
        ({"adapter": "Magic"}, "unknown adapter: Magic"),
        ({"average": "mode"}, "unknown average: mode"),
        ({"fold": "sum"}, "unknown fold: sum"),
    ],
)
def test_unknown_settings(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        parse_results([], **options)
    assert not isinstance(raised.value, AdapterError)


# -- iterations ----------------------------------------------------------------------------------------------------------
def test_each_text_is_an_iteration_read_by_its_own_tool() -> None:
    texts = ["A(RunTime): 1 us.", '{"b": {"latency": {"value": 1}}}', "test c ... bench: 1 ns/iter (+/- 0)"]
    found = parse_results(texts)
    assert [(iteration, list(parsed.benchmarks), parsed.name_ids) for iteration, parsed in found] == [
        (0, ["A"], False),
        (1, ["b"], True),
        (2, ["c"], False),
    ]


def test_benchmarks_keep_their_order() -> None:
    text = "".join(f"test {name} ... bench: 1 ns/iter (+/- 0)\n" for name in ["zebra", "ant", "mole", "zebra", "bee"])
    assert list(parse_results([text])[0][1].benchmarks) == ["zebra", "ant", "mole", "bee"]


def test_no_texts() -> None:
    assert parse_results([]) == []
    assert parse_results([], fold="mean") == [(0, Parsed({}, False))]


# -- refusals ------------------------------------------------------------------------------------------------------------
def refusal(*texts: str, **options: str) -> AdapterError:
    with pytest.raises(AdapterError) as raised:
        parse_results(list(texts), **options)
    return raised.value


def test_a_refusal_tells_what_where_and_why() -> None:
    error = refusal("A(RunTime): 1 us.", "no benchmark here", adapter="dart_benchmark_harness", average="mean", fold="min")
    assert str(error) == (
        "Cannot read result 2 of 2 (adapter dart_benchmark_harness, average mean, fold min): no benchmark found in it. "
        "The text begins: no benchmark here"
    )
    assert error.verdict == "nothing_parsed"


@pytest.mark.parametrize(
    ("text", "adapter", "verdict", "reason"),
    [
        ("", "magic", "nothing_parsed", "The text is blank."),
        (" \n\t\n", "json", "nothing_parsed", "not a JSON document"),
        ("nope", "json", "nothing_parsed", "not a JSON document"),
        ('{"b": {"latency": {"value": 1', "json", "truncated", "looks truncated"),
        ('{"b": {"latency": {"value": 1', "magic", "truncated", "looks truncated"),
        ('{"b": {"latency": {"value": 1}}} tail', "json", "invalid", "Extra data in line 1, column 34"),
        ('{"b": {"latency": {"value": "1"}}}', "magic", "invalid", 'benchmark "b", measure "latency": value must be a finite number'),
        ('{"b": 1}', "json", "nothing_parsed", 'benchmark "b" is not an object of measures'),
        ("[" * 100_000, "magic", "invalid", "nested too deeply"),
        ('{"results": []}', "shell_hyperfine", "nothing_parsed", "no benchmark found"),
        ('{"results": [{}]}', "shell_hyperfine", "nothing_parsed", "Object missing required field `command`"),
        ("test a ... bench: 1 ns/iter (+/- 1)", "rust_bench", "nothing_parsed", "rust_bench gives no mean"),
        ("test " + "a" * 1025 + " ... bench: 1 ns/iter (+/- 1)", "magic", "invalid", "has 1025 bytes, allowed are 1 to 1024"),
        ("test a\0 ... bench: 1 ns/iter (+/- 1)", "magic", "invalid", "has a NUL character"),
        ("test a\ud800 ... bench: 1 ns/iter (+/- 1)", "magic", "invalid", "has a lone surrogate"),
        ("test a ... bench: 1" + "0" * 400 + " ns/iter (+/- 1)", "magic", "invalid", "the value of latency is not a finite number"),
    ],
)
def test_verdicts(text: str, adapter: str, verdict: str, reason: str) -> None:
    error = refusal(text, adapter=adapter, **({"average": "mean"} if "gives no" in reason else {}))
    assert error.verdict == verdict
    assert reason in str(error)


def test_excerpts_are_short_and_printable() -> None:
    said = excerpt("\x1b[31m\ud800\0\u202e " * 200)
    assert said.isprintable()
    assert len(said) <= EXCERPT + len("The text begins: ")


def test_the_excerpt_of_a_cut_text_is_its_end() -> None:
    assert str(refusal(json.dumps({"b" * 500: {"latency": {"value": 1}}})[:-3])).endswith('{"latency": {"value": 1')


@pytest.mark.parametrize(
    "fixture", ["cpp/google/two.txt", "java/jmh/latency.json", "js/vitest/two.json", "shell/hyperfine/one.json", "json/report_latency.json"]
)
def test_a_document_cut_anywhere_is_seen_to_be_cut(fixture: str) -> None:
    text = (DATA / fixture).read_text().rstrip()
    adapter = next(adapter for own, adapter in sorted(OWN) if own == fixture and adapter != "magic")
    start = next(place for place, char in enumerate(text) if char in '"{' and place)
    for end in range(start + 1, len(text), max(1, len(text) // 2500)):
        assert refusal(text[:end], adapter=adapter).verdict == "truncated", text[:end][-60:]


# -- anything ------------------------------------------------------------------------------------------------------------
def read_or_refuse(text: str, adapter: str, average: str | None, fold: str | None) -> None:
    try:
        parsed = parse_results([text, text], adapter=adapter, average=average, fold=fold)
    except AdapterError as error:
        parsed, said = [], str(error)
    else:
        said = "read"
    assert said.isprintable()
    for _, found in parsed:
        for name, measures in found.benchmarks.items():
            assert 1 <= len(name.encode()) <= 1024
            for metric in measures.values():
                assert all(number is None or (isinstance(number, float) and math.isfinite(number)) for number in metric)


ANY_SETTINGS = {
    "adapter": st.sampled_from(ADAPTERS),
    "average": st.sampled_from([None, "mean", "median"]),
    "fold": st.sampled_from([None, "min", "max", "mean", "median"]),
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["value", "lower_value", "benchmarks", "context", "caches", "name", "real_time", "time_unit", "results", "files", "groups"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(text=st.text(st.characters()), **ANY_SETTINGS)
def test_any_text_is_read_or_refused(text: str, **options: Any) -> None:
    read_or_refuse(text, **options)


@given(value=JSON, **ANY_SETTINGS)
def test_any_document_is_read_or_refused(value: Any, **options: Any) -> None:
    read_or_refuse(json.dumps(value), **options)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], max_examples=300)
@given(data=st.data(), **ANY_SETTINGS)
def test_damaged_output_is_read_or_refused(data: st.DataObject, **options: Any) -> None:
    text = data.draw(st.sampled_from(TEXTS))[:5000]
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        patch = data.draw(
            st.text(st.characters(), max_size=3) | st.sampled_from(["NaN", "1e999", "null", "-", '"', "\r", "\x1b[", "9" * 500, "\n"])
        )
        text = text[:start] + patch + text[end:]
    read_or_refuse(text, **options)
