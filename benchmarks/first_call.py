"""A process that makes a single call: `python -m benchmarks.first_call TITLE FILE`.

As soon as it has the result, it prints its peak memory in bytes.
"""

from __future__ import annotations

import pickle
import resource
import sys
from contextlib import suppress
from pathlib import Path

from benchmarks.contenders import CONTENDERS


def peak_memory() -> int:
    """Return the peak resident memory of this process in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # `getrusage` may report the peak of the parent process instead.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def forget_peak() -> None:
    """Measure the peak of the memory from now on, where the system can do so."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    """Compile the model in a file, call it once, and report."""
    title, file = sys.argv[1:]
    backend = CONTENDERS[title].load()
    with Path(file).open("rb") as stream:
        model, inputs = pickle.load(stream)
    backend.compile(model)(*inputs)
    print("peak memory", peak_memory(), flush=True)


if __name__ == "__main__":
    main()
