"""Host tuning on a file system that looks like a machine: what is turned, what is put back, also after a crash."""

from pathlib import Path

import pytest

from runners.agent.tuning import guard
from runners.agent.tuning.guard import tuned
from runners.agent.tuning.journal import Change, Journal
from runners.agent.tuning.knobs import Tuning, bracketed, knobs
from runners.agent.tuning.preflight import warnings

FILES = {
    "proc/sys/kernel/randomize_va_space": "2\n",
    "proc/sys/kernel/nmi_watchdog": "1\n",
    "proc/sys/vm/swappiness": "60\n",
    "proc/sys/kernel/perf_event_paranoid": "2\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/smt/control": "on\n",
    "sys/devices/system/cpu/cpufreq/boost": "1\n",
    "sys/devices/system/cpu/online": "0-1\n",
    "proc/sys/kernel/numa_balancing": "1\n",
    "proc/sys/kernel/timer_migration": "1\n",
    "proc/sys/kernel/soft_watchdog": "1\n",
    "sys/kernel/mm/ksm/run": "1\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/kernel/mm/transparent_hugepage/defrag": "always defer [madvise] never\n",
    "dev/cpu_dma_latency": "",
    "sys/fs/cgroup/cgroup.subtree_control": "cpu\n",
    "sys/fs/cgroup/cpuset.mems.effective": "0\n",
    "sys/fs/cgroup/bencher/cpuset.cpus": "\n",
    "sys/fs/cgroup/bencher/cpuset.mems": "\n",
    "sys/fs/cgroup/bencher/cpuset.cpus.partition": "member\n",
    "proc/irq/default_smp_affinity": "3\n",
    "sys/devices/virtual/workqueue/cpumask": "3\n",
    "proc/irq/5/smp_affinity_list": "0-1\n",
    "proc/irq/6/smp_affinity_list": "0\n",
}
TURNED = {
    "proc/sys/kernel/randomize_va_space": "0",
    "proc/sys/kernel/nmi_watchdog": "0",
    "proc/sys/vm/swappiness": "10",
    "proc/sys/kernel/perf_event_paranoid": "-1",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance",
    "sys/devices/system/cpu/smt/control": "off",
    "sys/devices/system/cpu/cpufreq/boost": "0",
    "proc/sys/kernel/numa_balancing": "0",
    "proc/sys/kernel/timer_migration": "0",
    "proc/sys/kernel/soft_watchdog": "0",
    "sys/kernel/mm/ksm/run": "0",
    "sys/kernel/mm/transparent_hugepage/enabled": "never",
    "sys/kernel/mm/transparent_hugepage/defrag": "never",
    "sys/fs/cgroup/bencher/cpuset.cpus": "1",
    "sys/fs/cgroup/bencher/cpuset.mems": "0",
    "sys/fs/cgroup/bencher/cpuset.cpus.partition": "isolated",
    "proc/irq/default_smp_affinity": "1",
    "sys/devices/virtual/workqueue/cpumask": "1",
    "proc/irq/5/smp_affinity_list": "0",
}
RESTORED = {
    **{name: text.strip() for name, text in FILES.items() if name in TURNED},
    "sys/kernel/mm/transparent_hugepage/enabled": "madvise",
    "sys/kernel/mm/transparent_hugepage/defrag": "madvise",
}


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "run").mkdir()
    monkeypatch.setattr(guard.os, "geteuid", lambda: 0)
    monkeypatch.setattr("runners.agent.cpus.os.sched_getaffinity", lambda _: {0, 1})
    return tmp_path


def state(host: Path) -> dict[str, str]:
    return {name: (host / name).read_text().strip() for name in TURNED}


def test_everything_is_turned_and_put_back(host: Path) -> None:
    said: list[str] = []
    with tuned(Tuning(), said.append, host) as layout:
        assert state(host) == TURNED
        assert (layout.housekeeping, layout.benchmark) == ((0,), (1,))
        assert (host / "proc/irq/6/smp_affinity_list").read_text() == "0\n"
        assert (host / "dev/cpu_dma_latency").read_bytes() == b"\0\0\0\0"
    assert state(host) == RESTORED
    assert not (host / guard.JOURNAL).exists()
    assert "swappiness: 60 -> 10" in said


def test_a_crash_is_undone_by_the_next_start(host: Path) -> None:
    runner = tuned(Tuning(), lambda _: None, host)
    runner.__enter__()
    journal = (host / guard.JOURNAL).read_bytes()
    runner.__exit__(None, None, None)
    for name, text in TURNED.items():  # as if the runner had been killed in the middle
        (host / name).write_text(text)
    (host / guard.JOURNAL).write_bytes(journal)
    said: list[str] = []
    with tuned(Tuning.off(), said.append, host):
        assert state(host) == RESTORED
    assert any("a killed runner left 20 settings changed" in text for text in said)


def test_the_journal_is_written_before_the_knob(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Path, text: str) -> int:
        raise KeyboardInterrupt(str(self))

    first = next(iter(knobs(Tuning(), host)))
    monkeypatch.setattr(guard.Path, "write_text", fail)
    with pytest.raises(KeyboardInterrupt):
        guard.Host(host, lambda _: None).turn(first)
    assert Journal(host / guard.JOURNAL).load() == [Change(str(host / "proc/sys/kernel/randomize_va_space"), "2", "0")]


