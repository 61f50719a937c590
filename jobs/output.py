"""What a job delivered, as it is stored: a JSON document in blob storage (rest.md 3.2). Pure."""

from __future__ import annotations

import msgspec

from runners.protocol.messages import IterationOutput


class JobOutput(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Every iteration as delivered; ``error`` is what the runner said went wrong."""

    results: list[IterationOutput]
    error: str | None = None


class CorruptOutput(ValueError):
    """The stored bytes are no :class:`JobOutput`."""


_DECODER = msgspec.json.Decoder(JobOutput)


def encode(results: list[IterationOutput], error: str | None = None) -> bytes:
    """The document that is stored; the same delivery always gives the same bytes."""
    return msgspec.json.encode(JobOutput(results=results, error=error))


def decode(document: bytes) -> JobOutput:
    """Raises :class:`CorruptOutput`."""
    try:
        return _DECODER.decode(document)
    except (ValueError, RecursionError, MemoryError) as fault:  # msgspec's own errors and UnicodeError are ValueErrors
        raise CorruptOutput(str(fault)[:200]) from None


def texts(output: JobOutput) -> list[str]:
    """What the adapter reads, one flat list (rest.md 3.5): of each iteration the files in the order of their paths, else its stdout, else nothing.

    An empty map of files is a map: stdout is not read then.
    """
    found: list[str] = []
    for iteration in output.results:
        if iteration.output is not None:
            found += [iteration.output[path] for path in sorted(iteration.output)]
        elif iteration.stdout is not None:
            found.append(iteration.stdout)
    return found
