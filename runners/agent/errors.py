"""What can go wrong on a bench machine, each kind with the short name that the report of a failed job begins with."""


class RunnerError(Exception):
    """Base of every expected failure. `str()` is a message for the operator or for the user whose job failed."""

    @property
    def kind(self) -> str:
        return type(self).__name__

    def describe(self) -> str:
        """`<kind>: <message>`, first line only, at most 1 KiB (typed-results D6)."""
        first_line = str(self).splitlines()[0] if str(self) else ""
        return f"{self.kind}: {first_line}"[:1024]


class InvalidJob(RunnerError):
    """The job asks for something that cannot be run here."""


class ImageError(RunnerError):
    """The image cannot be had, or is not what it claims to be."""


class RegistryError(ImageError):
    """The registry refused, or did not answer."""


class BadLayer(ImageError):
    """A layer that would write outside the root, is malformed, or exceeds a limit."""


class SandboxError(RunnerError):
    """The sandbox could not be set up."""


class Timeout(RunnerError):
    """The benchmark ran longer than its `timeout`."""


class JobDeadline(RunnerError):
    """All iterations together took longer than the server allows."""


class DiskLimit(RunnerError):
    """The benchmark wrote more than its `disk`, or the machine's disk is nearly full."""


class Canceled(RunnerError):
    """The server said `cancel`."""


class RunnerShutdown(RunnerError):
    """The runner was asked to stop."""


class RunnerCrash(RunnerError):
    """The runner died while the job ran; told by the next start."""
