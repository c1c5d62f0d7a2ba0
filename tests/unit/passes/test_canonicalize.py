"""Simplified programs compute the same to the bit, on numbers of all kinds."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Array, tensor_of
from test_random_graphs import OPERATORS, Graph
from xdsl.builder import ImplicitBuilder
from xdsl.dialects.builtin import FunctionType, ModuleOp, bf16, f16, f32, f64, i1, i8, i32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.transforms.canonicalize import CanonicalizePass

from relex.dialects import parse_module, verify_module
from relex.dialects.dtypes import numpy_dtype
from relex.dialects.relex import (
    AbsOp,
    AddOp,
    AstypeOp,
    BroadcastToOp,
    ClipOp,
    ConcatOp,
    ConstantOp,
    DivideOp,
    EwiseFMAOp,
    ExpandDimsOp,
    FloorOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
    NegativeOp,
    Operator,
    PermuteDimsOp,
    ReluOp,
    ReshapeOp,
    SqueezeOp,
    StridedSliceOp,
    SubtractOp,
    WhereOp,
)
from relex.dialects.relex.operator import tensor_type
from relex.passes import run_pass
from relex.passes.graph.canonicalization import SIMPLIFICATIONS, simplifies
from relex.reference import interpret

Make = Callable[[SSAValue], Operator]
"""From a value to an operator on it."""

TYPES = (f16, f32, f64, i1, i8, i32, i64)
"""bf16 has no arrays in NumPy."""


def numbers(dtype: str) -> Array:
    """Numbers near all edges of a type."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([True, False])
    if kind.kind == "f":
        info = np.finfo(kind)
        edges = [0.0, 1.0, 0.1, 1.5, 127.5, 128, 300, 65504, 2**24 + 1, 2**31, 2**62 + 1, info.max, info.tiny, np.inf]
        with np.errstate(over="ignore"):
            return np.array([*edges, *(-x for x in edges), np.nan]).astype(kind)
    info = np.iinfo(kind)
    edges = [0, 1, 2, 100, 127, 128, 255, 256, 2049, 65535, 2**24 + 1, 2**31 - 1, 2**53 + 1]
    return np.array([x for x in (*edges, *(-x for x in edges), info.max, info.min) if info.min <= x <= info.max], kind)


def program(inputs: list[Array], build: Make) -> ModuleOp:
    """A function @main that computes what `build` makes of its arguments."""
    types = [tensor_of(x) for x in inputs]
    function = FuncOp("main", (types, []))
    with ImplicitBuilder(function.body):
        result = build(*function.args)
        ReturnOp(result)
    function.function_type = FunctionType.from_lists(types, result.result_types)
    return ModuleOp([function])


def simplified(module: ModuleOp, inputs: list[Array]) -> list[Operator]:
    """The operators that are left of a program. What it computes must not change."""
    result = run_pass(CanonicalizePass(), module)
    verify_module(result)
    expected, found = interpret(module)["main"](*inputs), interpret(result)["main"](*inputs)
    assert_same(found, expected)
    return [op for op in result.walk() if isinstance(op, Operator)]


def assert_same(a: Array, b: Array) -> None:
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    np.testing.assert_array_equal(a, b)
    if a.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(a) & ~np.isnan(a), np.signbit(b) & ~np.isnan(b))


@pytest.mark.parametrize(("first", "middle", "last"), list(itertools.product(TYPES, repeat=3)))
def test_conversions(first: Attribute, middle: Attribute, last: Attribute) -> None:
    x = numbers(numpy_dtype(first).name)
    simplified(program([x], lambda x: AstypeOp(AstypeOp(x, middle), last)), [x])


@pytest.mark.parametrize(
    ("first", "middle", "last", "left"),
    [
        (f32, f32, f32, 0),
        (f16, f32, f16, 0),
        (i8, f16, i8, 0),
        (i1, i64, i1, 0),
        (bf16, f32, bf16, 0),
        (i8, bf16, f32, 1),
        (bf16, f64, f16, 1),
        (i32, f64, i1, 1),
        (i32, f64, i64, 1),
        (i1, f16, i8, 1),
        (f16, bf16, f16, 2),
        (bf16, f16, bf16, 2),
        (i32, f32, i32, 2),
        (i64, f64, i64, 2),
        (i32, f64, i8, 2),
        (f32, i32, f32, 2),
        (f64, f32, f64, 2),
        (i32, i8, i32, 2),
    ],
)
def test_conversions_that_are_left(first: Attribute, middle: Attribute, last: Attribute, left: int) -> None:
    module = parse_module(
        f"""
        func.func @main(%x: tensor<3x{first}>) -> tensor<3x{last}> {{
          %0 = relex.astype %x dtype = {middle} : (tensor<3x{first}>) -> tensor<3x{middle}>
          %1 = relex.astype %0 dtype = {last} : (tensor<3x{middle}>) -> tensor<3x{last}>
          func.return %1 : tensor<3x{last}>
        }}"""
    )
    result = run_pass(CanonicalizePass(), module)
    assert sum(isinstance(op, AstypeOp) for op in result.walk()) == left


