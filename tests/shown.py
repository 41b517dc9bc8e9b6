"""What a server with the plugin shows on `/metrics`: names, labels and the labels' values.

Owns: the list, read from the families that the code has, and a text of them. Must not know: who
asks for them.
"""

from typing import Any

from enforcer.vllm.observe import metric_defs
from enforcer.vllm.observe.stats import Gauge, Histogram

# By the library that vLLM shows its own with, of an API server that is the only one.
PROCESS = {"process_resident_memory_bytes", "process_start_time_seconds"}


def _families() -> dict[str, Any]:
    """Give each name on `/metrics` with its labels and their values."""
    shown = {}
    for family in metric_defs.LAYOUT.families:
        if isinstance(family, Histogram):
            bounds = {repr(bound / 1e9) for bound in family.bounds} | {"+Inf"}
            shown[f"{family.name}_bucket"] = {"le": bounds}
            shown[f"{family.name}_sum"] = shown[f"{family.name}_count"] = {}
        else:
            name = family.name if isinstance(family, Gauge) else f"{family.name}_total"
            shown[name] = {label: set(values) for label, values in family.labels}
    return shown


SHOWN = _families()


def text() -> str:
    """Write `/metrics` as a server does, with one series for each name, and vLLM's beside them."""
    lines = []
    for name, labels in SHOWN.items():
        pairs = ",".join(f'{label}="{min(values)}"' for label, values in labels.items())
        lines += [
            f"# HELP {name} What it counts.",
            f"{name}{{{pairs}}} 1.0" if pairs else f"{name} 1.0",
        ]
    lines += [f"{name} 1.0" for name in sorted(PROCESS)]
    return "\n".join([*lines, 'vllm:num_requests_running{engine="0"} 0.0']) + "\n"
