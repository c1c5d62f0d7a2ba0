"""Tensor expressions, and operators that other packages bring."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pytest
from programs import Array
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, ModuleOp, StringAttr, f32, i1, i8, i32
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from relex.dialects import CompileError, make_context, parse_module, verify_module
from relex.dialects.dtypes import TensorConstr, numpy_dtype
from relex.dialects.errors import DTypeError, RangeError, ShapeError
from relex.dialects.relex import Operator
from relex.dialects.relex.types import SizedType
from relex.dialects.sizes import Requirement, named
from relex.dialects.tir import BlockOp, PrimFuncOp
from relex.lowering import LegalizeOpsPass
from relex.lowering.legalizations import LEGALIZATIONS, legalizes
from relex.lowering.te import (
    Axis,
    Code,
    PrimExpr,
    Tensor,
    call,
    cast,
    compute,
    emit_prim_func,
    if_then_else,
    max,
    min,
    placeholder,
    procedure,
    reduce_axis,
    select,
    sum,
)
from relex.runtime import build


def run(function: PrimFuncOp, *arrays: Array) -> Array:
    """Build a function by itself and call it."""
    function.properties.pop("sym_visibility")
    module = parse_module(str(function))
    return build(module)[function.sym_name.data](*arrays)


def test_stages_are_emitted_once_and_in_order() -> None:
    x = placeholder("x", (3, 4), f32)
    k = reduce_axis(4)
    total = compute((3,), lambda i: sum(x[i, k], axis=k), name="total")
    mean = compute((3,), lambda i: total[i] / 4, name="mean")
    centred = compute((3, 4), lambda i, j: x[i, j] - mean[i], name="centred")
    both = compute((3, 4), lambda i, j: centred[i, j] * (1 - mean[i]) * 2, name="both")
    function = emit_prim_func("f", [x], [both])
    names = [op.block_name.data for op in function.walk() if isinstance(op, BlockOp)]
    assert names == ["total", "mean", "centred", "both"]
    a = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    means = a.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(run(function, a), (a - means) * (1 - means) * 2, rtol=1e-5)


def test_sizes_that_are_known_at_run_time() -> None:
    n, m = named("n"), named("m")
    x, y = placeholder("x", (n, m), f32), placeholder("y", (m,), f32)
    k = reduce_axis(m)
    mean = compute((n,), lambda i: sum(x[i, k] * y[k], axis=k), name="mean")
    flat = compute((n * m,), lambda i: x[i // m, i % m] - mean[i // m] / m, name="flat")
    function = emit_prim_func("f", [x, y], [flat], [Requirement(1, "<=", m)])
    assert str(function).startswith(
        'tir.prim_func private @f(%x: memref<?x?xf32> {relex.dims = ["n", "m"]}, %y: memref<?xf32> '
        '{relex.dims = ["m"]}) outs(%flat: memref<?xf32> {relex.dims = ["m * n"]}) '
        'attributes {tir.noalias, relex.requires = ["1 <= m"]} {'
    )
    for shape in ((2, 3), (0, 1), (1, 1), (5, 4)):
        a, b = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape), np.ones(shape[1], np.float32)
        np.testing.assert_allclose(run(function, a, b), (a - a.mean(axis=1, keepdims=True)).reshape(-1), rtol=1e-5)
        function.properties["sym_visibility"] = StringAttr("private")
    with pytest.raises(ShapeError, match=r"f\(\) expected 1 <= m, found m = 0"):
        run(function, np.zeros((2, 0), np.float32), np.zeros(0, np.float32))


def test_names_that_values_in_text_cannot_have() -> None:
    x = placeholder("ξ", (named("é"), 3), f32)
    y = compute(x.shape, lambda α, β: x[α, β] + 1, name="ψ")
    function = emit_prim_func("f", [x], [y])
    assert str(function).isascii()
    function.properties.pop("sym_visibility")
    f = build(ModuleOp([function]))["f"]
    np.testing.assert_array_equal(f(np.ones((2, 3), np.float32)), np.full((2, 3), 2))


def test_index_quotients_and_remainders() -> None:
    x = placeholder("x", (2, 3), i32)
    y = compute((3, 2), lambda i, j: x[(i * 2 + j) // 3, (i * 2 + j) % 3], name="y")
    a = np.arange(6, dtype=np.int32).reshape(2, 3)
    np.testing.assert_array_equal(run(emit_prim_func("f", [x], [y]), a), a.reshape(3, 2))


def reduced(function: Callable[[PrimExpr, Axis], PrimExpr], x: Tensor, k: Axis) -> Callable[[Axis], PrimExpr]:
    return lambda i: function(x[i, k], k)


@pytest.mark.parametrize(
    ("element_type", "low", "high"), [(f32, -np.inf, np.inf), (i8, -128, 127), (i1, 0, 1)], ids=str
)
def test_largest_and_smallest_over_none(element_type: Attribute, low: float, high: float) -> None:
    x, k = placeholder("x", (2, 0), element_type), reduce_axis(0)
    a = np.zeros((2, 0), numpy_dtype(element_type))
    for function, wanted in ((max, low), (min, high)):
        y = compute((2,), reduced(function, x, k))
        assert run(emit_prim_func("f", [x], [y]), a).tolist() == [wanted, wanted]


def test_what_is_not_taken_is_not_read() -> None:
    x = placeholder("x", (3,), f32)
    y = compute((7,), lambda i: if_then_else((i >= 2) & (i < 5), x[i - 2], -1), name="y")
    function = emit_prim_func("f", [x], [y])
    (load,) = (op for op in function.walk() if isinstance(op, memref.LoadOp))
    assert isinstance(load.parent_op(), scf.IfOp)
    a = np.array([1, np.nan, 3], np.float32)
    np.testing.assert_array_equal(run(function, a), np.pad(a, 2, constant_values=-1))


def test_what_a_branch_computes_is_not_used_outside() -> None:
    def element(i: Axis) -> PrimExpr:
        inside, value = i < 3, x[i % 3]
        return if_then_else(inside, value, 0) + if_then_else(inside, 1, value)

    x = placeholder("x", (3,), f32)
    a = np.array([1, 2, 3], np.float32)
    found = run(emit_prim_func("f", [x], [compute((6,), element)]), a)
    np.testing.assert_array_equal(found, [2, 3, 4, 1, 2, 3])


@pytest.mark.parametrize(("target", "wanted"), [(i8, [-128, -1, 0, 127, 0]), (i1, [1, 1, 1, 1, 1])], ids=str)
def test_casts(target: Attribute, wanted: list[int]) -> None:
    x = placeholder("x", (5,), f32)
    a = np.array([-300, -1.5, 0.9, 127.9, np.nan], np.float32)
    y = compute((5,), lambda i: cast(x[i], target))
    np.testing.assert_array_equal(run(emit_prim_func("f", [x], [y]), a), wanted)


def test_wrong_conversions() -> None:
    x, n = placeholder("x", (4,), f32), placeholder("n", (4,), i32)
    with pytest.raises(ValueError, match="expected a type with a smallest and a largest number, found index"):
        cast(x[0], IndexType())
    with pytest.raises(ValueError, match="no conversion of i1 to index"):
        emit_prim_func("f", [x], [compute((4,), lambda i: x[cast(x[i] > 0, IndexType())])])
    with pytest.raises(ValueError, match="expected indices for 'floor_divide', found i32"):
        _ = n[0] // 2
    with pytest.raises(ValueError, match="expected arguments of one type for 'select'"):
        select(x[0] > 0, x[0], n[0])
    with pytest.raises(TypeError, match="has no truth value"):
        bool(x[0] > 0)


def test_wrong_expressions() -> None:
    x, b = placeholder("x", (4,), f32), placeholder("b", (4,), i1)
    k = reduce_axis(4)
    with pytest.raises(ValueError, match="expected 1 indices for x, found 2"):
        x[0, 0]
    with pytest.raises(ValueError, match="expected arguments of one type for 'add'"):
        compute((4,), lambda i: x[i] + b[i])
    with pytest.raises(ValueError, match="found none"):
        call("add", 1, 2)
    with pytest.raises(ValueError, match="the whole of 'mean'"):
        compute((1,), lambda i: sum(x[k], axis=k) / 4, name="mean")
    with pytest.raises(ValueError, match="no scalar function 'subtract' on i1"):
        emit_prim_func("f", [b], [compute((4,), lambda i: b[i] - b[i])])
    with pytest.raises(ValueError, match="expected a function of 2 indices for 'y', found one of 1"):
        compute((4, 4), lambda i: x[i], name="y")
    with pytest.raises(ValueError, match="expected axes made by 'reduce_axis', found i"):
        compute((4,), lambda i: sum(x[i], axis=i))
    with pytest.raises(ValueError, match="expected axes made by 'reduce_axis', found none"):
        compute((4,), lambda i: sum(x[i], axis=()))
    with pytest.raises(ValueError, match=r"expected an expression for 'zeros', found 0.0; write `Const\(type, 0.0\)`"):
        compute((4,), lambda i: 0.0, name="zeros")  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_wrong_functions() -> None:
    x = placeholder("x", (4,), f32)
    y, k = compute((4,), lambda i: x[i] + 1, name="y"), reduce_axis(4)
    with pytest.raises(ValueError, match="expected outputs that are computed, each once, found x for 'f'"):
        emit_prim_func("f", [x], [x])
    with pytest.raises(ValueError, match="expected outputs that are computed, each once, found y, y for 'f'"):
        emit_prim_func("f", [x], [y, y])
    with pytest.raises(ValueError, match="expected all that 'y' reads among the inputs, found no x"):
        emit_prim_func("f", [], [y])
    with pytest.raises(ValueError, match="expected 'z' to use its own axes, found k"):
        emit_prim_func("f", [x], [compute((4,), lambda i: x[k], name="z")])


@pytest.mark.parametrize(
    ("element_type", "number", "limits"),
    [
        (i32, 0.5, "-2147483648 to 2147483647 for a constant of i32"),
        (i32, float("nan"), "-2147483648 to 2147483647 for a constant of i32"),
        (i8, 128, "-128 to 127 for a constant of i8"),
        (i1, 2, "0 to 1 for a constant of i1"),
    ],
    ids=str,
)
def test_numbers_that_a_type_does_not_have(element_type: Attribute, number: float, limits: str) -> None:
    x = placeholder("x", (4,), element_type)
    with pytest.raises(ValueError, match=f"expected a whole number from {limits}, found {number}"):
        emit_prim_func("f", [x], [compute((4,), lambda i: x[i] + number)])


def test_a_shared_expression_is_built_once() -> None:
    def doubled(i: Axis) -> PrimExpr:
        value = x[i]
        for _ in range(64):
            value = value + value
        return value

    x = placeholder("x", (2,), f32)
    function = emit_prim_func("f", [x], [compute((2,), doubled)])
    assert len(list(function.walk())) < 80
    np.testing.assert_array_equal(run(function, np.array([1, -1], np.float32)), [2.0**64, -(2.0**64)])


@irdl_op_definition
class NegateOp(Operator):
    """An operator of another package."""

    name = "my.negate"

    operand = operand_def(TensorConstr)
    result = result_def(TensorConstr)

    assembly_format = "$operand attr-dict `:` functional-type(operands, results)"

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        return operands[0]

    def evaluate(self, *operands: Array) -> Array:
        return -operands[0]


PROGRAM = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = my.negate %x : (tensor<3xf32>) -> tensor<3xf32>
  %1 = relex.add %0, %0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %1 : tensor<3xf32>
}
"""