def number(dtype: str, value: float) -> SSAValue:
    return ConstantOp(np.array(value).astype(dtype)).result


FLOATS = ["float16", "float32", "float64"]
ARITHMETIC: list[tuple[Make, list[str], int]] = [
    (lambda x: AddOp(x, number("float32", -0.0)), ["float32"], 0),
    (lambda x: AddOp(number("float16", -0.0), x), ["float16"], 0),
    (lambda x: AddOp(x, number("float32", 0.0)), ["float32"], 1),
    (lambda x: AddOp(x, number("int8", 0)), ["int8"], 0),
    (lambda x: AddOp(x, number("bool", 0)), ["bool"], 0),
    (lambda x: AddOp(x, number("bool", 1)), ["bool"], 1),
    (lambda x: SubtractOp(x, number("float64", 0.0)), ["float64"], 0),
    (lambda x: SubtractOp(x, number("float64", -0.0)), ["float64"], 1),
    (lambda x: SubtractOp(number("float64", 0.0), x), ["float64"], 1),
    (lambda x: SubtractOp(x, x), ["float64"], 1),
    (lambda x: MultiplyOp(x, number("float32", 1.0)), ["float32"], 0),
    (lambda x: MultiplyOp(number("int64", 1), x), ["int64"], 0),
    (lambda x: MultiplyOp(x, number("float32", 0.0)), ["float32"], 1),
    (lambda x: MultiplyOp(x, number("float32", -1.0)), ["float32"], 1),
    (lambda x: DivideOp(x, number("float32", 1.0)), ["float32"], 0),
    (lambda x: DivideOp(x, x), ["float32"], 1),
    (lambda x: DivideOp(number("float32", 1.0), x), ["float32"], 1),
    (lambda x: EwiseFMAOp(number("float32", 1.0), x, x), ["float32"], 1),
    (lambda x: EwiseFMAOp(x, x, number("float32", -0.0)), ["float32"], 1),
    (lambda x: EwiseFMAOp(x, x, number("float32", 0.0)), ["float32"], 1),
    (lambda x: EwiseFMAOp(x, number("float32", 0.0), x), ["float32"], 1),
    (lambda x: MaximumOp(x, x), [*FLOATS, "int8", "bool"], 0),
    (lambda x: MinimumOp(x, x), [*FLOATS, "int8", "bool"], 0),
    (lambda x: NegativeOp(NegativeOp(x)), [*FLOATS, "int8"], 0),
    (lambda x: AbsOp(NegativeOp(x)), [*FLOATS, "int8"], 1),
    (lambda x: NegativeOp(AbsOp(x)), [*FLOATS, "int8"], 2),
    (lambda x: AbsOp(AbsOp(x)), [*FLOATS, "int8", "bool"], 1),
    (lambda x: ReluOp(ReluOp(x)), [*FLOATS, "int8"], 1),
    (lambda x: ReluOp(AbsOp(x)), [*FLOATS, "int8"], 2),
    (lambda x: FloorOp(FloorOp(x)), FLOATS, 1),
    (lambda x: ClipOp(ClipOp(x, min=-0.0, max=0.0), min=-0.0, max=0.0), FLOATS, 1),
    (lambda x: ClipOp(ClipOp(x, min=0.0, max=-0.0), min=0.0, max=-0.0), FLOATS, 1),
    (lambda x: ClipOp(ClipOp(x, max=1), max=2), ["int8", "float32"], 2),
    (lambda x: ClipOp(x), ["int8", "float32"], 0),
    (lambda x: WhereOp(number("bool", 1), x, NegativeOp(x)), ["float32", "int8"], 0),
    (lambda x: WhereOp(number("bool", 0), NegativeOp(x), x), ["float32", "int8"], 0),
    (lambda x: WhereOp(AstypeOp(x, i1), x, x), ["float32", "bool"], 0),
]


@pytest.mark.parametrize(("build", "dtypes", "left"), ARITHMETIC)
def test_arithmetic(build: Make, dtypes: list[str], left: int) -> None:
    for dtype in dtypes:
        x = numbers(dtype)
        assert len(simplified(program([x], build), [x])) == left


