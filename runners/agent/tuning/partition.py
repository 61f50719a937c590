"""The cpuset partition: the scheduler leaves the benchmark's cores alone (control groups version 2, cpuset.cpus.partition)."""

from typing import TYPE_CHECKING

from runners.agent.cpus import Layout, format_list

if TYPE_CHECKING:
    from runners.agent.tuning.guard import Host

FOLDER = "sys/fs/cgroup"


def partition(host: "Host", layout: Layout) -> None:
    """`isolated`, else `root`, else back to `member`. The kernel may take the word and not mean it: what reads back counts."""
    top = host.root / FOLDER
    group = top / "bencher"
    try:
        (top / "cgroup.subtree_control").write_text("+cpuset")
        group.mkdir(exist_ok=True)
        mems = (top / "cpuset.mems.effective").read_text().strip() or "0"
        settings = [("cpuset.cpus", format_list(layout.benchmark)), ("cpuset.mems", mems)]
        for name, value in settings:
            old = (group / name).read_text().strip()
            if old != value and not host.write("cpuset partition", group / name, value, old=old):
                return
        path = group / "cpuset.cpus.partition"
        old = (path.read_text().split() or ["member"])[0]
    except OSError as error:
        host.say(f"cpuset partition: skipped, {error.filename}: {error.strerror}")
        return
    for mode in ("isolated", "root"):
        if host.write("cpuset partition", path, mode, old=old) and path.read_text().strip() == mode:
            host.say(f"cpuset partition: cores {format_list(layout.benchmark)} are {mode}")
            return
    host.write("cpuset partition", path, "member", old=old)
    host.say("cpuset partition: the kernel does not grant it")
