"""A process that works on loop functions for another one: `python -m relex.lowering.support.loop_worker`.

It reads jobs from its input until that ends, and writes an answer to each, as `relex.dialects.code_worker` does.
"""

from __future__ import annotations

import gc
import sys

from relex.dialects.code_worker import receive, send
from relex.dialects.parser import parse_module
from relex.lowering.support.loop_jobs import COMPILER, TASKS

MANY = 100_000
"""The number of new objects from which on garbage is looked for: IR is full of it when a job is done."""


def main() -> None:
    """Work until the input ends, or until a job is from another version of relex."""
    gc.freeze()
    gc.set_threshold(MANY)
    while (job := receive(sys.stdin.buffer)) is not None:
        head, text = job
        if head["compiler"] != COMPILER:
            return
        send(sys.stdout.buffer, *TASKS[head["task"]](parse_module(text.decode(), verify=False), head))


if __name__ == "__main__":
    main()