SHAPES: list[tuple[Make, tuple[int, ...], int]] = [
    (lambda x: PermuteDimsOp(PermuteDimsOp(x, [2, 0, 1]), [1, 2, 0]), (2, 3, 4), 0),
    (lambda x: PermuteDimsOp(PermuteDimsOp(x, [2, 0, 1]), [2, 0, 1]), (2, 3, 4), 1),
    (lambda x: PermuteDimsOp(PermuteDimsOp(PermuteDimsOp(x, [1, 0, 2]), [0, 2, 1]), [1, 0, 2]), (2, 3, 4), 1),
    (lambda x: PermuteDimsOp(x), (), 0),
    (lambda x: PermuteDimsOp(x), (3,), 0),
    (lambda x: PermuteDimsOp(x), (3, 3), 1),
    (lambda x: ReshapeOp(ReshapeOp(x, [3, -1]), [2, 6]), (2, 6), 0),
    (lambda x: ReshapeOp(ReshapeOp(x, [3, 0, 5]), [7, 0]), (0, 2), 1),
    (lambda x: ReshapeOp(x, [0, 2]), (0, 2), 0),
    (lambda x: ReshapeOp(PermuteDimsOp(x), [12]), (2, 6), 2),
    (lambda x: SqueezeOp(ExpandDimsOp(x, [0, 2]), [0, 2]), (3, 4), 0),
    (lambda x: SqueezeOp(ExpandDimsOp(x, 0), 1), (1, 4), 0),
    (lambda x: ExpandDimsOp(SqueezeOp(x), 1), (1, 4, 1), 1),
    (lambda x: SqueezeOp(x, []), (1, 4), 0),
    (lambda x: ExpandDimsOp(x, []), (1, 4), 0),
    (lambda x: BroadcastToOp(BroadcastToOp(x, [2, 3, 1]), [5, 2, 3, 4]), (3, 1), 1),
    (lambda x: BroadcastToOp(x, [3, -1]), (3, 1), 0),
    (lambda x: BroadcastToOp(x, [1, 3]), (3,), 1),
    (lambda x: StridedSliceOp(x, [0, 1], [-9, 0], [9, 4], [1, 1]), (3, 4), 0),
    (lambda x: StridedSliceOp(x, [0], [0], [-9], [-1]), (1, 4), 0),
    (lambda x: StridedSliceOp(x, [0], [5], [9]), (0, 4), 0),
    (lambda x: StridedSliceOp(x, [1], [0], [4], [2]), (3, 4), 1),
    (lambda x: ConcatOp(x, axis=-1), (3, 4), 0),
    (lambda x: ConcatOp(x, x), (0, 4), 0),
    (lambda x: ConcatOp(x, x), (3, 4), 1),
]


@pytest.mark.parametrize(("build", "shape", "left"), SHAPES)
def test_shapes(build: Make, shape: tuple[int, ...], left: int) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    assert len(simplified(program([x], build), [x])) == left


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_random_graphs(data: st.DataObject) -> None:
    """Graphs of few values and small constants, where much can be simplified."""
    dtype = data.draw(st.sampled_from(["float32", "int8", "bool"]))
    x = data.draw(st.sampled_from(range(3)).map(lambda i: np.roll(numbers(dtype), i)[:4].reshape(-1, 2)))
    graph = Graph([x])
    for value in data.draw(st.lists(st.sampled_from([0.0, -0.0, 1.0]), max_size=2)):
        graph.add_constant(np.array(value).astype(dtype))
    for operator in data.draw(st.lists(st.sampled_from(OPERATORS), min_size=1, max_size=20)):
        if fitting := graph.operands(operator):
            graph.add(operator, data.draw(st.sampled_from(fitting)))
    module = graph.module([len(graph.values) - 1])
    result = run_pass(CanonicalizePass(), module)
    verify_module(result)
    assert_same(interpret(result)["main"](x), interpret(module)["main"](x))


def test_a_simplification_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIMPLIFICATIONS, FloorOp, ())

    @simplifies(FloorOp)
    def floor_of_converted(op: FloorOp) -> SSAValue | None:
        """What was an integer is whole."""
        inner = op.operand.owner
        whole = isinstance(inner, AstypeOp) and tensor_type(inner.operand.type).element_type == i32
        return op.operand if whole else None

    x = numbers("int32")
    (left,) = simplified(program([x], lambda x: FloorOp(AstypeOp(x, f32))), [x])
    assert isinstance(left, AstypeOp)
    assert floor_of_converted is SIMPLIFICATIONS[FloorOp][-1].simplification


def test_a_replacement_of_another_type_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule need not think of broadcasting."""
    monkeypatch.setitem(SIMPLIFICATIONS, AbsOp, ())

    @simplifies(AbsOp)
    def first_row(op: AbsOp) -> Operator:
        return StridedSliceOp(op.operand, [0], [0], [1])

    module = program([np.ones((3, 2), np.float32)], AbsOp)
    assert str(run_pass(CanonicalizePass(), module)) == str(module)
    assert first_row
