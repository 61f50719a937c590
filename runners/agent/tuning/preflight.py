"""What is known to make measurements noisy on this machine. Text only, nothing is changed."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

_VIRTUAL = ("QEMU", "KVM", "VMware", "Xen", "innotek", "Virtual Machine")


def warnings(root: Path = Path("/")) -> Iterator[str]:
    """One line per finding."""
    if any(_read(path) == "irqbalance" for path in root.glob("proc/[0-9]*/comm")):
        yield "irqbalance is running: it moves interrupts back to the benchmark's cores"
    if not (root / "sys/fs/cgroup/cgroup.controllers").exists():
        yield "control groups version 2 are not mounted at /sys/fs/cgroup: no cpuset partition; limits by version 1 where it is there"
    if _virtual(root):
        yield "this is a virtual machine: its neighbours share the hardware"
    command_line = _read(root / "proc/cmdline")
    if command_line and "isolcpus=" not in command_line and "nohz_full=" not in command_line:
        yield "the kernel was started without isolcpus= or nohz_full="


def _virtual(root: Path) -> bool:
    for line in _read(root / "proc/cpuinfo").splitlines():
        if line.startswith("flags") and "hypervisor" in line.split():
            return True
    names = " ".join(_read(root / "sys/class/dmi/id" / name) for name in ("sys_vendor", "product_name"))
    return any(word in names for word in _VIRTUAL)


def _read(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text(errors="replace").strip()
    return ""
