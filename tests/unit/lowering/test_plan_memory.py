"""Buffers in one arena: nothing that is still needed is overwritten, and little memory is needed."""

from __future__ import annotations

import itertools
import operator
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from native import call, compile_core
from programs import Array, random_array
from random_graphs import graphs
from test_dynamic_graphs import CALLS, OPERATORS, SHAPES, Graph
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import SymbolTable
from xdsl.utils.hints import isa

from relex.dialects import parse_module, verify_module
from relex.dialects.errors import CompileRemark
from relex.dialects.relex import Operator
from relex.dialects.sizes import Size, evaluate, named
from relex.dialects.tir import CallLoopsOp, PrimFuncOp
from relex.lowering import (
    ConvertTirToScfPass,
    ExpandDot4Pass,
    ExpandFloatsPass,
    ExpandLookUpsPass,
    LegalizeOpsPass,
    LowerCallTirPass,
    PlanMemoryPass,
)
from relex.lowering.memory import offsets as offsets_module
from relex.lowering.memory.offsets import LiveRange, Timeline, compact, end, most_in_use, place
from relex.lowering.plan_memory import ALIGNMENT, offsets_of
from relex.lowering.support.signatures import signatures
from relex.passes import InferSizesPass, run_pass
from relex.reference import interpret

# Offsets


def random_intervals(seed: int) -> list[LiveRange]:
    rng = random.Random(seed)
    count = rng.choice([1, 5, 10, 20, 50, 100])
    length, size = [
        (lambda: rng.randrange(count), lambda: rng.randrange(1000)),
        (lambda: rng.randrange(6), lambda: 64 * rng.randrange(20)),
        (lambda: int(rng.paretovariate(1)), lambda: int(64 * rng.paretovariate(1))),
        (lambda: rng.randrange(1, 4), lambda: rng.choice([0, 64, 128, 512, 4096])),
    ][seed % 4]
    firsts = [rng.randrange(count) for _ in range(count)]
    return [LiveRange(first, first + length(), size()) for first in firsts]


@pytest.mark.parametrize("seed", range(60))
def test_little_more_is_needed_than_is_in_use(seed: int) -> None:
    intervals = random_intervals(seed)
    offsets = place(intervals)
    assert all(offset >= 0 for offset in offsets)
    for i, j in itertools.combinations(range(len(intervals)), 2):
        a, b = intervals[i], intervals[j]
        apart = offsets[i] + a.size <= offsets[j] or offsets[j] + b.size <= offsets[i]
        assert apart or a.last < b.first or b.last < a.first or 0 in (a.size, b.size)
    assert most_in_use(intervals) <= end(intervals, offsets) <= 1.1 * most_in_use(intervals)


def meet(a: LiveRange, b: LiveRange) -> bool:
    return a.first <= b.last and b.first <= a.last


@pytest.mark.parametrize("seed", range(60))
def test_intervals_that_meet_share_nodes(seed: int) -> None:
    """One consists of a node that the other consists of, or that contains one of its."""
    intervals = random_intervals(seed)
    nodes = Timeline(intervals).nodes
    for i, j in itertools.combinations(range(len(intervals)), 2):
        a, b = nodes[i], nodes[j]
        shared = {*a.own} & {*b.own, *b.above} or {*a.above} & {*b.own}
        assert bool(shared) == meet(intervals[i], intervals[j])


@pytest.mark.parametrize("seed", range(60))
def test_intervals_go_as_low_as_those_below_allow(seed: int) -> None:
    intervals = [replace(interval, size=interval.size or 64) for interval in random_intervals(seed)]
    offsets = place(intervals)
    expected: dict[int, int] = {}
    for i in sorted(range(len(intervals)), key=lambda i: offsets[i]):
        lower = [j for j in expected if offsets[j] < offsets[i] and meet(intervals[i], intervals[j])]
        expected[i] = max((expected[j] + intervals[j].size for j in lower), default=0)
    assert compact(intervals, offsets) == [expected[i] for i in range(len(intervals))]


LASTS: dict[str, Callable[[int], int]] = {
    "together": lambda i: 4000,
    "first in, last out": lambda i: 4000 - i,
    "one by one": lambda i: i + 2,
}


