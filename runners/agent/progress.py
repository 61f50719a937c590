"""What the operator sees: lines, a live line on a terminal, or one JSON object per line. Never a key, a token or a job's environment."""

import contextlib
import json
import sys
import time
import traceback
from typing import Any, Protocol, TextIO

from rich.console import Console
from rich.markup import escape

from runners.agent.iteration import Iteration

REPEAT_SECONDS = 600.0
"""The same warning is not said again within this time."""


class Progress(Protocol):
    def note(self, text: str) -> None:
        """A step of a job."""

    def info(self, text: str) -> None:
        """Something of the runner itself."""

    def warn(self, text: str) -> None: ...
    def fault(self, error: BaseException) -> None: ...
    def iteration(self, number: int, total: int) -> None: ...
    def iterated(self, number: int, total: int, iteration: Iteration) -> None: ...
    def event(self, kind: str, **fields: Any) -> None:
        """A fact for machines: told by `--json` only."""

    def close(self) -> None: ...


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """A reader that left must not end the runner, as it would by default."""


class Lines:
    """Timestamped lines on stderr, for journals; on a terminal the current step is one live line."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._console = _Console(file=stream or sys.stderr, highlight=False, soft_wrap=True)
        self._status = self._console.status("") if self._console.is_terminal else None
        self._warned: dict[str, float] = {}

    def note(self, text: str) -> None:
        if self._status:
            self._status.update(escape(printable(text)))
            self._status.start()
        else:
            self._line("", text)

    def info(self, text: str) -> None:
        self._line("", text)

    def warn(self, text: str) -> None:
        now = time.monotonic()
        if now - self._warned.get(text, -REPEAT_SECONDS) >= REPEAT_SECONDS:  # some would come with every iteration
            self._warned[text] = now
            self._line("warning: ", text, "yellow")

    def fault(self, error: BaseException) -> None:
        self._line("error: ", "".join(traceback.format_exception(error)).rstrip(), "red")

    def iteration(self, number: int, total: int) -> None:
        self.note(f"iteration {number}/{total}")

    def iterated(self, number: int, total: int, iteration: Iteration) -> None:
        seconds = iteration.milliseconds.get("run", 0) / 1000
        self._line("", f"iteration {number}/{total}: exit code {iteration.exit_code} after {seconds:.2f} s")

    def event(self, kind: str, **fields: Any) -> None:
        pass

    def close(self) -> None:
        if self._status:
            self._status.stop()

    def _line(self, prefix: str, text: str, style: str = "") -> None:
        stamp = "" if self._console.is_terminal else time.strftime("%H:%M:%S ")
        with contextlib.suppress(OSError):  # nobody reads it any more
            self._console.print(f"{stamp}{prefix}{printable(text)}", style=style or None, markup=False)


class Json:
    """One object per line on stdout: `{"t": seconds, "event": …}`."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout

    def note(self, text: str) -> None:
        self.event("step", text=text)

    def info(self, text: str) -> None:
        self.event("info", text=text)

    def warn(self, text: str) -> None:
        self.event("warning", text=text)

    def fault(self, error: BaseException) -> None:
        self.event("fault", text="".join(traceback.format_exception(error)))

    def iteration(self, number: int, total: int) -> None:
        self.event("iteration", number=number, of=total)

    def iterated(self, number: int, total: int, iteration: Iteration) -> None:
        self.event(
            "iterated", number=number, of=total, exit_code=iteration.exit_code, milliseconds=dict(iteration.milliseconds),
            error=iteration.error.describe() if iteration.error else None, dropped=dict(iteration.dropped),
        )  # fmt: skip

    def event(self, kind: str, **fields: Any) -> None:
        with contextlib.suppress(OSError):
            print(json.dumps({"t": round(time.time(), 3), "event": kind} | fields), file=self._stream, flush=True)

    def close(self) -> None:
        pass


def printable(text: str) -> str:
    """Text without control characters: an error text may quote a hostile image."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}" for letter in text)
