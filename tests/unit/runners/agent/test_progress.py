"""What the operator reads."""

import io
import json

import pytest

from runners.agent import progress as module
from runners.agent.errors import Timeout
from runners.agent.iteration import Iteration
from runners.agent.progress import Json, Lines, printable


def test_lines() -> None:
    stream = io.StringIO()
    lines = Lines(stream)
    lines.info("hello [bold]x[/bold]")
    lines.iterated(1, 2, Iteration(3, milliseconds={"run": 1500}))
    lines.event("secret", key="k")
    text = stream.getvalue()
    assert "hello [bold]x[/bold]" in text
    assert "iteration 1/2: exit code 3 after 1.50 s" in text
    assert "secret" not in text


def test_a_warning_is_not_said_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    lines = Lines(stream)
    for now in (0.0, 1.0, module.REPEAT_SECONDS):
        monkeypatch.setattr(module.time, "monotonic", lambda moment=now: moment)
        lines.warn("no groups")
    assert stream.getvalue().count("no groups") == 2


def test_json_is_one_object_per_line() -> None:
    stream = io.StringIO()
    told = Json(stream)
    told.info("a\nb")
    told.iterated(1, 1, Iteration(124, error=Timeout("late"), dropped={"stdout": 5}))
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (first["event"], first["text"]) == ("info", "a\nb")
    assert (second["error"], second["dropped"]) == ("Timeout: late", {"stdout": 5})


def test_a_reader_that_left_does_not_stop_the_runner() -> None:
    class Gone(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    Json(Gone()).info("x")
    Lines(Gone()).info("x")


@pytest.mark.parametrize(("text", "shown"), [("a\x1b[2Jb", "a\N{REPLACEMENT CHARACTER}[2Jb"), ("line\nline", "line\nline"), ("é日", "é日")])
def test_hostile_text_cannot_move_the_cursor(text: str, shown: str) -> None:
    assert printable(text) == shown
