"""Paths inside a foreign root."""

import os
from pathlib import Path

import pytest

from runners.agent.rooted import Rooted, TooManyLinks, remove, remove_tree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("secret")
    root = tmp_path / "root"
    (root / "a/b").mkdir(parents=True)
    (root / "a/f").write_text("inside")
    (root / "abs").symlink_to("/a/f")
    (root / "up").symlink_to("../../../../a/f")
    (root / "a/rel").symlink_to("../a/./b/../f")
    (root / "out").symlink_to(str(tmp_path / "secret"))
    (root / "dir").symlink_to("a")
    (root / "loop").symlink_to("loop")
    return root


@pytest.mark.parametrize("path", ["a/f", "/a/f", "abs", "up", "a/rel", "dir/f", "../../a/f", "a/b/../f", "/dir/b/../rel", "//a//./f"])
def test_every_way_to_a_file(root: Path, path: str) -> None:
    with Rooted.at(root) as opened:
        assert opened.read(path, 100) == b"inside"
        assert opened.stat(path).st_size == 6


@pytest.mark.parametrize("path", ["out", "absent", "a/absent", "a/f/x", "a", ""])
def test_no_way(root: Path, path: str) -> None:
    with Rooted.at(root) as opened, pytest.raises(OSError):
        opened.read(path, 100)


def test_links_are_counted(root: Path) -> None:
    previous = "a/f"
    for number in range(5):
        (root / f"l{number}").symlink_to(previous)
        previous = f"l{number}"
    with Rooted.at(root, max_symlinks=5) as opened:
        assert opened.read("l4", 10) == b"inside"
    with Rooted.at(root, max_symlinks=4) as opened, pytest.raises(TooManyLinks):
        opened.read("l4", 10)
    with Rooted.at(root) as opened, pytest.raises(TooManyLinks):
        opened.directory("loop")


def test_a_fifo_does_not_block(root: Path) -> None:
    os.mkfifo(root / "fifo")
    with Rooted.at(root) as opened, pytest.raises(OSError, match="not a regular file"):
        opened.read("fifo", 1)


def test_folders_are_made_through_links(root: Path) -> None:
    with Rooted.at(root) as opened:
        os.close(opened.directory("/dir/new/x", create=True))
    assert (root / "a/new/x").is_dir()


def test_no_descriptor_is_left_open(root: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with Rooted.at(root) as opened:
        for path in ("a/f", "abs", "loop", "absent", "a/f/x", "dir/rel"):
            try:
                opened.read(path, 1)
            except OSError:
                continue
    assert len(os.listdir("/proc/self/fd")) == before


def test_removing_does_not_follow_links(root: Path, tmp_path: Path) -> None:
    (root / "a/out").symlink_to(tmp_path)
    directory = os.open(root, os.O_RDONLY)
    try:
        for name in ("a", "out", "absent"):
            remove(name, directory)
    finally:
        os.close(directory)
    assert (tmp_path / "secret").read_text() == "secret"
    assert not (root / "a").exists()


def test_a_tree_of_any_depth_and_mode_is_removed(tmp_path: Path) -> None:
    deep = tmp_path / "deep"
    deep.mkdir()
    descriptor = os.open(deep, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.fchmod(descriptor, 0)
    os.close(descriptor)
    remove_tree(deep)
    assert not deep.exists()
    remove_tree(deep)
