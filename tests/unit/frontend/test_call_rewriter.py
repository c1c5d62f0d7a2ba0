"""Passes that replace calls one by one, builders that continue with a module, and operators lowered as users say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import pytest
from programs import Array
from xdsl.dialects import func, scf, tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult

from relex.dialects import CompileError, parse_module, verify_module
from relex.dialects.errors import DTypeError, UnknownNameError
from relex.dialects.function_arguments import find_function
from relex.dialects.relex import (
    AddOp,
    CallDpsPackedOp,
    CallOp,
    CallTirOp,
    ConstantOp,
    DenseOp,
    ExpOp,
    MultiplyOp,
    Operator,
    ReluOp,
)
from relex.frontend import BlockBuilder, CallRewriter, Var, const, op, topi
from relex.frontend.graph_expressions import Tensor
from relex.lowering import LegalizeOpsPass, te
from relex.passes import FuseTirPass
from relex.reference import interpret
from relex.runtime import build
from relex.runtime.library import LIBRARY

PRODUCT = """
func.func @main(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %gv = relex.dataflow -> tensor<3x4xf32> {
    %lv0 = relex.multiply %x, %y : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %lv1 = relex.add %lv0, %y : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    relex.output %lv1 : tensor<3x4xf32>
  }
  func.return %gv : tensor<3x4xf32>
}
"""


class EwiseFMA(CallRewriter):
    """add(multiply(x, y), z) to ewise_fma(x, y, z)."""

    name = "my-ewise-fma"

    def rewrite(self, bb: BlockBuilder, call: Operation) -> Tensor | None:
        match call:
            case AddOp(lhs=OpResult(op=MultiplyOp(lhs=x, rhs=y)), rhs=z):
                return op.ewise_fma(x, y, z)
            case _:
                return None


class DenseAddFusor(CallRewriter):
    """add(dense(x, w), b) to a call of a fused group."""

    name = "my-dense-add-fusor"
    in_groups = False

    def rewrite(self, bb: BlockBuilder, call: Operation) -> Tensor | None:
        match call:
            case AddOp(lhs=OpResult(op=DenseOp(data=x, weight=w)), rhs=b):
                params = [Var("x", x.type), Var("w", w.type), Var("b", b.type)]
                with bb.function("fused_dense_add", params, primitive=True) as fused:
                    bb.emit_func_output(op.add(op.dense(*params[:2]), params[2]))
                return op.call(fused, x, w, b)
            case _:
                return None


class LowerToLoops(CallRewriter):
    """Operators to calls of loop functions."""

    name = "my-lower-to-loops"
    op_map: ClassVar[Mapping[type, Callable[..., Any]]] = {
        DenseOp: topi.nn.dense,
        AddOp: topi.add,
        ReluOp: topi.nn.relu,
    }

    def rewrite(self, bb: BlockBuilder, call: Operation) -> Tensor | None:
        return bb.call_te(self.op_map[type(call)], *call.operands) if type(call) in self.op_map else None


RNG = np.random.default_rng(0)
W0, B0, W1, B1 = (RNG.integers(-4, 4, s).astype(np.float32) for s in ((8, 20), (8,), (4, 8), (4,)))
X = RNG.integers(-4, 4, (3, 20)).astype(np.float32)
EXPECTED = np.maximum(X @ W0.T + B0, 0) @ W1.T + B1


def network(rows: int | str) -> ModuleOp:
    bb = BlockBuilder()
    x = Var("x", (rows, 20))
    with bb.function("main", [x]):
        with bb.dataflow():
            hidden = bb.emit(op.relu(op.dense(x, const(W0)) + const(B0)))
            gv = bb.emit_output(op.dense(hidden, const(W1)) + const(B1))
        bb.emit_func_output(gv)
    return bb.get()


def is_call(op: Operation) -> bool:
    return isinstance(op, Operator | CallOp | CallTirOp | CallDpsPackedOp)


def names_of(module: ModuleOp) -> list[str]:
    return [call.name for call in find_function(module, "main").walk() if is_call(call)]


def test_one_operator_for_two() -> None:
    module = parse_module(PRODUCT)
    before = str(module)
    after = EwiseFMA()(module)
    verify_module(after)
    assert str(module) == before
    assert "%lv1 = relex.ewise_fma %x, %y, %y :" in str(after)
    assert names_of(after) == ["relex.ewise_fma"]
    (fma,) = (call for call in after.walk() if is_call(call))
    assert fma.location == next(call for call in module.walk() if isinstance(call, AddOp)).location
    x, y = RNG.standard_normal((2, 3, 4)).astype(np.float32)
    np.testing.assert_array_equal(interpret(after)["main"](x, y), x * y + y)


@pytest.mark.parametrize("rows", [3, "n"])
def test_fusion_and_lowering(rows: int | str) -> None:
    """The three steps of a compilation, for static and for dynamic sizes; each can be run."""
    module = network(rows)
    fused = DenseAddFusor()(module)
    assert names_of(fused) == ["relex.call", "relex.relu", "relex.call"]
    calls = [call.callee.string_value() for call in fused.walk() if isinstance(call, CallOp)]
    assert calls == ["fused_dense_add", "fused_dense_add1"]
    assert str(DenseAddFusor()(fused)) == str(fused)
    lowered = LowerToLoops()(fused)
    assert names_of(lowered) == ["relex.call", "relex.call_tir", "relex.call"]
    assert not any(isinstance(op, DenseOp) for op in lowered.walk())
    for step in (fused, lowered, FuseTirPass()(lowered)):
        verify_module(step)
        np.testing.assert_array_equal(interpret(step)["main"](X), EXPECTED)
    np.testing.assert_array_equal(build(step)["main"](X), EXPECTED)


class Wrong(CallRewriter):
    """Replaces an addition by something."""

    name = "wrong"

    def __init__(self, make: Callable[[BlockBuilder, AddOp], Any]):
        self.make = make

    def rewrite(self, bb: BlockBuilder, call: Operation) -> Tensor | None:
        return self.make(bb, call) if isinstance(call, AddOp) else None


any_topi: Any = topi
OTHER = next(op for op in parse_module(PRODUCT).walk() if isinstance(op, MultiplyOp))


WRONG: list[tuple[Callable[[BlockBuilder, AddOp], Any], str]] = [
    (lambda bb, call: op.sum(call.lhs), r"expected 'Wrong' to replace tensor<3x4xf32>, found tensor<f32>"),
    (lambda bb, call: op.add(call.lhs, OTHER.result), "expected a value of @main, found one of another function"),
    (lambda bb, call: call, "expected a tensor of the program, found AddOp"),
    (
        lambda bb, call: op.dense(call.lhs, const(W0)),
        "'relex.dense' op expected equal last sizes of data and weight, found 4",
    ),
    (lambda bb, call: bb.get(), "expected @main to end before the module is taken"),
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_wrong_replacements(make: Callable[[BlockBuilder, AddOp], Any], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        Wrong(make)(parse_module(PRODUCT))


OTHER_OPS = """
func.func @main(%x: tensor<?x4xf32>, %p: i1) -> tensor<?x4xf32> {
  %c = arith.constant 0 : index
  %n = tensor.dim %x, %c : tensor<?x4xf32>
  %0 = func.call @half(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = relex.call_tir @copy(%0) sizes(%n) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %2 = scf.if %p -> (tensor<?x4xf32>) {
    %3 = relex.exp %1 : (tensor<?x4xf32>) -> tensor<?x4xf32>
    scf.yield %3 : tensor<?x4xf32>
  } else {
    scf.yield %1 : tensor<?x4xf32>
  }
  func.return %2 : tensor<?x4xf32>
}
func.func private @half(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = relex.constant dense<0.5> : tensor<f32>
  %1 = relex.multiply %x, %0 : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xf32>
  func.return %1 : tensor<?x4xf32>
}
tir.prim_func @copy(%x: memref<?x4xf32> {relex.dims = ["n", ""]}) outs(%y: memref<?x4xf32> {relex.dims = ["n", ""]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  tir.for %i, %j in (%n, 4) {
    tir.block @y (%vi: spatial<%n> = %i, %vj: spatial<4> = %j) {
      %0 = memref.load %x[%vi, %vj] : memref<?x4xf32>
      memref.store %0, %y[%vi, %vj] : memref<?x4xf32>
    }
  }
}
"""


FIXED = OTHER_OPS.replace("?", "3").replace(" sizes(%n)", "").replace("<%n>", "<3>").replace("(%n, 4)", "(3, 4)")


class Replace(CallRewriter):
    """Replaces ops of a class."""

    name = "replace"

    def __init__(self, kind: type[Operation], make: Callable[[Any], Any]):
        self.kind, self.make, self.seen = kind, make, list[str]()

    def rewrite(self, bb: BlockBuilder, call: Operation) -> Tensor | None:
        self.seen.append(call.name)
        return self.make(call) if isinstance(call, self.kind) else None


REPLACED: list[tuple[type[Operation], Callable[[Any], Any]]] = [
    (func.CallOp, lambda call: op.multiply(call.operands[0], const(np.float32(0.5)))),
    (CallTirOp, lambda call: call.operands[0]),
    (ExpOp, lambda call: op.negative(op.negative(op.exp(call.operands[0])))),
    (ConstantOp, lambda call: const(np.float32(0.5))),
    (tensor.DimOp, lambda call: call.results[0]),
]


@pytest.mark.parametrize(("kind", "make"), REPLACED)
def test_ops_of_all_dialects_are_replaced(kind: type[Operation], make: Callable[[Any], Any]) -> None:
    module = parse_module(FIXED)
    after = Replace(kind, make)(module)
    verify_module(after)
    count = sum(isinstance(inner, kind) for inner in module.walk())
    assert sum(isinstance(inner, kind) for inner in after.walk()) == (count if kind in KEPT else 0)
    x = RNG.standard_normal((3, 4)).astype(np.float32)
    for flag in (np.True_, np.False_):
        np.testing.assert_array_equal(interpret(after)["main"](x, flag), interpret(module)["main"](x, flag))


KEPT = (ConstantOp, ExpOp, tensor.DimOp)


def negate_previous(call: Operation) -> Tensor:
    assert call.prev_op is not None
    return op.negative(call.prev_op.results[0])


def test_an_op_with_regions_is_replaced_with_them() -> None:
    p = Replace(scf.IfOp, negate_previous)
    after = p(parse_module(FIXED))
    verify_module(after)
    assert "relex.exp" not in p.seen
    x = RNG.standard_normal((3, 4)).astype(np.float32)
    np.testing.assert_array_equal(interpret(after)["main"](x, np.True_), x * -0.5)


WRONG_FOR_OTHERS: list[tuple[type[Operation], Callable[[Any], Any], str]] = [
    (func.CallOp, lambda call: op.sum(call.operands[0]), r"to replace tensor<\?x4xf32>, found tensor<f32>"),
    (
        CallTirOp,
        lambda call: op.relu(call.results[0]),
        "expected a replacement computed from other values, found 'relex.relu' of its own result",
    ),
    (tensor.DimOp, lambda call: call.operands[0], r"to replace index, found tensor<\?x4xf32>"),
    (
        func.ReturnOp,
        lambda call: call.operands[0],
        "expected 'Replace' to replace an op with results, found 'func.return' without; a RewritePattern can",
    ),
]


@pytest.mark.parametrize(("kind", "make", "message"), WRONG_FOR_OTHERS)
def test_wrong_replacements_of_other_ops(kind: type[Operation], make: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        Replace(kind, make)(parse_module(OTHER_OPS))


def test_a_builder_goes_on_with_a_module() -> None:
    module = parse_module(PRODUCT)
    before = str(module)
    bb = BlockBuilder(module)
    x = Var("x", (3, 4))
    with bb.function("twice", [x]) as name:
        bb.emit_func_output(bb.emit(op.call("main", x, op.call("main", x, x))))
    assert name == "twice"
    after = bb.get()
    assert str(module) == before
    assert list(after.functions) == ["main", "twice"]
    value = np.ones((3, 4), np.float32)
    np.testing.assert_array_equal(interpret(after)["twice"](value), np.full((3, 4), 4))
    with (
        pytest.raises(CompileError, match="expected a new name for a function, found 'main' again"),
        bb.function("main"),
    ):
        pass
    with pytest.raises(DTypeError, match="expected a module, found str"):
        BlockBuilder("main")  # pyright: ignore[reportArgumentType]


def dense(x: te.Tensor, w: te.Tensor) -> te.Tensor:
    k = te.reduce_axis(x.shape[1])
    return te.compute((x.shape[0], w.shape[0]), lambda i, j: te.sum(x[i, k] * w[j, k] * 2, k), name="twice")


LOOPS = """
tir.prim_func @zeros(%x: memref<3x8xf32>) outs(%y: memref<3x8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j in (3, 8) {
    tir.block @y (%vi: spatial<3> = %i, %vj: spatial<8> = %j) {
      memref.store %zero, %y[%vi, %vj] : memref<3x8xf32>
    }
  }
}"""


def run(overrides: Mapping[Any, Any], module: ModuleOp | None = None) -> Array:
    lowered = LegalizeOpsPass(overrides=overrides)(module or network(3))
    verify_module(lowered)
    result: Array = build(lowered)["main"](X)
    np.testing.assert_array_equal(result, interpret(lowered)["main"](X))
    return result


def test_operators_lowered_as_users_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """By names and classes; to tensor expressions, to loop functions, and to library functions."""

    def relu(x: Array, out: Array) -> None:
        np.maximum(x, 1, out=out)

    monkeypatch.setitem(LIBRARY, "test.relu", relu)
    hidden = X @ W0.T + B0
    doubled = np.maximum(2 * X @ W0.T + B0, 0) @ (2 * W1.T) + B1
    for name in ("dense", "relex.dense", "relax.nn.dense", DenseOp):
        np.testing.assert_array_equal(run({name: dense}), doubled)
    np.testing.assert_array_equal(run({"relu": "test.relu"}), np.maximum(hidden, 1) @ W1.T + B1)
    zeros = parse_module(LOOPS)
    for loops in (zeros, zeros.ops.first):
        np.testing.assert_array_equal(run({ReluOp: loops}), np.broadcast_to(B1, (3, 4)))
    np.testing.assert_array_equal(run({"relax.nn.relu": topi.nn.relu, "relax.add": topi.add}), EXPECTED)
    lowered = LegalizeOpsPass(overrides={"relu": topi.gelu})(network(3))
    gelu = LegalizeOpsPass()(parse_module(str(network(3)).replace("relex.relu", "relex.gelu")))
    np.testing.assert_array_equal(interpret(lowered)["main"](X), interpret(gelu)["main"](X))


@pytest.mark.parametrize(
    ("overrides", "kind", "message"),
    [
        ({"dens": dense}, UnknownNameError, "no operator 'dens'; there are"),
        ({"nowhere.dense": dense}, UnknownNameError, "no operator 'nowhere.dense'"),
        ({DenseOp: 3}, DTypeError, "to map DenseOp to a function, a loop function or the name of a lib.*, found int"),
        ({DenseOp: parse_module(PRODUCT)}, DTypeError, "to map DenseOp to a module of one loop .*, found func.func"),
    ],
)
def test_wrong_overrides(overrides: Mapping[Any, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        LegalizeOpsPass(overrides=overrides)


def test_operators_as_tensor_expressions() -> None:
    bb = BlockBuilder()
    x, y = Var("x", ("n", 4)), Var("y", (4,))
    with bb.function("main", [x, y]):
        bb.emit_func_output(bb.emit_te(topi.sum, x * y, axis=-1))
    value = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(build(bb.get())["main"](value, value[1]), (value * value[1]).sum(-1))
    assert topi.nn.relu == topi.relu
    assert "relu" in dir(topi)
    with pytest.raises(AttributeError, match="no operator 'relus'; there are abs"):
        any_topi.relus()
    with pytest.raises(DTypeError, match=r"'relex.relu' op expected 'te' tensors, found int"):
        any_topi.relu(3)
