"""Allocator for the buffers of compiled code: freed blocks are kept for later calls.

Native code, made once per process: two functions, which MLIR's `use-generic-functions` calls. One takes a block from
those that earlier calls returned, the other returns it. A block belongs to one call at a time; there are no locks.
Later calls free the blocks that were unused for some seconds; all are freed with the last code.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Mapping

from relex.dialects.machine import POOL_ALLOC, POOL_FREE
from relex.runtime.linking import link_ir

MAX_IDLE = 10
"""Seconds without use after which a block may be freed."""

_RELEASE = "relex.release"
_RELEASED = "relex.released"

_CODE = f"""
; The blocks that nobody uses: 16 for each of four sizes between a power of two and the next.
@blocks = internal global [4096 x ptr] zeroinitializer, align 64
@{_RELEASED} = global i64 0
@message = private constant [21 x i8] c"relex: out of memory\\0A"

declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i64 @time(ptr)
declare i64 @write(i32, ptr, i64)
declare void @abort()
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.ushl.sat.i64(i64, i64)
declare i64 @llvm.uadd.sat.i64(i64, i64)

; In front of what a call gets are 64 bytes that belong to the block: its row in the table, its size, when it was taken.
define ptr @{POOL_ALLOC}(i64 %size) {{
entry:
  %least = call i64 @llvm.umax.i64(i64 %size, i64 256)
  %highest = sub i64 %least, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %highest, i1 true)
  %exponent = sub i64 63, %zeros
  %shift = sub i64 %exponent, 2
  %leading = lshr i64 %highest, %shift
  %above = add i64 %leading, 1
  %capacity = call i64 @llvm.ushl.sat.i64(i64 %above, i64 %shift)
  %quarter = and i64 %leading, 3
  %rows = mul i64 %exponent, 4
  %row = add i64 %rows, %quarter
  %first = mul i64 %row, 16
  %now = call i64 @time(ptr null)
  %then = load atomic i64, ptr @{_RELEASED} monotonic, align 8
  %since = sub i64 %now, %then
  %due = icmp sgt i64 %since, {MAX_IDLE // 2}
  br i1 %due, label %release, label %search
release:
  store atomic i64 %now, ptr @{_RELEASED} monotonic, align 8
  call i64 @{_RELEASE}(i64 {MAX_IDLE})
  br label %search
search:
  %k = phi i64 [0, %entry], [0, %release], [%next, %another]
  %index = add i64 %first, %k
  %slot = getelementptr ptr, ptr @blocks, i64 %index
  %seen = load atomic ptr, ptr %slot monotonic, align 8
  %empty = icmp eq ptr %seen, null
  br i1 %empty, label %another, label %take
take:
  %taken = atomicrmw xchg ptr %slot, ptr null acquire
  %late = icmp eq ptr %taken, null
  br i1 %late, label %another, label %found
another:
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, 16
  br i1 %more, label %search, label %allocate
allocate:
  %whole = call i64 @llvm.uadd.sat.i64(i64 %capacity, i64 64)
  %new = call ptr @aligned_alloc(i64 64, i64 %whole)
  %none = icmp eq ptr %new, null
  br i1 %none, label %again, label %fresh
again:
  call i64 @{_RELEASE}(i64 -1)
  %last = call ptr @aligned_alloc(i64 64, i64 %whole)
  %hopeless = icmp eq ptr %last, null
  br i1 %hopeless, label %fail, label %fresh
fail:
  call i64 @write(i32 2, ptr @message, i64 21)
  call void @abort()
  unreachable
fresh:
  %made = phi ptr [%new, %allocate], [%last, %again]
  store i64 %first, ptr %made
  %made_size = getelementptr i64, ptr %made, i64 1
  store i64 %capacity, ptr %made_size
  br label %found
found:
  %block = phi ptr [%taken, %take], [%made, %fresh]
  %stamp = getelementptr i64, ptr %block, i64 2
  store i64 %now, ptr %stamp
  %result = getelementptr i8, ptr %block, i64 64
  ret ptr %result
}}

define void @{POOL_FREE}(ptr %given) {{
entry:
  %nothing = icmp eq ptr %given, null
  br i1 %nothing, label %end, label %start
start:
  %block = getelementptr i8, ptr %given, i64 -64
  %first = load i64, ptr %block
  br label %search
search:
  %k = phi i64 [0, %start], [%next, %another]
  %index = add i64 %first, %k
  %slot = getelementptr ptr, ptr @blocks, i64 %index
  %seen = load atomic ptr, ptr %slot monotonic, align 8
  %empty = icmp eq ptr %seen, null
  br i1 %empty, label %put, label %another
put:
  %pair = cmpxchg ptr %slot, ptr null, ptr %block release monotonic
  %done = extractvalue {{ ptr, i1 }} %pair, 1
  br i1 %done, label %end, label %another
another:
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, 16
  br i1 %more, label %search, label %release
release:
  call void @free(ptr %block)
  br label %end
end:
  ret void
}}

; Free the blocks that were taken more than some seconds ago. Returns how many bytes are in those that are left.
define i64 @{_RELEASE}(i64 %age) {{
entry:
  %now = call i64 @time(ptr null)
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%next, %another]
  %kept = phi i64 [0, %entry], [%held, %another]
  %slot = getelementptr ptr, ptr @blocks, i64 %k
  %seen = load atomic ptr, ptr %slot monotonic, align 8
  %empty = icmp eq ptr %seen, null
  br i1 %empty, label %another, label %take
take:
  %taken = atomicrmw xchg ptr %slot, ptr null acquire
  %late = icmp eq ptr %taken, null
  br i1 %late, label %another, label %look
look:
  %stamp = getelementptr i64, ptr %taken, i64 2
  %then = load i64, ptr %stamp
  %since = sub i64 %now, %then
  %old = icmp sgt i64 %since, %age
  br i1 %old, label %release, label %put
put:
  %size = getelementptr i64, ptr %taken, i64 1
  %bytes = load i64, ptr %size
  %pair = cmpxchg ptr %slot, ptr null, ptr %taken release monotonic
  %done = extractvalue {{ ptr, i1 }} %pair, 1
  %more_kept = add i64 %kept, %bytes
  br i1 %done, label %another, label %release
release:
  call void @free(ptr %taken)
  br label %another
another:
  %held = phi i64 [%kept, %loop], [%kept, %take], [%more_kept, %put], [%kept, %release]
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, 4096
  br i1 %more, label %loop, label %end
end:
  ret i64 %held
}}
"""


class Arenas:
    """The allocator in this process, and the code that uses it."""

    def __init__(self):
        self._code = link_ir(_CODE, (POOL_ALLOC, POOL_FREE, _RELEASE, _RELEASED))
        self._users: weakref.WeakSet[object] = weakref.WeakSet()
        self.symbols: Mapping[str, int] = {name: self._code.address(name) for name in (POOL_ALLOC, POOL_FREE)}
        self.release: Callable[[int], int] = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(
            self._code.address(_RELEASE)
        )
        """Free the blocks that were taken more than this many seconds ago; returns the number of bytes in those that
        stay."""
        self.released = ctypes.c_int64.from_address(self._code.address(_RELEASED))
        """The time when calls last freed unused blocks, in seconds."""

    def keep_for(self, user: object) -> None:
        """Keep blocks as long as this object lives."""
        self._users.add(user)
        weakref.finalize(user, self._leave).atexit = False

    def _leave(self) -> None:
        if not any(True for _ in self._users):
            self.release(-1)
