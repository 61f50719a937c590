"""The measures of Gungraun (formerly Iai-Callgrind): what each tool calls them in its text and in its JSON."""

from __future__ import annotations

from typing import Final

CACHE: Final = {
    "Instructions": ("Ir", "instructions"),
    "Dr": ("Dr", "dr"),
    "Dw": ("Dw", "dw"),
    "I1mr": ("I1mr", "i1mr"),
    "D1mr": ("D1mr", "d1mr"),
    "D1mw": ("D1mw", "d1mw"),
    "ILmr": ("ILmr", "ilmr"),
    "DLmr": ("DLmr", "dlmr"),
    "DLmw": ("DLmw", "dlmw"),
    "I1 Miss Rate": ("I1MissRate", "i1-miss-rate"),
    "LLi Miss Rate": ("LLiMissRate", "lli-miss-rate"),
    "D1 Miss Rate": ("D1MissRate", "d1-miss-rate"),
    "LLd Miss Rate": ("LLdMissRate", "lld-miss-rate"),
    "LL Miss Rate": ("LLMissRate", "ll-miss-rate"),
    "L1 Hits": ("L1hits", "l1-hits"),
    "L2 Hits": ("L2hits", "l2-hits"),
    "LL Hits": ("LLhits", "ll-hits"),
    "RAM Hits": ("RamHits", "ram-hits"),
    "L1 Hit Rate": ("L1HitRate", "l1-hit-rate"),
    "LL Hit Rate": ("LLHitRate", "ll-hit-rate"),
    "RAM Hit Rate": ("RamHitRate", "ram-hit-rate"),
    "Total read+write": ("TotalRW", "total-read-write"),
    "Estimated Cycles": ("EstimatedCycles", "estimated-cycles"),
    "Bc": ("Bc", "bc"),
    "Bcm": ("Bcm", "bcm"),
    "Bi": ("Bi", "bi"),
    "Bim": ("Bim", "bim"),
}
CALLGRIND: Final = CACHE | {
    "ILdmr": ("ILdmr", "ildmr"),
    "DLdmr": ("DLdmr", "dldmr"),
    "DLdmw": ("DLdmw", "dldmw"),
    "SysCount": ("SysCount", "sys-count"),
    "SysTime": ("SysTime", "sys-time"),
    "SysCpuTime": ("SysCpuTime", "sys-cpu-time"),
    "Ge": ("Ge", "global-bus-events"),
    "AcCost1": ("AcCost1", "accost1"),
    "AcCost2": ("AcCost2", "accost2"),
    "SpLoss1": ("SpLoss1", "sploss1"),
    "SpLoss2": ("SpLoss2", "sploss2"),
}
DHAT: Final = {
    "Total bytes": ("TotalBytes", "total-bytes"),
    "Total blocks": ("TotalBlocks", "total-blocks"),
    "Total units": ("TotalUnits", "total-units"),
    "Total events": ("TotalEvents", "total-events"),
    "Total lifetimes": ("TotalLifetimes", "total-lifetimes"),
    "At t-gmax bytes": ("AtTGmaxBytes", "at-t-gmax-bytes"),
    "At t-gmax blocks": ("AtTGmaxBlocks", "at-t-gmax-blocks"),
    "At t-end bytes": ("AtTEndBytes", "at-t-end-bytes"),
    "At t-end blocks": ("AtTEndBlocks", "at-t-end-blocks"),
    "Reads bytes": ("ReadsBytes", "reads-bytes"),
    "Writes bytes": ("WritesBytes", "writes-bytes"),
    "Maximum bytes": ("MaximumBytes", "maximum-bytes"),
    "Maximum blocks": ("MaximumBlocks", "maximum-blocks"),
}


def _findings(tool: str) -> dict[str, tuple[str, str]]:
    """What an error checker counts; the slugs carry the tool's name."""
    labels = ("Errors", "Contexts", "Suppressed Errors", "Suppressed Contexts")
    return {label: (label.replace(" ", ""), f"{tool}-{label.lower().replace(' ', '-')}") for label in labels}


TOOLS: Final = {
    "CALLGRIND": CALLGRIND,
    "CACHEGRIND": CACHE,
    "DHAT": DHAT,
    "MEMCHECK": _findings("memcheck"),
    "HELGRIND": _findings("helgrind"),
    "DRD": _findings("drd"),
}
"""Tool -> label in the text -> (key in the JSON, slug)."""

LABELS: Final = {tool: {label: slug for label, (_, slug) in labels.items()} for tool, labels in TOOLS.items()}
"""Tool -> label in the text -> slug."""

KEYS: Final = {tool: dict(labels.values()) for tool, labels in TOOLS.items()}
"""Tool -> key in the JSON -> slug."""
