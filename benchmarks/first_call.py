"""A process that does nothing but one call: `python -m benchmarks.first_call TITLE FILE`.

It prints how many bytes of memory it had at most, as soon as it has the result.
"""

from __future__ import annotations

import pickle
import resource
import sys
from pathlib import Path

from benchmarks.contenders import CONTENDERS


def peak_memory() -> int:
    """The most that was resident at a time, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # Elsewhere the number may be that of the process that started this one.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    title, file = sys.argv[1:]
    backend = CONTENDERS[title].load()
    with Path(file).open("rb") as stream:
        model, inputs = pickle.load(stream)
    backend.compile(model)(*inputs)
    print("peak memory", peak_memory(), flush=True)


if __name__ == "__main__":
    main()
