"""Work on large arrays, shared out among threads: NumPy lets others run while it copies and computes."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from itertools import pairwise

from relex.dialects.target.machine import usable_processors

PART = 2**22
"""The bytes of a part of the work: what it makes on the way stays in caches, and memory grows by little."""

SHARED = 2**24
"""The bytes from which on threads share the work; to start them takes as long as to copy a part of a megabyte."""


def each_part(count: int, size: int, work: Callable[[slice], object]) -> None:
    """Call `work`, which writes `size` bytes in all, with slices that make up `range(count)`, several at the same time
    if there are many bytes. Raises what one of them raises."""
    parts = max(1, min(count, size // PART))
    bounds = [count * i // parts for i in range(parts + 1)]
    slices = [slice(first, end) for first, end in pairwise(bounds)]
    threads = min(usable_processors(), parts)
    if size < SHARED or threads == 1:
        for some in slices:
            work(some)
        return
    from concurrent.futures import ThreadPoolExecutor  # It takes a while to import.

    with ThreadPoolExecutor(threads, "relex-arrays") as pool:
        # What NumPy does about overflow, for example, is part of the context.
        for done in [pool.submit(copy_context().run, work, some) for some in slices]:
            done.result()