@pytest.fixture
def table() -> Iterator[None]:
    before = dict(LEGALIZATIONS)
    yield
    LEGALIZATIONS.clear()
    LEGALIZATIONS.update(before)


@pytest.mark.usefixtures("table")
def test_an_operator_from_outside() -> None:
    context = make_context()
    context.register_dialect("my", lambda: Dialect("my", [NegateOp]))
    module = parse_module(PROGRAM, context=context)
    verify_module(module)
    with pytest.raises(CompileError, match=r"'my\.negate' op has no entry in the legalization table"):
        build(module)

    @legalizes(NegateOp)
    def negate(op: NegateOp, x: Tensor) -> Tensor:
        return compute(x.shape, lambda *i: 0 - x[*i], name="negate")

    a = np.array([1, -2, np.nan], np.float32)
    np.testing.assert_array_equal(build(module)["main"](a), -2 * a)
    assert negate is LEGALIZATIONS[NegateOp]


def largest_so_far(x: Tensor) -> Tensor:
    def emit(code: Code, out: Tensor) -> None:
        with code.block("largest", x.shape[0]) as (row,):
            best = code.variable(x.type, x[row, 0], "best")
            with code.loop(x.shape[1]) as k:
                element = code.let(x[row, k])
                with code.when(element > best[()]):
                    code.store(best, (), element)
                code.store(out, (row, k), best[()])

    return procedure(x.shape, x.type, [x], emit, name="largest")


