"""What the admin shows of a job's output and configuration: hostile text, bounded, and nothing that may be a secret. Pure but for marking HTML safe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from bencher.core.logs import redact
from bencher.core.visible import visible
from jobs.output import JobOutput

STREAM, WHOLE, PARTS = 64 << 10, 256 << 10, 100
"""Shown characters of one stream, of all of them, and streams: the rest is in the download."""
HIDDEN = "•••••"


def parts(output: JobOutput) -> Iterator[tuple[str, str]]:
    """(title, text) of everything that was delivered, in the order in which somebody reads it."""
    if output.error:
        yield "error", output.error
    for number, iteration in enumerate(output.results):
        streams = [("stdout", iteration.stdout or ""), ("stderr", iteration.stderr or ""), *sorted((iteration.output or {}).items())]
        for name, text in streams:
            if text or name == "stdout":
                yield f"iteration {number}, exit code {iteration.exit_code}: {name}", text


def shown_output(output: JobOutput, download: str) -> SafeString:
    """As HTML; ``download`` is where all of it is."""
    left, rows, cut = WHOLE, [], False
    for number, (title, text) in enumerate(parts(output)):
        if number == PARTS or left <= 0:
            cut = True
            break
        shown = text[: min(STREAM, left)]
        left -= len(shown)
        note = "" if len(shown) == len(text) else f" (the first {len(shown):,} of {len(text):,} characters)"
        cut = cut or bool(note)
        rows.append((visible(title)[:300] + note, visible(shown) or "(empty)"))
    streams = format_html_join("", "<h4>{}</h4><pre>{}</pre>", rows)
    hint = "Not all of it is shown. Download everything, as delivered (JSON)" if cut else "Download, as delivered (JSON)"
    return format_html('<div class="streams">{}<a href="{}">{}</a></div>', streams, download, hint)


def shown_config(text: str) -> SafeString | str:
    """The stored configuration, values of environment variables hidden."""
    try:
        config = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return f"unreadable: {len(text):,} characters that are no JSON"
    formatted = msgspec.json.format(msgspec.json.encode(_hidden(config)), indent=2).decode()
    return format_html('<pre class="config">{}</pre>', visible(redact(formatted[:STREAM])))


def _hidden(value: Any) -> Any:
    if isinstance(value, list):
        return [_hidden(one) for one in value]
    if isinstance(value, dict):
        return {name: _names(inner) if name == "env" else _hidden(inner) for name, inner in value.items()}
    return value


def _names(environment: Any) -> Any:
    return dict.fromkeys(environment, HIDDEN) if isinstance(environment, dict) else environment and HIDDEN
