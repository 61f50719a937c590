"""The default sandbox: namespaces by bubblewrap, as root and as an ordinary user, without a network unless the job has one."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache

from runners.agent.sandbox.namespaces import TOOLS
from runners.agent.sandbox.plan import Launch, Plan

# What root keeps inside: enough to own files and switch users, as in a container. All of it counts in the sandbox's user namespace only.
_CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT")


@cache
def _kernel_files() -> tuple[str, ...]:
    """What the kernel lets a machine's root change in /proc beside processes: shown read-only, in case the sandbox's root is that one."""
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal() or entry.is_symlink():
            continue
        if entry.is_dir() or entry.stat().st_mode & 0o222:
            found.append(entry.path)
    return tuple(sorted(found))


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    program: str
    name: str = "bubblewrap"
    needs_host_path: bool = False

    @classmethod
    def find(cls) -> "Bubblewrap | None":
        program = shutil.which("bwrap")
        return cls(os.path.realpath(program)) if program else None

    def problem(self, before: tuple[str, ...] = ()) -> str | None:
        """Why it does not work here, or None: namespaces may be forbidden though the program is there. `before` is what it is started by."""
        try:
            probe = subprocess.run(
                [*before, self.program, "--unshare-all", "--unshare-user", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "true"],
                env=TOOLS, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        return None if probe.returncode == 0 else probe.stderr.decode(errors="replace").strip() or f"exit code {probe.returncode}"

    def launch(self, plan: Plan) -> Launch:
        options = [
            "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try",
            "--die-with-parent", "--new-session", "--hostname", "bench",
            "--uid", str(plan.identity.uid), "--gid", str(plan.identity.gid),
            "--bind", str(plan.root), "/", "--proc", "/proc", "--dev", "/dev", "--chdir", plan.workdir,
            "--cap-drop", "ALL", "--clearenv",
        ]  # fmt: skip
        for path in _kernel_files():
            options += ["--ro-bind-try", path, path]
        if not plan.network:
            options.append("--unshare-net")
        if plan.identity.uid == 0:
            for capability in _CAPABILITIES:
                options += ["--cap-add", f"CAP_{capability}"]
        for key, value in plan.env.items():
            options += ["--setenv", key, value]
        secret = "".join(f"{option}\0" for option in options).encode("utf-8", "surrogateescape")
        return Launch(
            (self.program, "--args", "{args}", "--json-status-fd", "{status}", "--"), plan.argv, TOOLS, args=secret, unprivileged=True
        )

    def forget(self, run: str) -> None:
        """Nothing is left when its processes are dead."""
