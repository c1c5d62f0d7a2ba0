"""Schedules written in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import VerifyException

from relex.dialects.errors import UnknownNameError, fail
from relex.dialects.schedule import (
    BufferRole,
    CacheReadOp,
    CacheWriteOp,
    CompactBufferOp,
    ComputeAtOp,
    ComputeInlineOp,
    DecomposeReductionOp,
    FuseOp,
    LabelLoopsOp,
    OrderAsIntegersOp,
    PadOp,
    ParallelOp,
    PartitionOp,
    PrimitiveOp,
    ReorderOp,
    ReverseComputeAtOp,
    ReverseComputeInlineOp,
    RfactorOp,
    SequenceOp,
    SplitOp,
    TransformLayoutOp,
    UnguardOp,
    UnrollOp,
    VectorizeOp,
)
from relex.dialects.tir import BlockOp, ForOp, PrimFuncOp
from relex.passes.analysis.loop_tree import blocks_in, find_block, loops_of, structures_in
from relex.passes.schedule.table import apply_primitive


@dataclass(frozen=True)
class Block:
    """A block of a function, by name."""

    func: str
    name: str


@dataclass(frozen=True)
class Loop:
    """A loop of a function, by label."""

    func: str
    label: str


class Schedule:
    """
    A module whose loop functions are transformed step by step. The module it is created from is not modified.

    Every step is checked: one that would change what the function computes raises a `CompileError` at the loop or block
    concerned. Steps take and return blocks and loops by name; these stay valid as long as a block or loop of that name
    exists.
    """

    def __init__(self, module: ModuleOp):
        self.module = module.clone()
        self._steps: dict[str, list[PrimitiveOp]] = {}

    def trace(self) -> ModuleOp:
        """Return all steps so far as schedules for `apply-schedule`: one `schedule.sequence` per function."""
        return ModuleOp([SequenceOp(name, [op.clone() for op in steps]) for name, steps in self._steps.items()])

    def apply(self, func: str, op: PrimitiveOp) -> None:
        """Apply a primitive to a function; for those without a method here. Raises `CompileError` for an invalid
        one."""
        function = self.function(func)
        try:
            op.verify_()
        except VerifyException as e:
            fail(op, str(e))
        apply_primitive(op, function)
        self._steps.setdefault(func, []).append(op)

    def get_block(self, name: str, func: str | None = None) -> Block:
        """Return a block by name; without `func`, the block of the one function that has such a block."""
        names = [func] if func is not None else self._functions_with(name)
        if len(names) != 1:
            raise UnknownNameError(f"expected one function with a block '{name}', found {', '.join(names) or 'none'}")
        find_block(self.function(names[0]), name)
        return Block(names[0], name)

    def get_loops(self, block: Block) -> list[Loop]:
        """Return the loops around a block, outermost first. Unlabelled loops of the function are given labels."""
        func = self.function(block.func)
        if any(isinstance(op, ForOp) and op.label is None for op in structures_in(func)):
            self.apply(block.func, LabelLoopsOp())
        loops = loops_of(find_block(func, block.name))
        return [Loop(block.func, loop.label.data) for loop in loops if loop.label is not None]

    def split(self, loop: Loop, factors: Sequence[int | None]) -> list[Loop]:
        """Split a loop into nested loops with the given extents; a factor of None is inferred."""
        op = SplitOp(loop.label, factors)
        self.apply(loop.func, op)
        return [Loop(loop.func, label) for label in op.new_names]

    def fuse(self, *loops: Loop) -> Loop:
        """Merge perfectly nested loops, outermost first, into one."""
        op = FuseOp([loop.label for loop in loops])
        func = _function_of(loops)
        self.apply(func, op)
        return Loop(func, *op.new_names)

    def reorder(self, *loops: Loop) -> None:
        """Put nested loops into the given order, outermost first."""
        self.apply(_function_of(loops), ReorderOp([loop.label for loop in loops]))

    def pad(self, loop: Loop, multiple: int) -> None:
        """Round up the extent of a loop to a multiple of a number."""
        self.apply(loop.func, PadOp(loop.label, multiple))

    def partition(self, loops: Sequence[Loop], multiple: int) -> list[Block]:
        """
        Let loops with the same extent, in consecutive nests, run in two parts: first all nests for the largest number
        of iterations that is a multiple of `multiple`, then copies of the nests for the rest. Return the blocks of the
        copies.
        """
        func = _function_of(loops)
        before = {block.block_name.data for block in blocks_in(self.function(func))}
        self.apply(func, PartitionOp([loop.label for loop in loops], multiple))
        after = [block.block_name.data for block in blocks_in(self.function(func))]
        return [Block(func, name) for name in after if name not in before]

    def parallel(self, loop: Loop) -> None:
        """Mark a loop as parallel: its iterations may run at the same time."""
        self.apply(loop.func, ParallelOp(loop.label))

    def vectorize(self, loop: Loop) -> None:
        """Mark a loop as vectorized: its iterations become the lanes of vectors."""
        self.apply(loop.func, VectorizeOp(loop.label))

    def unroll(self, loop: Loop) -> None:
        """Mark a loop to be unrolled."""
        self.apply(loop.func, UnrollOp(loop.label))

    def cache_read(self, block: Block, read_buffer_index: int) -> Block:
        """Let a block read a copy of one of the buffers that it reads; return the block that makes the copy."""
        op = CacheReadOp(block.name, read_buffer_index)
        self.apply(block.func, op)
        return Block(block.func, op.new_names[0])

    def cache_write(self, block: Block, write_buffer_index: int) -> Block:
        """Let a block write a new buffer instead of one that it writes; return the block that copies it back."""
        op = CacheWriteOp(block.name, write_buffer_index)
        self.apply(block.func, op)
        return Block(block.func, op.new_names[0])

    def compute_at(self, block: Block, loop: Loop) -> None:
        """Move a block into a loop of its consumers."""
        self.apply(block.func, ComputeAtOp(block.name, loop.label))

    def reverse_compute_at(self, block: Block, loop: Loop) -> None:
        """Move a block into a loop of its producers."""
        self.apply(block.func, ReverseComputeAtOp(block.name, loop.label))

    def compact_buffer(self, block: Block, write_buffer_index: int) -> None:
        """Shrink a local buffer that a block writes to the footprint of its uses."""
        self.apply(block.func, CompactBufferOp(block.name, write_buffer_index))

    def compute_inline(self, block: Block) -> None:
        """Compute what a block writes where it is read, and remove the block."""
        self.apply(block.func, ComputeInlineOp(block.name))

    def reverse_compute_inline(self, block: Block) -> None:
        """Fold a block into the producer of its input, and remove the block."""
        self.apply(block.func, ReverseComputeInlineOp(block.name))

    def transform_layout(
        self, block: Block, buffer: tuple[str, int], index_map: AffineMap | Callable[..., tuple[AffineExpr | int, ...]]
    ) -> None:
        """
        Change the layout of a local buffer: `("read", 1)` is number 1 of those that a block reads, `index_map` gives
        the new indices for the old ones, as in `lambda n, k: (n // 16, k, n % 16)`.
        """
        role, index = buffer
        if role not in ("read", "write"):
            raise UnknownNameError(f"expected 'read' or 'write', found '{role}'")
        if not isinstance(index_map, AffineMap):
            index_map = AffineMap.from_callable(index_map)
        self.apply(block.func, TransformLayoutOp(block.name, BufferRole(role), index, index_map))

    def unguard(self, block: Block) -> None:
        """Remove the guard of a block that is safe to run without it."""
        self.apply(block.func, UnguardOp(block.name))

    def order_as_integers(self, block: Block) -> None:
        """Let a block that computes the maximum or minimum of floats compare integers instead."""
        self.apply(block.func, OrderAsIntegersOp(block.name))

    def decompose_reduction(self, block: Block, loop: Loop) -> Block:
        """Move the init of a block into a block of its own, before a loop; return the new block."""
        op = DecomposeReductionOp(block.name, loop.label)
        self.apply(block.func, op)
        return Block(block.func, op.new_names[0])

    def rfactor(self, block: Block, along: Loop, at: Loop) -> Block:
        """
        Let a block compute partial results, one for each iteration of `along`, in the loop `at`, which holds the whole
        reduction; after the loop they are combined. Return the block that computes them: `block` is the one that
        combines.
        """
        op = RfactorOp(block.name, along.label, at.label)
        self.apply(block.func, op)
        return Block(block.func, op.new_names[1])

    def function(self, name: str) -> PrimFuncOp:
        """Return a loop function of the module, in its current state."""
        found = SymbolTable.lookup_symbol(self.module, name)
        if not isinstance(found, PrimFuncOp):
            raise UnknownNameError(f"expected a loop function, found no '{name}'")
        return found

    def _functions_with(self, block: str) -> list[str]:
        return [
            func.sym_name.data
            for func in self.module.ops
            if isinstance(func, PrimFuncOp)
            and any(isinstance(op, BlockOp) and op.block_name.data == block for op in func.walk())
        ]


def _function_of(loops: Sequence[Loop]) -> str:
    """Return the function that all loops are in; fail if there are several."""
    names = sorted({loop.func for loop in loops})
    if len(names) != 1:
        raise UnknownNameError(f"expected loops of one function, found {', '.join(names) or 'none'}")
    return names[0]
