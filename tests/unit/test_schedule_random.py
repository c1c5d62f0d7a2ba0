"""Random schedules: each step is refused with a reason, or leaves the function computing what it did."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import PROGRAMS, check, program
from xdsl.ir.affine import AffineExpr, AffineMap

from relex.dialects import parse_module
from relex.dialects.errors import CompileError
from relex.dialects.tir import AllocBufferOp, BlockOp
from relex.passes import ApplySchedulePass
from relex.passes.analysis.buffers import buffers_written
from relex.passes.analysis.loop_tree import guard_of
from relex.passes.schedule import Block, Loop, Schedule

FACTORS = st.sampled_from([[None, 2], [2, None], [None, 8], [None, 4, 2], [3, None, 1], [1, None], [None], [5, 4]])


A, B, C = map(AffineExpr.dimension, range(3))
LAYOUTS = [
    AffineMap(1, 0, (A // 4, A % 4)),
    AffineMap(2, 0, (B // 4, A, B % 4)),
    AffineMap(2, 0, (B, A)),
    AffineMap(2, 0, (A * 7 + B,)),
    AffineMap(3, 0, (C, A + B)),
]


def is_local(block: BlockOp) -> bool:
    return all(isinstance(buffer.owner, AllocBufferOp) for buffer in buffers_written(block))


def is_guarded(block: BlockOp) -> bool:
    return guard_of(block) is not None


def is_reduction(block: BlockOp) -> bool:
    return block.init is not None


class Step:
    """Draws one step and applies it."""

    def __init__(self, schedule: Schedule, name: str, data: st.DataObject):
        self.schedule, self.name, self.data = schedule, name, data

    def block(self, prefer: Callable[[BlockOp], bool] = lambda block: True) -> Block:
        """A block, one of those that are preferred if there are any."""
        (func,) = self.schedule.module.ops
        blocks = [op for op in func.walk() if isinstance(op, BlockOp)]
        names = [op.block_name.data for op in [*filter(prefer, blocks)] or blocks]
        return Block(self.name, self.data.draw(st.sampled_from(names), "block"))

    def loop(self, block: Block | None = None) -> Loop:
        loops = self.schedule.get_loops(block or self.block())
        return self.data.draw(st.sampled_from(loops), "loop") if loops else Loop(self.name, "none")

    def two_blocks(self, prefer: Callable[[BlockOp], bool] = lambda block: True) -> tuple[Block, Loop]:
        """A block, and a loop around another one."""
        block = self.block(prefer)
        return block, self.loop(self.block(lambda other: other.block_name.data != block.name))

    def split(self) -> None:
        self.schedule.split(self.loop(), self.data.draw(FACTORS, "factors"))

    def fuse(self) -> None:
        loops = self.schedule.get_loops(self.block())
        first = self.data.draw(st.integers(0, max(len(loops) - 2, 0)), "first")
        self.schedule.fuse(*loops[first : first + 2])

    def reorder(self) -> None:
        loops = self.schedule.get_loops(self.block())
        if loops:
            order = self.data.draw(st.permutations(loops), "order")
            self.schedule.reorder(*order[: self.data.draw(st.integers(1, len(loops)), "count")])

    def pad(self) -> None:
        self.schedule.pad(self.loop(), self.data.draw(st.sampled_from([2, 8]), "multiple"))

    def partition(self) -> None:
        block, loop = self.two_blocks()
        loops = [self.loop(block), loop] if self.data.draw(st.booleans(), "two") else [self.loop(block)]
        self.schedule.partition(loops, self.data.draw(st.sampled_from([2, 3]), "multiple"))

    def parallel(self) -> None:
        self.schedule.parallel(self.loop())

    def vectorize(self) -> None:
        self.schedule.vectorize(self.loop())

    def unroll(self) -> None:
        self.schedule.unroll(self.loop())

    def cache_read(self) -> None:
        self.schedule.cache_read(self.block(), self.data.draw(st.integers(0, 1), "index"))

    def cache_write(self) -> None:
        self.schedule.cache_write(self.block(), 0)

    def compute_inline(self) -> None:
        self.schedule.compute_inline(self.block(is_local))

    def compute_at(self) -> None:
        block, loop = self.two_blocks(is_local)
        self.schedule.compute_at(block, loop)
        if self.data.draw(st.booleans(), "compact"):
            self.schedule.compact_buffer(block, 0)

    def reverse_compute_at(self) -> None:
        self.schedule.reverse_compute_at(*self.two_blocks())
        if self.data.draw(st.booleans(), "compact"):
            self.schedule.compact_buffer(self.block(is_local), 0)

    def compact_buffer(self) -> None:
        self.schedule.compact_buffer(self.block(is_local), 0)

    def transform_layout(self) -> None:
        buffer = self.data.draw(st.sampled_from([("write", 0), ("write", 0), ("read", 0)]), "buffer")
        layout = self.data.draw(st.sampled_from(LAYOUTS), "layout")
        self.schedule.transform_layout(self.block(is_local), buffer, layout)

    def unguard(self) -> None:
        self.schedule.unguard(self.block(lambda block: is_local(block) and is_guarded(block)))

    def reverse_compute_inline(self) -> None:
        self.schedule.reverse_compute_inline(self.block())

    def decompose_reduction(self) -> None:
        block = self.block(is_reduction)
        self.schedule.decompose_reduction(block, self.loop(block))

    def rfactor(self) -> None:
        block = self.block(is_reduction)
        self.schedule.rfactor(block, self.loop(block), self.loop(block))


STEPS = [
    "split",
    "split",
    "fuse",
    "reorder",
    "reorder",
    "pad",
    "partition",
    "parallel",
    "vectorize",
    "unroll",
    "cache_read",
    "cache_write",
    "compute_inline",
    "decompose_reduction",
    "rfactor",
    "rfactor",
    "unguard",
    "reverse_compute_inline",
    "transform_layout",
    "transform_layout",
    "compact_buffer",
    "compute_at",
    "compute_at",
    "reverse_compute_at",
    "reverse_compute_at",
]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("strict", [False, True])
@given(data=st.data())
@settings(deadline=None, max_examples=4)
def test_random_schedules(name: str, strict: bool, data: st.DataObject) -> None:
    schedule = Schedule(program(name, strict=strict))
    for _ in range(data.draw(st.integers(1, 8), "steps")):
        kind = data.draw(st.sampled_from(STEPS), "step")
        try:
            getattr(Step(schedule, name, data), kind)()
        except CompileError as e:
            (diagnostic,) = e.diagnostics
            assert "expected" in diagnostic.message
            assert "\n" not in diagnostic.message
    check(schedule, name, strict=strict, exact=not strict and name != "softmax")
    replay(schedule, name, strict)


def replay(schedule: Schedule, name: str, strict: bool) -> None:
    """The trace as text, applied to the function as it was, gives the same."""
    (func,) = program(name, strict=strict).ops
    steps = [str(op) for op in schedule.trace().ops]
    again = ApplySchedulePass()(parse_module("\n".join([str(func), *steps])))
    assert str(again) == str(schedule.module)