def test_no_tuning_touches_nothing(host: Path) -> None:
    before = {path: path.read_text() for path in host.rglob("*") if path.is_file()}
    with tuned(Tuning.off(), lambda _: None, host):
        assert {path: path.read_text() for path in host.rglob("*") if path.is_file() and path.name != guard.LOCK.name} == before


def test_what_is_missing_is_said_and_skipped(host: Path) -> None:
    (host / "proc/sys/kernel/nmi_watchdog").unlink()
    (host / "sys/kernel/mm/ksm/run").unlink()
    said: list[str] = []
    with tuned(Tuning(), said.append, host):
        pass
    assert sum("skipped" in text for text in said) == 2


def test_a_machine_without_smt_is_left_alone(host: Path) -> None:
    (host / "sys/devices/system/cpu/smt/control").write_text("notsupported\n")
    with tuned(Tuning(), lambda _: None, host):
        assert (host / "sys/devices/system/cpu/smt/control").read_text() == "notsupported\n"


def test_turbo_of_intel(host: Path) -> None:
    path = host / "sys/devices/system/cpu/intel_pstate/no_turbo"
    path.parent.mkdir()
    path.write_text("0\n")
    with tuned(Tuning(), lambda _: None, host):
        assert path.read_text() == "1"
        assert (host / "sys/devices/system/cpu/cpufreq/boost").read_text() == "1\n"
    assert path.read_text() == "0"


def test_one_tuner_at_a_time(host: Path) -> None:
    said: list[str] = []
    with tuned(Tuning(), lambda _: None, host):
        with tuned(Tuning(swappiness=33), said.append, host):
            assert (host / "proc/sys/vm/swappiness").read_text() == "10"
        assert (host / "proc/sys/vm/swappiness").read_text() == "10"
    assert said == ["another runner is tuning this machine: nothing is tuned by this one"]


def test_an_ordinary_user_is_told_once(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard.os, "geteuid", lambda: 1000)
    said: list[str] = []
    with tuned(Tuning(), said.append, host):
        assert state(host)["proc/sys/vm/swappiness"] == "60"
    assert said == ["not root: the machine is not tuned"]


def test_an_unreadable_journal_is_no_obstacle(host: Path) -> None:
    (host / guard.JOURNAL).write_text("{half")
    with tuned(Tuning(), lambda _: None, host):
        assert state(host) == TURNED


FLAGS = dict.fromkeys(Tuning.flags(), False) | {"swappiness": 10, "governor": "performance", "perf_event_paranoid": -1, "thp": "never"}


@pytest.mark.parametrize(
    ("flag", "path"),
    [
        ("aslr", "randomize_va_space"), ("nmi_watchdog", "nmi_watchdog"), ("smt", "smt/control"), ("turbo", "boost"),
        ("numa_balancing", "numa_balancing"), ("timer_migration", "timer_migration"), ("soft_watchdog", "soft_watchdog"), ("ksm", "ksm/run"),
    ],
)  # fmt: skip
def test_a_keep_flag_keeps(host: Path, flag: str, path: str) -> None:
    turned = {str(knob.path) for knob in knobs(Tuning.of_flags(**FLAGS), host)}
    kept = turned - {str(knob.path) for knob in knobs(Tuning.of_flags(**FLAGS | {flag: True}), host)}
    assert len(kept) == 1
    assert next(iter(kept)).endswith(path)


def test_flags() -> None:
    assert Tuning.of_flags(**FLAGS) == Tuning()
    assert Tuning.of_flags(**FLAGS | {"no_tuning": True, "swappiness": 5}) == Tuning.off()
    assert Tuning.of_flags(**FLAGS | {"thp": "LEAVE"}).thp is None
    assert not Tuning.of_flags(**FLAGS | {"no_irq_steering": True}).irq_steering
    assert not Tuning.of_flags(**FLAGS | {"no_cpuset_partition": True}).cpuset_partition
    assert not Tuning.off().anything


@pytest.mark.parametrize(("text", "value"), [("always [madvise] never\n", "madvise"), ("plain\n", "plain")])
def test_bracketed(text: str, value: str) -> None:
    assert bracketed(text) == value


def test_preflight(host: Path) -> None:
    for name, text in {
        "proc/1/comm": "irqbalance\n",
        "proc/cpuinfo": "flags\t\t: fpu hypervisor vme\n",
        "proc/cmdline": "quiet\n",
    }.items():
        path = host / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    found = " ".join(warnings(host))
    assert all(word in found for word in ("irqbalance", "control groups version 2", "virtual machine", "isolcpus"))
    (host / "sys/fs/cgroup/cgroup.controllers").write_text("cpu\n")
    (host / "proc/cpuinfo").write_text("flags\t\t: fpu\n")
    (host / "proc/1/comm").write_text("init\n")
    (host / "proc/cmdline").write_text("isolcpus=1\n")
    assert list(warnings(host)) == []
    vendor = host / "sys/class/dmi/id/sys_vendor"
    vendor.parent.mkdir(parents=True)
    vendor.write_text("QEMU\n")
    assert len(list(warnings(host))) == 1
