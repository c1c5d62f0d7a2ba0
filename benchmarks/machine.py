"""A description of the machine."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import llvmlite.binding as llvm

TELLING_FEATURES = ("sse4.2", "avx", "avx2", "fma", "avx512f", "avx512bf16", "amx-tile", "neon", "sve")


def describe() -> dict[str, str]:
    """Return the properties that matter for the results, and nothing that identifies the machine."""
    features = llvm.get_host_cpu_features()
    found = {
        "processor": f"{_model()} ({llvm.get_host_cpu_name()}), {len(usable_cores())} cores",
        "features": ", ".join(name for name in TELLING_FEATURES if features.get(name)),
        "caches": _caches(),
        "system": f"{platform.system()} on {platform.machine()}, Python {platform.python_version()}",
    }
    return {name: text for name, text in found.items() if text}


def usable_cores() -> list[int]:
    """Return the cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def stay_on_cores(count: int) -> None:
    """Restrict this process and its future children to `count` cores: some libraries start threads that none of their
    options prevents. Does nothing where the system does not support it."""
    if hasattr(os, "sched_setaffinity"):
        # The first cores handle more interrupts.
        os.sched_setaffinity(0, usable_cores()[-count:])


def _model() -> str:
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _caches() -> str:
    folders = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))
    caches = [[(folder / name).read_text().strip() for name in ("level", "type", "size")] for folder in folders]
    return ", ".join(f"L{level} {size.removesuffix('K')} KiB" for level, kind, size in caches if kind != "Instruction")
