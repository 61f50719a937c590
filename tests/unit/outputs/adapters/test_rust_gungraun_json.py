"""Gungraun's summaries, beyond the data of test_parse."""

from __future__ import annotations

import json

import pytest

from outputs.adapters import rust_gungraun_json
from outputs.adapters.results import Metric, Refused
from outputs.adapters.source import Source


def summary(name: str = "lib::bench", kind: str = "Callgrind", tool: str = "Callgrind", **changes: object) -> dict:
    metrics = {"Ir": {"diffs": None, "metrics": {"Left": {"Int": 7}}}, "Unheard": "of"}
    profile = {"tool": tool, "summaries": {"total": {"summary": {kind: metrics}}}}
    return {"baselines": [None, None], "version": "6", "module_path": name, "profiles": [profile], **changes}


def parse(text: str) -> dict:
    return rust_gungraun_json.parse(Source(text), None)


RESULT = {"lib::bench": {"instructions": Metric(7.0)}}


@pytest.mark.parametrize("indent", [None, 2, 4])
def test_in_the_middle_of_a_log(indent: int | None) -> None:
    text = json.dumps(summary(), indent=indent)
    assert parse(f"log {{\n{{not json}}\n{text}\n}}\n{{}}\nmore") == RESULT
    shifted = "\n".join("   " + line + " \t" for line in text.splitlines())
    assert parse(shifted) == RESULT


def test_both_sides() -> None:
    metrics = {
        "Ir": {"metrics": {"Both": [{"Int": 1}, {"Int": 2}]}},
        "Dr": {"metrics": {"Right": {"Int": 3}}},
        "Dw": {"metrics": {"Left": {}}},
    }
    profiles = [{"tool": "Callgrind", "summaries": {"total": {"summary": {"Callgrind": metrics}}}}]
    assert parse(json.dumps(summary(profiles=profiles))) == {"lib::bench": {"instructions": Metric(1.0)}}


@pytest.mark.parametrize(
    "other", [summary(version="5"), summary(version=6), {"version": "6", "message": '"module_path"'}, summary(kind="Massif", tool="Massif")]
)
def test_other_documents(other: dict) -> None:
    assert not any(parse(json.dumps(other)).values())


def test_names_with_ids() -> None:
    assert list(parse(json.dumps(summary(id="some id")))) == ["lib::bench::some id"]


def test_an_older_block_without_an_end_is_left_out() -> None:
    dead = json.dumps(summary("dead"), indent=2)
    for alive in (json.dumps(summary()), json.dumps(summary(), indent=2)):
        for length in (4, 12, len(dead.splitlines()) - 1):
            cut = "\n".join(dead.splitlines()[:length])
            assert parse(f"{cut}\n{alive}\n") == RESULT, (length, alive)


@pytest.mark.parametrize("indent", [None, 2])
def test_a_text_that_ends_inside_a_summary_is_truncated(indent: int | None) -> None:
    whole = json.dumps(summary(), indent=indent)
    for start in ("", json.dumps(summary("first"), indent=indent) + "\n"):
        for end in range(len('{"baselines": []') + 10, len(whole)):
            with pytest.raises(Refused) as raised:
                parse(start + whole[:end])
            assert raised.value.verdict == "truncated", whole[:end]


def test_a_summary_of_another_shape_is_refused() -> None:
    with pytest.raises(Refused, match="another shape"):
        parse(json.dumps(summary(profiles=[{"tool": 1}])))


def test_nesting_and_surrogates_do_no_harm() -> None:
    deep = '{"module_path": "version", "version": ' + "[" * 5000 + "]" * 5000 + "}"
    assert parse(f'{deep}\n{{"module_path": "\ud800", "version": "6"}}\n{json.dumps(summary())}') == RESULT
