"""Static memory planning: the buffers of a function share one arena."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, i8
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.errors import CompileRemark, diagnose
from relex.dialects.index.atoms import Extreme
from relex.dialects.index.expr import atoms_in
from relex.dialects.index.upper_terms import without_maxima
from relex.dialects.sizes import Size, evaluate, larger, names_in
from relex.dialects.sizes.limits import bytes_of
from relex.lowering.memory.in_place import work_in_place
from relex.lowering.memory.lifetimes import lifetimes, positions_in
from relex.lowering.memory.needs import BufferSizes
from relex.lowering.memory.offsets import LiveRange, below, compact, meetings, place
from relex.lowering.support.result_buffers import ALIGNMENT
from relex.lowering.support.signatures import states_memory
from relex.passes.cpu import cost
from relex.passes.driver.base import RelexPass
from relex.passes.rewriting.size_values import SizeValues


@dataclass(frozen=True)
class PlanMemoryPass(RelexPass):
    """
    Packs the buffers that a function allocates into one, the arena: buffers with disjoint lifetimes share memory. A
    small arena lives on the stack. A call of a loop function that is the last to read a buffer, and reads each element
    only where it writes the same element of another buffer, works in place: both become one buffer. An argument that is
    overwritten at the end is such a buffer from its last reader on: what is copied into it is computed there.

    The pass moves buffers that the function frees, in branches and loops too, and that do not escape. Dynamic
    sizes must follow from the sizes of the arguments; offsets are computed from them. A single buffer that is not small
    stays as it is.

    A module whose functions state how much memory they need is left alone: some of its functions were loop functions,
    whose buffers are where their schedules put them.

    With `report`, emits a remark for each function: how much memory it needs, and the total size of its buffers.

    ```mlir
    func.func @main(%x: memref<8xf32>, %out: memref<8xf32>) {
      %a = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
      func.call @f(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
      %b = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
      func.call @f(%a, %b) : (memref<8xf32>, memref<8xf32>) -> ()
      %c = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
      func.call @f(%b, %c) : (memref<8xf32>, memref<8xf32>) -> ()
      func.call @f(%c, %out) : (memref<8xf32>, memref<8xf32>) -> ()
      memref.dealloc %a : memref<8xf32>
      memref.dealloc %b : memref<8xf32>
      memref.dealloc %c : memref<8xf32>
      func.return
    }
    // plan-memory
    func.func @main(%x: memref<8xf32>, %out: memref<8xf32>) {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %arena = memref.alloca() {alignment = 64 : i64} : memref<128xi8>
      %a = memref.view %arena[%c0][] : memref<128xi8> to memref<8xf32>
      func.call @f(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
      %b = memref.view %arena[%c64][] : memref<128xi8> to memref<8xf32>
      func.call @f(%a, %b) : (memref<8xf32>, memref<8xf32>) -> ()
      %c = memref.view %arena[%c0][] : memref<128xi8> to memref<8xf32>
      func.call @f(%b, %c) : (memref<8xf32>, memref<8xf32>) -> ()
      func.call @f(%c, %out) : (memref<8xf32>, memref<8xf32>) -> ()
      func.return
    }
    ```
    """

    name = "plan-memory"

    report: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if any(map(states_memory, op.ops)):
            return
        functions = [f for f in op.ops if isinstance(f, func.FuncOp) and _allocates(f)]
        before = [_Arena(function).sum for function in functions] if self.report else ()
        work_in_place(op, functions)
        arenas = list(map(_Arena, functions))
        for function, arena, size in zip(functions, arenas, before, strict=False):
            if size != 0:
                message = f"@{function.sym_name.data} needs {arena.size} bytes for buffers of {size} bytes"
                warnings.warn(CompileRemark(diagnose(function, message)), stacklevel=2)
        for arena in arenas:
            arena.insert()


def _allocates(function: func.FuncOp) -> bool:
    return any(isinstance(op, memref.AllocOp) for block in function.body.blocks for op in positions_in(block))


class _Arena:
    """The buffers of a function that can be moved, and their offsets in the arena."""

    def __init__(self, function: func.FuncOp):
        self._block = function.body.blocks[0]
        self._sizes = BufferSizes(function)
        found = [(lifetime, self._sizes.of(lifetime.buffer)) for lifetime in lifetimes(self._block)]
        self._buffers = [lifetime for lifetime, sizes in found if sizes is not None]
        needed = [bytes_of(lifetime.buffer.type, sizes) for lifetime, sizes in found if sizes is not None]
        self._offsets = offsets_of([(b.first, b.last, size) for b, size in zip(self._buffers, needed, strict=True)])
        self.sum: Size = sum(needed)
        """The total size of all buffers."""
        self.size = highest_of(offset + size for offset, size in zip(self._offsets, needed, strict=True))

    def insert(self) -> None:
        """Allocate the arena, and replace the buffers by views of it."""
        on_stack = isinstance(self.size, int) and self.size <= cost.MAX_ARENA_ON_STACK
        first = self._block.first_op
        if first is None or not self._buffers:
            return
        if len(self._buffers) == 1 and not on_stack and self._buffers[0].alloc.parent is self._block:
            return
        values = SizeValues.of(self._block, self._sizes.of_function)
        offsets = list(map(values.emit, self._offsets))
        shape, dynamic = (
            ([self.size], []) if isinstance(self.size, int) else ([DYNAMIC_INDEX], [values.emit(self.size)])
        )
        kind = memref.AllocaOp if on_stack else memref.AllocOp
        alloc = kind.get(i8, ALIGNMENT, shape, dynamic)
        alloc.memref.name_hint = "arena"
        _insert(alloc, first, self._buffers[0].alloc)
        if not on_stack:
            ends = {self._block.find_ancestor_op_in_block(buffer.dealloc) for buffer in self._buffers}
            *_, last = (op for op in self._block.ops if op in ends)
            after = last if last.next_op is None or not last.regions else last.next_op
            _insert(memref.DeallocOp.get(alloc.memref), after, last)
        for buffer, offset in zip(self._buffers, offsets, strict=True):
            view = memref.ViewOp(alloc.memref, offset, buffer.alloc.dynamic_sizes, buffer.buffer.type)
            view.location = buffer.alloc.location
            Rewriter.erase_op(buffer.dealloc)
            Rewriter.replace_op(buffer.alloc, view)


def _insert(op: Operation, before: Operation, origin: Operation) -> None:
    op.location = origin.location
    Rewriter.insert_op(op, InsertPoint.before(before))


def offsets_of(uses: Sequence[tuple[int, int, Size]]) -> list[Size]:
    """Return offsets for buffers, each live from one position to another, such that no two that are live at once
    overlap, whatever their sizes at run time. Offsets are multiples of `ALIGNMENT`.

    The order in memory is chosen for dynamic sizes equal to `cost.LIKELY_SIZE`.
    """
    sizes = [(size + (ALIGNMENT - 1)) // ALIGNMENT * ALIGNMENT for _, _, size in uses]
    guesses = [max(evaluate(size, dict.fromkeys(names_in(size), cost.LIKELY_SIZE)), ALIGNMENT) for size in sizes]
    intervals = [LiveRange(first, last, guess) for (first, last, _), guess in zip(uses, guesses, strict=True)]
    order = place(intervals)
    if all(isinstance(size, int) for size in sizes):
        return [*compact(intervals, order)]
    near = meetings(intervals)
    found: dict[int, Size] = {}
    for i in sorted(range(len(uses)), key=lambda i: order[i]):
        found[i] = highest_of(found[j] + sizes[j] for j in below(intervals, order, i, near))
    return [found[i] for i in range(len(uses))]


def highest_of(ends: Iterable[Size]) -> Size:
    """Return the largest of some ends, or an upper bound of it. Many are equal, and each takes some comparisons."""
    return reduce(highest, dict.fromkeys(ends), 0)


def highest(a: Size, b: Size) -> Size:
    """Return the larger of two ends, or an upper bound of it: what is above others has their ends in its own, so that
    expressions would grow from buffer to buffer."""
    found = larger(a, b)
    maxima = sum(isinstance(atom, Extreme) for atom in atoms_in(found))
    return found if maxima <= cost.MAX_MAXIMA_OF_AN_OFFSET else without_maxima(found)
