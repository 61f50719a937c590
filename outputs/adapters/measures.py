"""Measures that every project knows by name (spec 6.3)."""

from __future__ import annotations

from typing import Final, NamedTuple


class Builtin(NamedTuple):
    """``name`` is displayed; ``base`` is what the tool writes (equal to ``name`` but for the error checkers)."""

    name: str
    base: str
    slug: str
    units: str


NANOSECONDS: Final = "nanoseconds (ns)"
BYTES: Final = "bytes (B)"
RATE_MISSES: Final = "misses (%)"
RATE_HITS: Final = "hits (%)"

_PLAIN: Final = {
    "Latency": ("latency", NANOSECONDS),
    "Throughput": ("throughput", "operations / second (ops/s)"),
    "Build Time": ("build-time", "seconds (s)"),
    "File Size": ("file-size", BYTES),
    "Allocated": ("allocated", BYTES),
    "Gen0 Collects": ("gen0-collects", "collects"),
    "Gen1 Collects": ("gen1-collects", "collects"),
    "Gen2 Collects": ("gen2-collects", "collects"),
    "Total Operations": ("total-operations", "operations"),
    "Instructions": ("instructions", "instructions"),
    "L1 Accesses": ("l1-accesses", "accesses"),
    "L2 Accesses": ("l2-accesses", "accesses"),
    "RAM Accesses": ("ram-accesses", "accesses"),
    "Estimated Cycles": ("estimated-cycles", "cycles"),
    "Compute Jitter": ("compute-jitter", "percentage (%)"),
    "Cache Jitter": ("cache-jitter", "percentage (%)"),
    "I/O Jitter": ("io-jitter", "percentage (%)"),
    "CPU Steal": ("cpu-steal", "percentage (%)"),
    "Noise Score": ("noise-score", "decibels (dB)"),
    "L1 Hits": ("l1-hits", "hits"),
    "L2 Hits": ("l2-hits", "hits"),
    "LL Hits": ("ll-hits", "hits"),
    "RAM Hits": ("ram-hits", "hits"),
    "Total read+write": ("total-read-write", "reads/writes"),
    "Ge": ("global-bus-events", "events"),
    "Dr": ("dr", "reads"),
    "Dw": ("dw", "writes"),
    "I1mr": ("i1mr", "misses (reads)"),
    "D1mr": ("d1mr", "misses (reads)"),
    "ILmr": ("ilmr", "misses (reads)"),
    "DLmr": ("dlmr", "misses (reads)"),
    "ILdmr": ("ildmr", "misses (reads)"),
    "DLdmr": ("dldmr", "misses (reads)"),
    "D1mw": ("d1mw", "misses (writes)"),
    "DLmw": ("dlmw", "misses (writes)"),
    "DLdmw": ("dldmw", "misses (writes)"),
    "I1 Miss Rate": ("i1-miss-rate", RATE_MISSES),
    "LLi Miss Rate": ("lli-miss-rate", RATE_MISSES),
    "D1 Miss Rate": ("d1-miss-rate", RATE_MISSES),
    "LLd Miss Rate": ("lld-miss-rate", RATE_MISSES),
    "LL Miss Rate": ("ll-miss-rate", RATE_MISSES),
    "L1 Hit Rate": ("l1-hit-rate", RATE_HITS),
    "LL Hit Rate": ("ll-hit-rate", RATE_HITS),
    "RAM Hit Rate": ("ram-hit-rate", RATE_HITS),
    "SysCount": ("sys-count", "syscalls"),
    "SysTime": ("sys-time", "msec/usec/nsec"),
    "SysCpuTime": ("sys-cpu-time", "nsec"),
    "Bc": ("bc", "branches"),
    "Bcm": ("bcm", "branches"),
    "Bi": ("bi", "branches"),
    "Bim": ("bim", "branches"),
    "AcCost1": ("accost1", "temporal locality count"),
    "AcCost2": ("accost2", "temporal locality count"),
    "SpLoss1": ("sploss1", "spatial loss count"),
    "SpLoss2": ("sploss2", "spatial loss count"),
    "Total bytes": ("total-bytes", BYTES),
    "At t-gmax bytes": ("at-t-gmax-bytes", BYTES),
    "At t-end bytes": ("at-t-end-bytes", BYTES),
    "Reads bytes": ("reads-bytes", BYTES),
    "Writes bytes": ("writes-bytes", BYTES),
    "Total blocks": ("total-blocks", "blocks"),
    "At t-gmax blocks": ("at-t-gmax-blocks", "blocks"),
    "At t-end blocks": ("at-t-end-blocks", "blocks"),
    "Maximum bytes": ("maximum-bytes", BYTES),
    "Maximum blocks": ("maximum-blocks", "blocks"),
    "Total units": ("total-units", "units"),
    "Total events": ("total-events", "events"),
    "Total lifetimes": ("total-lifetimes", "lifetimes"),
}
_CHECKERS: Final = {"Memcheck": "memcheck", "Helgrind": "helgrind", "DRD": "drd"}
_FINDINGS: Final = ("Errors", "Contexts", "Suppressed Errors", "Suppressed Contexts")

BUILTIN: Final = (
    *(Builtin(name, name, slug, units) for name, (slug, units) in _PLAIN.items()),
    *(
        Builtin(f"{tool} {finding}", finding, f"{prefix}-{finding.lower().replace(' ', '-')}", finding.lower())
        for tool, prefix in _CHECKERS.items()
        for finding in _FINDINGS
    ),
)
"""In the order in which they are looked up: a base name shared by several tools means the first of them."""

_BY_TEXT: Final = {text: entry for entry in reversed(BUILTIN) for text in (entry.base, entry.slug, entry.name)}


def builtin(text: str) -> Builtin | None:
    """The built-in measure with ``text`` as display name, base name or slug."""
    return _BY_TEXT.get(text)