def test_a_procedure_among_other_stages() -> None:
    x = placeholder("x", (3, 5), f32)
    doubled = compute((3, 5), lambda i, j: x[i, j] * 2, name="doubled")
    largest = largest_so_far(doubled)
    function = emit_prim_func("f", [x], [compute((3, 5), lambda i, j: largest[i, j] + 1, name="result")])
    assert [op.block_name.data for op in function.walk() if isinstance(op, BlockOp)] == ["doubled", "largest", "result"]
    array = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    np.testing.assert_array_equal(run(function, array), np.maximum.accumulate(array * 2, axis=1) + 1)


def test_procedures_on_any_size() -> None:
    x = placeholder("x", (named("m"), named("n")), i32)
    function = emit_prim_func("f", [x], [largest_so_far(x)])
    for shape in ((2, 3), (1, 7), (0, 2)):
        array = np.random.default_rng(1).integers(-9, 9, shape, dtype=np.int32)
        np.testing.assert_array_equal(run(function.clone(), array), np.maximum.accumulate(array, axis=1))


@pytest.mark.parametrize("size", [2**63, 2**200, -1])
def test_sizes_that_no_tensor_has_are_errors(size: int) -> None:
    expected = f"expected sizes of 'x' from 0 to 9223372036854775807, found {size}"
    with pytest.raises(RangeError, match=expected):
        placeholder("x", (4, size), f32)
    with pytest.raises(RangeError, match=expected):
        compute((size,), lambda i: placeholder("y", (1,), f32)[0], name="x")
    with pytest.raises(DTypeError, match=r"expected sizes of 'x' to be integers or expressions of sizes, found 1\.5"):
        placeholder("x", (1.5,), f32)  # pyright: ignore[reportArgumentType]


def test_places_in_a_concatenation_share_their_first_terms():
    count = 40
    types = ", ".join(["tensor<?xf32>"] * count)
    values = [f"%x{i}" for i in range(count)]
    stated = [f'tensor<?xf32> {{relex.dims = ["n{i * 7 % count}"]}}' for i in range(count)]
    arguments = ", ".join(f"{value}: {t}" for value, t in zip(values, stated, strict=True))
    module = parse_module(f"""
    func.func @main({arguments}) -> tensor<?xf32> {{
      %y = relex.concat {", ".join(values)} : ({types}) -> tensor<?xf32>
      func.return %y : tensor<?xf32>
    }}
    """)
    # In the graph function, and in the loop function.
    sums = [op for op in LegalizeOpsPass()(module).walk() if isinstance(op, arith.AddiOp)]
    assert len(sums) == 2 * (count - 1)
