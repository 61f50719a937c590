"""The stricter sandbox: an OCI runtime, with a system call filter, few capabilities and masked kernel files."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from runners.agent.sandbox.namespaces import TOOLS
from runners.agent.sandbox.plan import Launch, Plan
from runners.agent.sandbox.seccomp import FILTER

_CAPABILITIES = [
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_NET_BIND_SERVICE",
    "CAP_SETGID",
    "CAP_SETUID",
]
_MASKED = [
    "/proc/acpi",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
]
_READ_ONLY = ["/proc/asound", "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
_DEVICE_OPTIONS = ["nosuid", "noexec"]


@dataclass(frozen=True, slots=True)
class Runc:
    """Its containers live in `state`, so that what a killed runner left can be told from anybody else's."""

    program: str
    state: Path
    name: str = "runc"
    needs_host_path: bool = False

    @classmethod
    def find(cls, state: Path) -> "Runc | None":
        program = shutil.which("runc", path=os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin")
        return cls(program, state) if program else None

    def launch(self, plan: Plan) -> Launch:
        (plan.folder / "config.json").write_bytes(msgspec.json.encode(config(plan, rootless=os.geteuid() != 0)))
        pid_file = plan.folder / "init.pid"
        run = ("run", "--bundle", str(plan.folder), "--pid-file", str(pid_file), plan.run)
        tool = (self.program, "--root", str(self.state), *run)
        return Launch(tool, (), TOOLS, pid_file=pid_file)

    def forget(self, run: str) -> None:
        """A container whose runtime was killed has left its groups and its state."""
        if (self.state / run).exists():
            subprocess.run(
                [self.program, "--root", str(self.state), "delete", "--force", run],
                env=TOOLS, stdin=subprocess.DEVNULL, capture_output=True, check=False,
            )  # fmt: skip

    @classmethod
    def sweep_state(cls, state: Path) -> None:
        """Deletes the containers of a killed predecessor."""
        runc = cls.find(state)
        if runc is None or not state.exists():
            return
        for folder in state.iterdir():
            runc.forget(folder.name)


def config(plan: Plan, *, rootless: bool) -> dict[str, Any]:
    """The bundle's `config.json` (OCI runtime spec 1.0.2)."""
    capabilities = _CAPABILITIES if plan.identity.uid == 0 else []
    namespaces = ["pid", "ipc", "uts", "mount", "cgroup", "user", *([] if plan.network else ["network"])]
    linux: dict[str, Any] = {
        "namespaces": [{"type": kind} for kind in namespaces],
        # one user: all files of the image are this user's, inside and outside
        "uidMappings": [{"containerID": plan.identity.uid, "hostID": plan.owner[0], "size": 1}],
        "gidMappings": [{"containerID": plan.identity.gid, "hostID": plan.owner[1], "size": 1}],
        "maskedPaths": _MASKED,
        "readonlyPaths": _READ_ONLY,
        "seccomp": FILTER,
        "resources": {"devices": [{"allow": False, "access": "rwm"}]} if not rootless else {},
    }
    return {
        "ociVersion": "1.0.2",
        "hostname": "bench",
        "root": {"path": str(plan.root), "readonly": False},
        "process": {
            "terminal": False,
            "user": {"uid": plan.identity.uid, "gid": plan.identity.gid},
            "args": list(plan.argv),
            "env": [f"{key}={value}" for key, value in plan.env.items()],
            "cwd": plan.workdir,
            "noNewPrivileges": True,
            "capabilities": dict.fromkeys(("bounding", "effective", "permitted"), capabilities),
        },
        "mounts": _mounts(plan),
        "linux": linux,
    }


def _mounts(plan: Plan) -> list[dict[str, Any]]:
    pts = ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"]
    mounts = [
        {"destination": "/proc", "type": "proc", "source": "proc", "options": ["nosuid", "noexec", "nodev"]},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]},
        {"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": pts},
        {"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": ["nosuid", "noexec", "nodev", "mode=1777"]},  # noqa: S108
        {"destination": "/dev/mqueue", "type": "mqueue", "source": "mqueue", "options": ["nosuid", "noexec", "nodev"]},
    ]
    if not plan.network:  # a network namespace of its own is what /sys can be mounted for
        mounts.append({"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "noexec", "nodev", "ro"]})
    return mounts
