"""No sandbox: the image's program as a process of this machine (`--danger-allow-no-sandbox`), as the stock runner does it."""

from dataclasses import dataclass

from runners.agent.sandbox.plan import Launch, Plan


@dataclass(frozen=True, slots=True)
class Host:
    name: str = "host"
    needs_host_path: bool = True

    def launch(self, plan: Plan) -> Launch:
        """`plan.argv[0]` is the program's absolute path on this machine, `plan.workdir` a folder of this machine."""
        return Launch((), plan.argv, plan.env, workdir=plan.workdir)

    def forget(self, run: str) -> None:
        """Nothing is left when its processes are dead."""
