"""The knobs of the host that disturb a measurement, as a table: which file, which value, in which order (runner.md A.3)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Tuning:
    """What is to be tuned. A True field is a knob that will be turned."""

    aslr: bool = True
    nmi_watchdog: bool = True
    smt: bool = True
    turbo: bool = True
    numa_balancing: bool = True
    timer_migration: bool = True
    soft_watchdog: bool = True
    ksm: bool = True
    cstates: bool = True
    irq_steering: bool = True
    cpuset_partition: bool = True
    swappiness: int | None = 10
    governor: str | None = "performance"
    perf_event_paranoid: int | None = -1
    thp: str | None = "never"

    @classmethod
    def off(cls) -> "Tuning":
        """Every knob left alone."""
        return cls(**dict.fromkeys(_KEEP, False), irq_steering=False, cpuset_partition=False, swappiness=None, governor=None,
                   perf_event_paranoid=None, thp=None)  # fmt: skip

    @classmethod
    def flags(cls) -> tuple[str, ...]:
        """Names of the command line's flags, as `of_flags` takes them."""
        return ("no_tuning", *_KEEP, "no_irq_steering", "no_cpuset_partition", "swappiness", "governor", "perf_event_paranoid", "thp")

    @classmethod
    def of_flags(cls, **flags: Any) -> "Tuning":
        """Hardware features have a flag that keeps them; the runner's own actions one that forbids them."""
        if flags["no_tuning"]:
            return cls.off()
        return cls(
            **{name: not flags[name] for name in _KEEP},
            irq_steering=not flags["no_irq_steering"],
            cpuset_partition=not flags["no_cpuset_partition"],
            swappiness=flags["swappiness"],
            governor=flags["governor"],
            perf_event_paranoid=flags["perf_event_paranoid"],
            thp=None if flags["thp"].lower() == "leave" else flags["thp"].lower(),
        )

    @property
    def anything(self) -> bool:
        return self != Tuning.off()


_KEEP = ("aslr", "nmi_watchdog", "smt", "turbo", "numa_balancing", "timer_migration", "soft_watchdog", "ksm", "cstates")


@dataclass(frozen=True, slots=True)
class Knob:
    """One file to be written. `current` picks the value out of what the file says; `skip` are values that mean: not on this machine."""

    name: str
    path: Path
    value: str
    current: Callable[[str], str] = str.strip
    skip: frozenset[str] = frozenset()


def bracketed(text: str) -> str:
    """`always [madvise] never` -> `madvise`."""
    return text.partition("[")[2].partition("]")[0] or text.strip()


def knobs(tuning: Tuning, root: Path = Path("/")) -> Iterator[Knob]:
    """The knobs to be turned, in order. `root` stands for `/`."""
    kernel, system, cpu = root / "proc/sys/kernel", root / "sys", root / "sys/devices/system/cpu"
    if tuning.aslr:
        yield Knob("ASLR", kernel / "randomize_va_space", "0")
    if tuning.nmi_watchdog:
        yield Knob("NMI watchdog", kernel / "nmi_watchdog", "0")
    if tuning.swappiness is not None:
        yield Knob("swappiness", root / "proc/sys/vm/swappiness", str(tuning.swappiness))
    if tuning.perf_event_paranoid is not None:
        yield Knob("perf events", kernel / "perf_event_paranoid", str(tuning.perf_event_paranoid))
    if tuning.governor is not None:
        for path in sorted(cpu.glob("cpu[0-9]*/cpufreq/scaling_governor")):
            yield Knob(f"governor of {path.parts[-3]}", path, tuning.governor)
    if tuning.smt:
        yield Knob("SMT", cpu / "smt/control", "off", skip=frozenset({"off", "forceoff", "notsupported", "notimplemented"}))
    if tuning.turbo:
        intel = cpu / "intel_pstate/no_turbo"
        yield Knob("turbo", intel, "1") if intel.exists() else Knob("turbo", cpu / "cpufreq/boost", "0")
    if tuning.numa_balancing:
        yield Knob("NUMA balancing", kernel / "numa_balancing", "0")
    if tuning.timer_migration:
        yield Knob("timer migration", kernel / "timer_migration", "0")
    if tuning.soft_watchdog:
        yield Knob("soft watchdog", kernel / "soft_watchdog", "0")
    if tuning.ksm:
        yield Knob("same-page merging", system / "kernel/mm/ksm/run", "0")
    if tuning.thp is not None:
        for name in ("enabled", "defrag"):
            path = system / "kernel/mm/transparent_hugepage" / name
            yield Knob(f"huge pages ({name})", path, tuning.thp, current=bracketed)
