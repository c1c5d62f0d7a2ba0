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
        self.schedule, self.name, self.random = schedule, name, random

    def apply(self) -> None:
        """Draw a step and apply it."""
        self.random.choice(STEPS)(self)

    def block(self, prefer: Callable[[BlockOp], bool] = lambda block: True) -> Block:
        """Return a block, one of those that are preferred if there are any."""
        function = self.schedule.function(self.name)
        blocks = [op for op in function.walk() if isinstance(op, BlockOp)]
        names = [op.block_name.data for op in [*filter(prefer, blocks)] or blocks]
        return Block(self.name, self.random.choice(names) if names else "none")

    def loop(self, block: Block | None = None) -> Loop:
        """Return a loop around a block, any if none is given."""
        loops = self.schedule.get_loops(block or self.block())
        return self.random.choice(loops) if loops else Loop(self.name, "none")

    def _two_blocks(self, prefer: Callable[[BlockOp], bool] = lambda block: True) -> tuple[Block, Loop]:
        """Return a block, and a loop around another one."""
        block = self.block(prefer)
        return block, self.loop(self.block(lambda other: other.block_name.data != block.name))

    def _is(self) -> bool:
        return self.random.random() < 0.5

    def fuse(self) -> None:
        loops = self.schedule.get_loops(self.block())
        if loops:
            first = self.random.randint(0, max(len(loops) - 2, 0))
            self.schedule.fuse(*loops[first : first + 2])

    def reorder(self) -> None:
        loops = self.schedule.get_loops(self.block())
        if loops:
            self.schedule.reorder(*self.random.sample(loops, self.random.randint(1, len(loops))))

    def partition(self) -> None:
        block, loop = self._two_blocks()
        loops = [self.loop(block), loop] if self._is() else [self.loop(block)]
        self.schedule.partition(loops, self.random.choice([2, 3]))

    def compute_at(self) -> None:
        block, loop = self._two_blocks(is_local)
        self.schedule.compute_at(block, loop)
        if self._is():
            self.schedule.compact_buffer(block, 0)

    def reverse_compute_at(self) -> None:
        self.schedule.reverse_compute_at(*self._two_blocks())
        if self._is():
            self.schedule.compact_buffer(self.block(is_local), 0)

    def transform_layout(self) -> None:
        buffer = self.random.choice([("write", 0), ("write", 0), ("read", 0)])
        self.schedule.transform_layout(self.block(is_local), buffer, self.random.choice(LAYOUTS))

    def decompose_reduction(self) -> None:
        block = self.block(is_reduction)
        self.schedule.decompose_reduction(block, self.loop(block))

    def prefetch(self) -> None:
        block = self.block()
        self.schedule.prefetch(block, self.random.randint(0, 1), self.loop(block), self.random.choice([1, 8]))

    def rfactor(self) -> None:
        block = self.block(is_reduction)
        self.schedule.rfactor(block, self.loop(block), self.loop(block))


_TWICE: list[Callable[[RandomStep], object]] = [
    lambda step: step.schedule.split(step.loop(), step.random.choice(FACTORS)),
    RandomStep.reorder,
    RandomStep.rfactor,
    RandomStep.transform_layout,
    RandomStep.compute_at,
    RandomStep.reverse_compute_at,
]
STEPS: list[Callable[[RandomStep], object]] = [
    *_TWICE,
    *_TWICE,
    RandomStep.fuse,
    lambda step: step.schedule.pad(step.loop(), step.random.choice([2, 8])),
    RandomStep.partition,
    lambda step: step.schedule.parallel(step.loop()),
    lambda step: step.schedule.vectorize(step.loop()),
    lambda step: step.schedule.unroll(step.loop()),
    lambda step: step.schedule.cache_read(step.block(), step.random.randint(0, 1)),
    lambda step: step.schedule.cache_write(step.block(), 0),
    lambda step: step.schedule.compute_inline(step.block(is_local)),
    RandomStep.decompose_reduction,
    RandomStep.prefetch,
    lambda step: step.schedule.unguard(step.block(lambda block: is_local(block) and is_guarded(block))),
    lambda step: step.schedule.zero_fill(step.block(lambda block: is_local(block) and is_guarded(block))),
    lambda step: step.schedule.reverse_compute_inline(step.block()),
    lambda step: step.schedule.compact_buffer(step.block(is_local), 0),
]
"""The steps, more often drawn the more often they are here."""
