"""Interrupts and unbound kernel work go to the housekeeping cores."""

from typing import TYPE_CHECKING

from runners.agent.cpus import Layout, format_list, format_mask, parse_list

if TYPE_CHECKING:
    from runners.agent.tuning.guard import Host


def steer(host: "Host", layout: Layout) -> None:
    """Masks for the defaults, lists for each interrupt. Some interrupts cannot be moved: one line says how many."""
    mask, cores = format_mask(layout.housekeeping), format_list(layout.housekeeping)
    for path in (host.root / "proc/irq/default_smp_affinity", host.root / "sys/devices/virtual/workqueue/cpumask"):
        try:
            old = path.read_text().strip()
        except OSError:
            continue
        if not _same_mask(old, mask):
            host.write("steering", path, mask, old=old)
    moved = fixed = 0
    for path in sorted(host.root.glob("proc/irq/[0-9]*/smp_affinity_list")):
        try:
            old = path.read_text().strip()
            if set(parse_list(old)) <= set(layout.housekeeping):
                continue
        except (OSError, ValueError):
            continue
        # most interrupts of a virtual machine refuse: no line for each of them
        done = host.write("steering", path, cores, old=old, quiet=True)
        moved, fixed = moved + done, fixed + (not done)
    if moved or fixed:
        host.say(f"steering: {moved} interrupts moved to cores {cores}, {fixed} cannot be moved")


def _same_mask(one: str, other: str) -> bool:
    def value(text: str) -> int:
        return int(text.replace(",", ""), 16)

    try:
        return value(one) == value(other)
    except ValueError:
        return False
