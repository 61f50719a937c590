"""Files and measures of an iteration."""

import json
import os
from pathlib import Path

import pytest

from runners.agent import measures
from runners.agent.collect import File, collect
from runners.agent.rooted import Rooted


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").write_text("secret")
    root = tmp_path / "root"
    (root / "bench").mkdir(parents=True)
    (root / "bench/out.json").write_text("{}")
    (root / "abs.txt").write_bytes(b"a\xffb\0c")
    (root / "bench/link").symlink_to("/abs.txt")
    (root / "bench/escape").symlink_to(str(tmp_path / "outside"))
    os.mkfifo(root / "bench/fifo")
    (root / "bench/big").write_bytes(b"x" * 1000)
    return root


def run(root: Path, *paths: str, count: int = 255, size: int = 10_000) -> tuple[list[File], list[str]]:
    warnings: list[str] = []
    with Rooted.at(root) as opened:
        return collect(opened, "/bench", paths, max_count=count, max_bytes=size, warn=warnings.append), warnings


def test_relative_to_the_working_directory_or_absolute(root: Path) -> None:
    found, warnings = run(root, "out.json", "/abs.txt", "link", "/bench/../abs.txt")
    assert [(file.path, file.text) for file in found] == [
        ("out.json", "{}"), ("/abs.txt", "a\N{REPLACEMENT CHARACTER}b\0c"), ("link", "a\N{REPLACEMENT CHARACTER}b\0c"),
        ("/bench/../abs.txt", "a\N{REPLACEMENT CHARACTER}b\0c"),
    ]  # fmt: skip
    assert warnings == []


@pytest.mark.parametrize("path", ["absent", "escape", "fifo", "/", ".", "", "a\0b", "x" * 5000, "out.json/x"])
def test_what_is_not_there_is_said_and_skipped(root: Path, path: str) -> None:
    found, warnings = run(root, path, "out.json")
    assert [file.path for file in found] == ["out.json"]
    assert len(warnings) == 1


def test_limits_are_visible(root: Path) -> None:
    (found, big), _ = run(root, "out.json", "big", size=102)
    assert found.text == "{}"
    assert big == File("big", "x" * 100 + "…[truncated 900 bytes]…", 1000, 900)
    found_two, warnings = run(root, "out.json", "big", count=1)
    assert len(found_two) == 1
    assert "--max-file-count" in warnings[0]


class TestMeasures:
    def test_the_shape(self) -> None:
        output = measures.output("sort 1", 1.2345, [File("dir/artifact", "", 5)])
        assert output is not None
        assert list(output) == ["\0bencher"]
        assert json.loads(output["\0bencher"]) == {
            "sort 1": {"build-time": {"value": 1.23, "lower_value": None, "upper_value": None}},
            "artifact": {"file-size": {"value": 5.0, "lower_value": None, "upper_value": None}},
        }

    def test_one_name_for_both(self) -> None:
        output = measures.output("artifact", 1, [File("artifact", "", 5)])
        assert output is not None
        assert set(json.loads(output["\0bencher"])["artifact"]) == {"build-time", "file-size"}

    def test_nothing_measured_is_no_output(self) -> None:
        assert measures.output("x" * 1025, 1, None) is None
        assert measures.output("x", None, []) is None
