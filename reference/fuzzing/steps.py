"""Random steps of schedules."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from xdsl.ir.affine import AffineExpr, AffineMap

from relex.dialects.tir import AllocBufferOp, BlockOp
from relex.passes.analysis.buffers import buffers_written
from relex.passes.analysis.loop_tree import guard_of
from relex.passes.schedule import Block, Loop, Schedule

FACTORS = [[None, 2], [2, None], [None, 8], [None, 4, 2], [3, None, 1], [1, None], [None], [5, 4]]

A, B, C = map(AffineExpr.dimension, range(3))
LAYOUTS = [
    AffineMap(1, 0, (A // 4, A % 4)),
    AffineMap(2, 0, (B // 4, A, B % 4)),
    AffineMap(2, 0, (B, A)),
    AffineMap(2, 0, (A * 7 + B,)),
    AffineMap(3, 0, (C, A + B)),
]


def is_local(block: BlockOp) -> bool:
    """Return whether a block writes local buffers only."""
    return all(isinstance(buffer.owner, AllocBufferOp) for buffer in buffers_written(block))


def is_guarded(block: BlockOp) -> bool:
    """Return whether a block has a condition."""
    return guard_of(block) is not None


def is_reduction(block: BlockOp) -> bool:
    """Return whether a block is a reduction."""
    return block.init is not None


class RandomStep:
    """Draws a step and applies it. Raises `CompileError` for one that does not apply."""

    def __init__(self, schedule: Schedule, name: str, random: Random):
        self._schedule, self._name, self._random = schedule, name, random

    def apply(self) -> None:
        """Draw a step and apply it."""
        self._random.choice(STEPS)(self)

    def _block(self, prefer: Callable[[BlockOp], bool] = lambda block: True) -> Block:
        """Return a block, one of those that are preferred if there are any."""
        function = self._schedule.function(self._name)
        blocks = [op for op in function.walk() if isinstance(op, BlockOp)]
        names = [op.block_name.data for op in [*filter(prefer, blocks)] or blocks]
        return Block(self._name, self._random.choice(names) if names else "none")

    def _loop(self, block: Block | None = None) -> Loop:
        loops = self._schedule.get_loops(block or self._block())
        return self._random.choice(loops) if loops else Loop(self._name, "none")

    def _two_blocks(self, prefer: Callable[[BlockOp], bool] = lambda block: True) -> tuple[Block, Loop]:
        """Return a block, and a loop around another one."""
        block = self._block(prefer)
        return block, self._loop(self._block(lambda other: other.block_name.data != block.name))

    def _is(self) -> bool:
        return self._random.random() < 0.5

    def split(self) -> None:
        self._schedule.split(self._loop(), self._random.choice(FACTORS))

    def fuse(self) -> None:
        loops = self._schedule.get_loops(self._block())
        if loops:
            first = self._random.randint(0, max(len(loops) - 2, 0))
            self._schedule.fuse(*loops[first : first + 2])

    def reorder(self) -> None:
        loops = self._schedule.get_loops(self._block())
        if loops:
            self._schedule.reorder(*self._random.sample(loops, self._random.randint(1, len(loops))))

    def pad(self) -> None:
        self._schedule.pad(self._loop(), self._random.choice([2, 8]))

    def partition(self) -> None:
        block, loop = self._two_blocks()
        loops = [self._loop(block), loop] if self._is() else [self._loop(block)]
        self._schedule.partition(loops, self._random.choice([2, 3]))

    def parallel(self) -> None:
        self._schedule.parallel(self._loop())

    def vectorize(self) -> None:
        self._schedule.vectorize(self._loop())

    def unroll(self) -> None:
        self._schedule.unroll(self._loop())

    def cache_read(self) -> None:
        self._schedule.cache_read(self._block(), self._random.randint(0, 1))

    def cache_write(self) -> None:
        self._schedule.cache_write(self._block(), 0)

    def compute_inline(self) -> None:
        self._schedule.compute_inline(self._block(is_local))

    def compute_at(self) -> None:
        block, loop = self._two_blocks(is_local)
        self._schedule.compute_at(block, loop)
        if self._is():
            self._schedule.compact_buffer(block, 0)

    def reverse_compute_at(self) -> None:
        self._schedule.reverse_compute_at(*self._two_blocks())
        if self._is():
            self._schedule.compact_buffer(self._block(is_local), 0)

    def compact_buffer(self) -> None:
        self._schedule.compact_buffer(self._block(is_local), 0)

    def transform_layout(self) -> None:
        buffer = self._random.choice([("write", 0), ("write", 0), ("read", 0)])
        self._schedule.transform_layout(self._block(is_local), buffer, self._random.choice(LAYOUTS))

    def unguard(self) -> None:
        self._schedule.unguard(self._block(lambda block: is_local(block) and is_guarded(block)))

    def zero_fill(self) -> None:
        self._schedule.zero_fill(self._block(lambda block: is_local(block) and is_guarded(block)))

    def reverse_compute_inline(self) -> None:
        self._schedule.reverse_compute_inline(self._block())

    def decompose_reduction(self) -> None:
        block = self._block(is_reduction)
        self._schedule.decompose_reduction(block, self._loop(block))

    def rfactor(self) -> None:
        block = self._block(is_reduction)
        self._schedule.rfactor(block, self._loop(block), self._loop(block))


_TWICE: list[Callable[[RandomStep], None]] = [
    RandomStep.split,
    RandomStep.reorder,
    RandomStep.rfactor,
    RandomStep.transform_layout,
    RandomStep.compute_at,
    RandomStep.reverse_compute_at,
]
STEPS: list[Callable[[RandomStep], None]] = [
    *_TWICE,
    *_TWICE,
    RandomStep.fuse,
    RandomStep.pad,
    RandomStep.partition,
    RandomStep.parallel,
    RandomStep.vectorize,
    RandomStep.unroll,
    RandomStep.cache_read,
    RandomStep.cache_write,
    RandomStep.compute_inline,
    RandomStep.decompose_reduction,
    RandomStep.unguard,
    RandomStep.zero_fill,
    RandomStep.reverse_compute_inline,
    RandomStep.compact_buffer,
]
"""The steps, more often drawn the more often they are here."""
