"""Allocator for the buffers of compiled code: freed blocks are kept for later calls.

Native code, `arenas.ll`, made once per process: two functions, which MLIR's `use-generic-functions` calls. One takes a
block from those that earlier calls returned, the other returns it. A block belongs to one call at a time; there are no
locks. Later calls free the blocks that were unused for some seconds; all are freed with the last code.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Mapping

from relex.dialects.target.machine import ALLOC, FREE
from relex.runtime.linking import link_ir, read_ir

MAX_IDLE = 10
"""Seconds without use after which a block may be freed."""


class Arenas:
    """The allocator in this process, and the code that uses it."""

    def __init__(self):
        text = read_ir("relex.runtime", "arenas.ll", max_idle=MAX_IDLE, half_idle=MAX_IDLE // 2)
        self._code = link_ir(text, ("allocate", "deallocate", "release", "released"))
        address = self._code.address
        self._users: weakref.WeakSet[object] = weakref.WeakSet()
        self.symbols: Mapping[str, int] = {ALLOC: address("allocate"), FREE: address("deallocate")}
        self.release: Callable[[int], int] = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address("release"))
        """Free the blocks that were taken more than this many seconds ago; returns the number of bytes in those that
        stay."""
        self.released = ctypes.c_int64.from_address(address("released"))
        """The time when calls last freed unused blocks, in seconds."""

    def keep_for(self, user: object) -> None:
        """Keep blocks as long as this object lives."""
        self._users.add(user)
        weakref.finalize(user, self._leave).atexit = False

    def _leave(self) -> None:
        if not any(True for _ in self._users):
            self.release(-1)
