"""Cores: whose they are, and how the kernel writes them."""

from pathlib import Path

import pytest

from runners.agent.cpus import detect, divide, format_list, format_mask, parse_list


@pytest.mark.parametrize(("text", "cores"), [("0", [0]), ("0-3", [0, 1, 2, 3]), ("0-1,4,6-7\n", [0, 1, 4, 6, 7]), ("", [])])
def test_lists(text: str, cores: list[int]) -> None:
    assert parse_list(text) == cores
    assert format_list(cores) == text.strip()


@pytest.mark.parametrize("text", ["a", "1-", "-1", "1,,x"])
def test_no_list(text: str) -> None:
    with pytest.raises(ValueError):
        parse_list(text)


@pytest.mark.parametrize(
    ("cores", "mask"),
    [([0], "1"), ([0, 1, 2, 3], "f"), ([31], "80000000"), ([32], "1,00000000"), ([0, 64], "1,00000000,00000001"), ([], "0")],
)
def test_masks(cores: list[int], mask: str) -> None:
    assert format_mask(cores) == mask


@pytest.mark.parametrize(
    ("online", "housekeeping", "benchmark", "isolated"),
    [(1, (0,), (0,), False), (2, (0,), (1,), True), (7, (0,), tuple(range(1, 7)), True), (8, (0, 1), tuple(range(2, 8)), True)],
)
def test_the_layout(online: int, housekeeping: tuple[int, ...], benchmark: tuple[int, ...], isolated: bool) -> None:
    layout = divide(range(online))
    assert (layout.housekeeping, layout.benchmark, layout.isolated) == (housekeeping, benchmark, isolated)


def test_offline_cores_are_not_used(tmp_path: Path) -> None:
    path = tmp_path / "sys/devices/system/cpu/online"
    path.parent.mkdir(parents=True)
    path.write_text("0\n")
    assert detect(tmp_path).benchmark == (0,)
    path.write_text("garbage")
    assert detect(tmp_path).benchmark
