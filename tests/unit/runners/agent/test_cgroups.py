"""Control groups: what is found on a machine, and what is written, on a file system that only looks like one."""

from pathlib import Path

import pytest

from runners.agent.cgroups import Cgroups, Group, GroupLimits, Hierarchy, Usage, find, make_way

V2_ONLY = "30 24 0:26 / {top} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
HYBRID = (
    "31 24 0:27 / {top}/memory rw - cgroup cgroup rw,memory\n"
    "32 24 0:28 / {top}/cpuset rw - cgroup cgroup rw,cpuset\n"
    "33 24 0:29 / {top}/cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "34 24 0:30 / {top}/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
    "35 24 0:31 / {top}/unified rw - cgroup2 cgroup2 rw\n"
    "36 24 0:32 / /proc rw - proc proc rw\n"
)
LIMITS = GroupLimits(cpus=(1, 2), memory=1 << 20, pids=10)


class TestFind:
    def test_version_2_as_root(self, tmp_path: Path) -> None:
        (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
        (found,) = find(V2_ONLY.format(top=tmp_path), "0::/system.slice/runner.service\n", root=True)
        assert found == Hierarchy(2, tmp_path / "bencher", frozenset({"cpuset", "cpu", "io", "memory", "pids"}))

    def test_version_2_as_an_ordinary_user_is_the_own_group(self, tmp_path: Path) -> None:
        (found,) = find(V2_ONLY.format(top=tmp_path), "0::/user.slice/runner.service\n", root=False)
        assert found.base == tmp_path / "user.slice/runner.service/bencher"

    def test_hybrid(self, tmp_path: Path) -> None:
        own = "9:memory:/box/1\n8:cpuset:/\n7:cpu,cpuacct:/\n6:name=systemd:/\n0::/\n"
        found = find(HYBRID.format(top=tmp_path), own, root=True)
        assert [(one.version, str(one.base.relative_to(tmp_path)), sorted(one.controllers)) for one in found] == [
            (1, "memory/box/1/bencher", ["memory"]),
            (1, "cpuset/bencher", ["cpuset"]),
            (1, "cpuacct/bencher", ["cpuacct"]),
            (2, "unified/bencher", []),
        ]

    def test_a_mount_of_a_part_of_the_hierarchy(self, tmp_path: Path) -> None:
        (found,) = find(f"31 24 0:27 /box {tmp_path}/memory rw - cgroup cgroup rw,memory\n", "9:memory:/box/1\n", root=True)
        assert found.base == tmp_path / "memory/1/bencher"


class TestVersion2:
    @pytest.fixture
    def hierarchy(self, tmp_path: Path) -> Hierarchy:
        base = tmp_path / "bencher"
        base.mkdir()
        for folder in (tmp_path, base):
            (folder / "cpuset.mems.effective").write_text("0\n")
        (base / "cgroup.subtree_control").write_text("cpuset memory pids\n")
        return Hierarchy(2, base, frozenset())

    def test_limits_are_written(self, hierarchy: Hierarchy, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("runners.agent.cgroups._prepare", lambda _: {"cpuset", "memory", "pids"})
        group = Cgroups([hierarchy], "me").create("run", LIMITS)
        (folder,) = group.folders
        assert folder == hierarchy.base / "me-run"
        assert group.missing == []
        written = {path.name: path.read_text() for path in folder.iterdir()}
        assert written == {"cpuset.cpus": "1-2", "cpuset.mems": "0", "memory.max": str(1 << 20), "memory.swap.max": "0", "pids.max": "10"}

    def test_what_is_missing_is_named(self, hierarchy: Hierarchy, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("runners.agent.cgroups._prepare", lambda _: {"pids"})
        group = Cgroups([hierarchy], "me").create("run", LIMITS)
        assert group.missing == ["cpuset limit cannot be set", "memory limit cannot be set"]

    def test_controllers_are_handed_down(self, hierarchy: Hierarchy, tmp_path: Path) -> None:
        (tmp_path / "cgroup.subtree_control").write_text("")
        Cgroups([hierarchy], "me").create("run", GroupLimits())
        assert (tmp_path / "cgroup.subtree_control").read_text().startswith("+")

    def test_usage_and_out_of_memory(self, tmp_path: Path) -> None:
        (tmp_path / "cpu.stat").write_text("usage_usec 30\nuser_usec 10\nsystem_usec 20\n")
        (tmp_path / "memory.peak").write_text("4096\n")
        (tmp_path / "memory.events").write_text("low 0\noom 1\noom_kill 1\n")
        group = Group([tmp_path])
        assert group.usage() == Usage(10, 20, 4096)
        assert group.out_of_memory(None)


def test_a_delegated_group_is_emptied_for_its_controllers(tmp_path: Path) -> None:
    (tmp_path / "cgroup.procs").write_text("4711\n")
    make_way(Hierarchy(2, tmp_path / "bencher", frozenset({"memory"})))
    assert (tmp_path / "runner/cgroup.procs").read_text() == "4711"


@pytest.mark.parametrize(("version", "controllers"), [(1, {"memory"}), (2, set())])
def test_other_groups_stay_as_they_are(tmp_path: Path, version: int, controllers: set[str]) -> None:
    (tmp_path / "cgroup.procs").write_text("4711\n")
    make_way(Hierarchy(version, tmp_path / "bencher", frozenset(controllers)))
    assert not (tmp_path / "runner").exists()


class TestVersion1:
    def test_a_cpuset_gets_memory_nodes_before_it_takes_a_process(self, tmp_path: Path) -> None:
        for name, text in (("cpuset.cpus", "0-3\n"), ("cpuset.mems", "0\n")):
            (tmp_path / name).write_text(text)
        base = tmp_path / "bencher"
        base.mkdir()
        for name in ("cpuset.cpus", "cpuset.mems"):
            (base / name).write_text("\n")
        group = Cgroups([Hierarchy(1, base, frozenset({"cpuset"}))], "me").create("run", GroupLimits(cpus=(1,)))
        assert (base / "cpuset.mems").read_text() == "0\n"
        assert (group.folders[0] / "cpuset.cpus").read_text() == "1"
        assert (group.folders[0] / "cpuset.mems").read_text() == "0\n"

    def test_usage_in_ticks(self, tmp_path: Path) -> None:
        (tmp_path / "cpuacct.stat").write_text("user 3\nsystem 2\n")
        (tmp_path / "memory.max_usage_in_bytes").write_text("77\n")
        assert not Group([tmp_path]).out_of_memory(1 << 20)
        assert Group([tmp_path]).usage() == Usage(30_000, 20_000, 77)
        (tmp_path / "memory.max_usage_in_bytes").write_text(f"{1 << 20}\n")
        assert Group([tmp_path]).out_of_memory((1 << 20) + 5)


def test_nothing_usable_is_no_error() -> None:
    group = Cgroups([Hierarchy(2, Path("/proc/no/such/bencher"), frozenset())], "me").create("run", LIMITS)
    assert group.folders == []
    assert len(group.missing) == 3
    group.kill()
    group.remove()
    assert group.usage() == Usage()


def test_another_runners_groups_are_left_alone(tmp_path: Path) -> None:
    for name in ("me-1", "me-2", "you-1"):
        (tmp_path / name).mkdir()
    swept = Cgroups([Hierarchy(2, tmp_path, frozenset())], "me").sweep()
    assert [Path(name).name for name in swept] == ["me-1", "me-2"]
    assert [(tmp_path / name / "cgroup.kill").exists() for name in ("me-1", "me-2", "you-1")] == [True, True, False]
