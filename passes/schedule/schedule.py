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
    A module whose loop functions are changed step by step. The module that it is made of stays as it was.

    Every step is checked: one that would change what the function computes raises a `CompileError`, at the loop or
    block concerned. Blocks and loops that steps take and give are names, and good as long as there is one of that name.
    """

    def __init__(self, module: ModuleOp):
        self.module = module.clone()
        self._steps: dict[str, list[PrimitiveOp]] = {}

    def trace(self) -> ModuleOp:
        """All steps so far, as schedules for `apply-schedule`: one `schedule.sequence` a function."""
        return ModuleOp([SequenceOp(name, [op.clone() for op in steps]) for name, steps in self._steps.items()])

    def apply(self, func: str, op: PrimitiveOp) -> None:
        """Apply a primitive to a function; for those that have no method here. A wrong one is a `CompileError`."""
        function = self.function(func)
        try:
            op.verify_()
        except VerifyException as e:
            fail(op, str(e))
        apply_primitive(op, function)
        self._steps.setdefault(func, []).append(op)

    def get_block(self, name: str, func: str | None = None) -> Block:
        """A block by name; without `func`, of the one function that has such a block."""
        names = [func] if func is not None else self._functions_with(name)
        if len(names) != 1:
            raise UnknownNameError(f"expected one function with a block '{name}', found {', '.join(names) or 'none'}")
        find_block(self.function(names[0]), name)
        return Block(names[0], name)

    def get_loops(self, block: Block) -> list[Loop]:
        """The loops around a block, from the outside in. Loops of the function without a label are given one."""
        func = self.function(block.func)
        if any(isinstance(op, ForOp) and op.label is None for op in structures_in(func)):
            self.apply(block.func, LabelLoopsOp())
        loops = loops_of(find_block(func, block.name))
        return [Loop(block.func, loop.label.data) for loop in loops if loop.label is not None]

    def split(self, loop: Loop, factors: Sequence[int | None]) -> list[Loop]:
        """Make a loop into several, one inside the other; a factor of None is as many as it takes."""
        op = SplitOp(loop.label, factors)
        self.apply(loop.func, op)
        return [Loop(loop.func, label) for label in op.new_names]

    def fuse(self, *loops: Loop) -> Loop:
        """Make loops that stand directly in each other, from the outside in, into one."""
        op = FuseOp([loop.label for loop in loops])
        func = _function_of(loops)
        self.apply(func, op)
        return Loop(func, *op.new_names)

    def reorder(self, *loops: Loop) -> None:
        """Put loops that stand in each other into this order, from the outside in."""
        self.apply(_function_of(loops), ReorderOp([loop.label for loop in loops]))

    def pad(self, loop: Loop, multiple: int) -> None:
        """Raise the extent of a loop to a multiple of a number."""
        self.apply(loop.func, PadOp(loop.label, multiple))

    def partition(self, loops: Sequence[Loop], multiple: int) -> list[Block]:
        """
        Let loops with the same extent, in nests that follow each other, run in two parts: all nests for as many
        iterations as are a multiple of a number, then copies of them for the rest. Returns the blocks of the copies.
        """
        func = _function_of(loops)
        before = {block.block_name.data for block in blocks_in(self.function(func))}
        self.apply(func, PartitionOp([loop.label for loop in loops], multiple))
        after = [block.block_name.data for block in blocks_in(self.function(func))]
        return [Block(func, name) for name in after if name not in before]

    def parallel(self, loop: Loop) -> None:
        """Let the iterations of a loop run at the same time."""
        self.apply(loop.func, ParallelOp(loop.label))

    def vectorize(self, loop: Loop) -> None:
        """Let the iterations of a loop run as the lanes of vectors."""
        self.apply(loop.func, VectorizeOp(loop.label))

    def unroll(self, loop: Loop) -> None:
        """Let a loop be written out."""
        self.apply(loop.func, UnrollOp(loop.label))

    def cache_read(self, block: Block, read_buffer_index: int) -> Block:
        """Let a block read a copy of one of the buffers that it reads; returns the block that makes the copy."""
        op = CacheReadOp(block.name, read_buffer_index)
        self.apply(block.func, op)
        return Block(block.func, op.new_names[0])

    def cache_write(self, block: Block, write_buffer_index: int) -> Block:
        """Let a block write a new buffer in the place of one that it writes; returns the block that copies it back."""
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
        """Make a local buffer that a block writes as small as the loops around all its uses allow."""
        self.apply(block.func, CompactBufferOp(block.name, write_buffer_index))

    def compute_inline(self, block: Block) -> None:
        """Compute what a block writes where it is read, and remove the block."""
        self.apply(block.func, ComputeInlineOp(block.name))

    def reverse_compute_inline(self, block: Block) -> None:
        """Let the producer of what a block reads do the block's work, and remove the block."""
        self.apply(block.func, ReverseComputeInlineOp(block.name))

    def transform_layout(
        self, block: Block, buffer: tuple[str, int], index_map: AffineMap | Callable[..., tuple[AffineExpr | int, ...]]
    ) -> None:
        """
        Lay out a local buffer anew: `("read", 1)` is the one that a block reads as number 1, `index_map` gives the new
        indices for the old ones, as in `lambda n, k: (n // 16, k, n % 16)`.
        """
        role, index = buffer
        if role not in ("read", "write"):
            raise UnknownNameError(f"expected 'read' or 'write', found '{role}'")
        if not isinstance(index_map, AffineMap):
            index_map = AffineMap.from_callable(index_map)
        self.apply(block.func, TransformLayoutOp(block.name, BufferRole(role), index, index_map))

    def unguard(self, block: Block) -> None:
        """Remove the condition around a block that would do no harm without it."""
        self.apply(block.func, UnguardOp(block.name))

    def order_as_integers(self, block: Block) -> None:
        """Let a block that looks for the largest or smallest of floats compare integers instead."""
        self.apply(block.func, OrderAsIntegersOp(block.name))

    def decompose_reduction(self, block: Block, loop: Loop) -> Block:
        """Make the init of a block into a block of its own, in front of a loop; returns that."""
        op = DecomposeReductionOp(block.name, loop.label)
        self.apply(block.func, op)
        return Block(block.func, op.new_names[0])

    def rfactor(self, block: Block, along: Loop, at: Loop) -> Block:
        """
        Let a block make partial results, one for each iteration of `along`, in the loop `at`, which holds the whole
        reduction; behind that, they are combined. Returns the block that makes them: `block` is the one that combines.
        """
        op = RfactorOp(block.name, along.label, at.label)
        self.apply(block.func, op)
        return Block(block.func, op.new_names[1])

    def function(self, name: str) -> PrimFuncOp:
        """A loop function of the module, by name, as it is now."""
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
    """The one function that loops are in."""
    names = sorted({loop.func for loop in loops})
    if len(names) != 1:
        raise UnknownNameError(f"expected loops of one function, found {', '.join(names) or 'none'}")
    return names[0]