@pytest.mark.parametrize("last", LASTS)
def test_buffers_that_are_live_at_once_are_not_compared_in_pairs(last: str, monkeypatch: pytest.MonkeyPatch) -> None:
    intervals = [LiveRange(i, LASTS[last](i), 64 + 64 * (i % 7)) for i in range(2000)]
    looked_at: list[int] = []
    find_gap = offsets_module.find_gap

    def counting(taken: Sequence[tuple[int, int]], size: int) -> int:
        looked_at.append(len(taken))
        return find_gap(taken, size)

    monkeypatch.setattr(offsets_module, "find_gap", counting)
    place(intervals)
    assert sum(looked_at) < 60 * len(looked_at)


def test_places_for_nothing() -> None:
    assert place([]) == []
    assert end([], []) == most_in_use([]) == 0


N, M = named("n"), named("m")
SIZES: list[Size] = [0, 1, 64, 1000, 4 * N, 512 * N, 40 * N, 64 * N * M, 8 * M, 4 * N + 4 * M, 4 * (N // 2)]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from(SIZES)), max_size=12),
    st.sampled_from([(0, 0), (1, 1), (17, 0), (3, 1000), (10**6, 2)]),
)
def test_offsets_hold_for_all_sizes(found: list[tuple[int, int, Size]], numbers: tuple[int, int]) -> None:
    values = dict(zip("nm", numbers, strict=True))
    uses = [(min(a, b), max(a, b), size) for a, b, size in found]
    ranges: list[tuple[int, int, int, int]] = []
    for (first, last, size), offset in zip(uses, offsets_of(uses), strict=True):
        start = evaluate(offset, values)
        assert start % ALIGNMENT == 0
        ranges.append((first, last, start, start + evaluate(size, values)))
    for i, (first, last, start, stop) in enumerate(ranges):
        for other_first, other_last, other_start, other_stop in ranges[:i]:
            if first <= other_last and other_first <= last and start < stop and other_start < other_stop:
                assert stop <= other_start or other_stop <= start


def test_equal_sizes_share_places() -> None:
    assert offsets_of([(0, 1, 512 * N), (1, 2, 512 * N), (2, 3, 512 * N)]) == [0, 512 * N, 0]
    assert offsets_of([(0, 1, 4 * N), (1, 2, 4 * N)]) == [0, 64 * ((4 * N + 63) // 64)]


def chain(sizes: Sequence[Size], length: int) -> list[tuple[int, int, Size]]:
    """Buffers as in an unrolled loop, each live for a while."""
    return [(i, i + 3 + 7 * i % 5, sizes[i * i % 11 % len(sizes)]) for i in range(length)]


def test_offsets_of_one_size_are_multiples_of_it() -> None:
    offsets = offsets_of(chain([4000 * N, 256 * N, 512 * N], 300))
    assert not any("max" in str(offset) for offset in offsets)


@pytest.mark.parametrize("values", [{"n": 1, "m": 1}, {"n": 100, "m": 3}, {"n": 0, "m": 50}])
def test_offsets_of_many_buffers_are_short(values: dict[str, int]) -> None:
    """None of the sizes is always the larger one, so that offsets are maxima of maxima."""
    uses = chain([256 * N, 256 * M, 64 * N * M, 40 * N], 150)
    offsets = offsets_of(uses)
    assert max(len(str(offset)) for offset in offsets) < 2000
    ranges = [(first, last, evaluate(offset, values), evaluate(offset + size, values))
              for (first, last, size), offset in zip(uses, offsets, strict=True)]  # fmt: skip
    for a, b in itertools.combinations(ranges, 2):
        assert a[1] < b[0] or b[1] < a[0] or a[3] <= b[2] or b[3] <= a[2] or 0 in (a[3] - a[2], b[3] - b[2])


# Programs


def lowered(module: ModuleOp) -> ModuleOp:
    """A graph in functions on buffers, in which every operator has its own result."""
    for p in (InferSizesPass(), LegalizeOpsPass(), LowerCallTirPass()):
        module = run_pass(p, module)
    return module


ARITHMETIC: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.DivUIOp: lambda lhs, rhs: lhs // rhs,
    arith.FloorDivSIOp: lambda lhs, rhs: lhs // rhs,
    arith.MaxSIOp: max,
    arith.MinSIOp: min,
}


class Shadow:
    """Which buffer each byte of the arena was last written by, while the ops of a function run in order.

    It only looks at the offsets and sizes of views, and which arguments calls read and write.
    """

    def __init__(self, function: func.FuncOp, shapes: Sequence[Sequence[int]]):
        self._numbers: dict[SSAValue, int] = {}
        self._shapes: dict[SSAValue, Sequence[int]] = dict(zip(function.args, shapes, strict=True))
        self._base: dict[SSAValue, tuple[SSAValue, int, int]] = {}
        self._writers: dict[SSAValue, Array] = {}
        for op in function.body.block.ops:
            self._run(op)

    def _run(self, op: Operation) -> None:
        match op:
            case memref.AllocOp() | memref.AllocaOp():
                sizes = iter(op.dynamic_sizes)
                shape = [self._numbers[next(sizes)] if s == DYNAMIC_INDEX else s for s in op.memref.type.get_shape()]
                self._shapes[op.memref] = shape
                self._writers[op.memref] = np.zeros(int(np.prod(shape)), np.int64)
            case memref.ViewOp():
                self._view(op)
            case memref.CastOp():
                self._shapes[op.dest] = self._shapes[op.source]
                if op.source in self._base:
                    self._base[op.dest] = self._base[op.source]
            case memref.CopyOp():
                self._read(op.source)
                self._write(op.destination)
            case CallLoopsOp() | func.CallOp():
                callee = SymbolTable.lookup_symbol(op, op.callee)
                inputs = callee.num_inputs if isinstance(callee, PrimFuncOp) else len(op.arguments) - 1
                reads = op.arguments if op.callee.root_reference.data.endswith("_in_place") else op.arguments[:inputs]
                for argument in reads:
                    self._read(argument)
                for argument in op.arguments[inputs:]:
                    self._write(argument)
            case _:
                self._compute(op)

    def _view(self, op: memref.ViewOp) -> None:
        sizes = iter(op.sizes)
        kind = op.result.type
        shape = [self._numbers[next(sizes)] if size == DYNAMIC_INDEX else size for size in kind.get_shape()]
        itemsize = getattr(kind.element_type, "compile_time_size", 8)
        start = self._numbers[op.byte_shift]
        stop = start + int(np.prod(shape)) * itemsize
        assert start % ALIGNMENT == 0
        assert 0 <= start <= stop <= len(self._writers[op.source])
        self._shapes[op.result] = shape
        self._base[op.result] = op.source, start, stop

    def _compute(self, op: Operation) -> None:
        if not op.results or (not op.operands and not isinstance(op, arith.ConstantOp)):
            return
        if isinstance(op, arith.ConstantOp):
            if isa(op.value, IntegerAttr):
                self._numbers[op.result] = op.value.value.data
            return
        if isinstance(op, memref.DimOp):
            self._numbers[op.result] = self._shapes[op.source][self._numbers[op.index]]
            return
        lhs, rhs = (self._numbers[operand] for operand in op.operands)
        self._numbers[op.results[0]] = ARITHMETIC[type(op)](lhs, rhs)

    def _read(self, buffer: SSAValue) -> None:
        if buffer in self._base:
            arena, start, stop = self._base[buffer]
            assert (self._writers[arena][start:stop] == self._name(buffer)).all()

    def _write(self, buffer: SSAValue) -> None:
        if buffer in self._base:
            arena, start, stop = self._base[buffer]
            self._writers[arena][start:stop] = self._name(buffer)

    def _name(self, buffer: SSAValue) -> int:
        """One number for a buffer and casts of it."""
        while isinstance(buffer.owner, memref.CastOp):
            buffer = buffer.owner.source
        return 1 + list(self._base).index(buffer)


def check(graph: ModuleOp, calls: Sequence[Sequence[Array]]) -> None:
    """Every call of @main gives the same with its buffers in an arena, interpreted and compiled, and the arena holds at
    every moment what is still needed."""
    before = lowered(graph)
    after = PlanMemoryPass()(before)
    verify_module(after)
    assert sum(isinstance(op, memref.AllocOp) for op in main_of(after).walk()) <= 1
    interface = signatures(graph)
    reference = interpret(before, interface=interface)["main"]
    planned = interpret(after, interface=interface, checked=True)["main"]
    passes = (ConvertTirToScfPass(), ExpandFloatsPass(), ExpandDot4Pass(), ExpandLookUpsPass())
    code = compile_core(str(reduce(lambda module, lower: lower(module), passes, after)))
    for inputs in calls:
        wanted = as_list(reference(*inputs))
        Shadow(main_of(after), [array.shape for array in (*inputs, *wanted)])
        compiled = [np.empty_like(array) for array in wanted]
        call(code, "main", *inputs, *compiled)
        for found in (as_list(planned(*inputs)), compiled):
            for one, other in zip(wanted, found, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def as_list(results: Any) -> list[Array]:
    return list(results) if isinstance(results, tuple) else [results]  # pyright: ignore[reportUnknownArgumentType]


def main_of(module: ModuleOp) -> func.FuncOp:
    return next(op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == "main")


@settings(max_examples=5)
@given(graphs())
def test_random_graphs(graph: ModuleOp) -> None:
    # Sizes that depend on elements are checked during a run, which needs a runtime: `test_all_levels` has it.
    assume(not any(isinstance(op, Operator) and op.COUNTS for op in graph.walk()))
    rng = np.random.default_rng(0)
    specs = signatures(graph)["main"].with_sizes({}).inputs
    check(graph, [[np.asarray(random_array(rng, s.dtype.name, s.shape_with({}))) for s in specs]])


@settings(max_examples=5)
@given(data=st.data())
def test_random_graphs_with_sizes_of_the_run(data: st.DataObject) -> None:
    graph = Graph(data.draw(st.lists(SHAPES, min_size=1, max_size=3)), np.random.default_rng(0))
    inputs = len(graph.values)
    for make in data.draw(st.lists(st.sampled_from(list(OPERATORS)), min_size=2, max_size=10)):
        if fitting := graph.operands(make):
            graph.add(make, data.draw(st.sampled_from(fitting)))
    module = parse_module(str(graph.module([len(graph.values) - 1])))
    check(module, [[arrays[k] for _, _, arrays in graph.values[:inputs]] for k in range(len(CALLS))])


CHAIN = """
func.func private @f(%x: memref<4xf32>, %y: memref<4xf32>) {{
  "memref.copy"(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}}
func.func @main(%x: memref<4xf32>, %out: memref<4xf32>) {{
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %arena = memref.alloca() : memref<128xi8>
  %a = memref.view %arena[%c0][] : memref<128xi8> to memref<4xf32>
  %b = memref.view %arena[%{place}][] : memref<128xi8> to memref<4xf32>
  func.call @f(%x, %a) : (memref<4xf32>, memref<4xf32>) -> ()
  func.call @f(%x, %b) : (memref<4xf32>, memref<4xf32>) -> ()
  func.call @f(%a, %out) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}}
"""


def test_the_shadow_sees_what_is_overwritten() -> None:
    with pytest.raises(AssertionError):
        Shadow(main_of(parse_module(CHAIN.format(place="c0"))), [(4,), (4,)])


def test_report() -> None:
    text = """
    func.func @main(%x: tensor<?x128xf32>) -> tensor<?x128xf32> {
      %a = relex.exp %x : (tensor<?x128xf32>) -> tensor<?x128xf32>
      %b = relex.permute_dims %a axes = [1, 0] : (tensor<?x128xf32>) -> tensor<128x?xf32>
      %c = relex.permute_dims %b axes = [1, 0] : (tensor<128x?xf32>) -> tensor<?x128xf32>
      %d = relex.exp %c : (tensor<?x128xf32>) -> tensor<?x128xf32>
      func.return %d : tensor<?x128xf32>
    }"""
    with pytest.warns(
        CompileRemark, match=r"remark: .*@main needs 1024 \* x_d0 bytes for buffers of 1536 \* x_d0 bytes"
    ):
        PlanMemoryPass(report=True)(lowered(parse_module(text)))


def test_nothing_to_report(recwarn: pytest.WarningsRecorder) -> None:
    text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { func.return %x : tensor<4xf32> }"
    PlanMemoryPass(report=True)(lowered(parse_module(text)))
    assert not recwarn
