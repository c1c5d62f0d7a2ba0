"""Programs built by `BlockBuilder`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from operator_cases import CASES
from programs import Array, MakeOperator, operator_program
from xdsl.dialects.builtin import ModuleOp

from relex import frontend as relax
from relex.dialects.errors import CompileError, DTypeError, RelexError, ShapeError, UnknownNameError, locate
from relex.dialects.parser import parse_module
from relex.dialects.relex import Operator, Relex
from relex.dialects.sizes import equal, named
from relex.frontend import BlockBuilder, Var, const, op
from relex.frontend.op import of
from relex.lowering import te
from relex.passes import FuseOpsPass, FuseTirPass
from relex.reference import interpret
from relex.runtime import build

RNG = np.random.default_rng(0)
Make = Callable[[BlockBuilder, Var], Any]
"""A part of a function of the parameter `x`."""

SHAPES = {"w0": (128, 784), "b0": (128,), "w1": (10, 128), "b1": (10,)}
PARAMS = {name: RNG.standard_normal(shape).astype(np.float32) for name, shape in SHAPES.items()}


def lines(module: ModuleOp) -> list[str]:
    return [line.strip() for line in str(module).splitlines()]


def mlp(bb: BlockBuilder) -> None:
    x = relax.Var("x", (1, 784), relax.DynTensorType(2, "float32"))
    w0 = relax.const(PARAMS["w0"], "float32")
    b0 = relax.const(PARAMS["b0"], "float32")
    w1 = relax.const(PARAMS["w1"], "float32")
    b1 = relax.const(PARAMS["b1"], "float32")
    with bb.function("main", [x]):
        with bb.dataflow():
            lv0 = bb.emit(relax.op.dense(x, w0))
            lv1 = bb.emit(relax.op.add(lv0, b0))
            lv2 = bb.emit(relax.op.nn.relu(lv1))
            lv3 = bb.emit(relax.op.nn.dense(lv2, w1))
            lv4 = bb.emit(relax.op.add(lv3, b1))
            gv = bb.emit_output(lv4)
        bb.emit_func_output(gv)


def test_the_model_of_the_lessons():
    bb = BlockBuilder()
    mlp(bb)
    module = bb.get()
    assert [line.partition(" :")[0] for line in lines(module) if line.startswith(("%lv", "%gv", "relex.output"))] == [
        "%gv = relex.dataflow -> tensor<1x10xf32> {",
        "%lv = relex.dense %x, %0",
        "%lv1 = relex.add %lv, %1",
        "%lv2 = relex.relu %lv1",
        "%lv3 = relex.dense %lv2, %2",
        "%lv4 = relex.add %lv3, %3",
        "relex.output %lv4",
    ]
    x = RNG.standard_normal((1, 784)).astype(np.float32)
    np.testing.assert_allclose(build(module)["main"](x), expected_mlp(x), rtol=1e-4, atol=1e-4)


def expected_mlp(x: Array) -> Array:
    hidden = np.maximum(x @ PARAMS["w0"].T + PARAMS["b0"], 0)
    return hidden @ PARAMS["w1"].T + PARAMS["b1"]


def dense(x: te.Tensor, w: te.Tensor) -> te.Tensor:
    k = te.reduce_axis(x.shape[1])
    return te.compute((x.shape[0], w.shape[0]), lambda i, j: te.sum(x[i, k] * w[j, k], k), name="dense")


def add_bias(x: te.Tensor, b: te.Tensor) -> te.Tensor:
    return te.compute(x.shape, lambda i, j: x[i, j] + b[j], name="add")


def relu(x: te.Tensor) -> te.Tensor:
    return te.compute(x.shape, lambda i, j: te.maximum(x[i, j], 0.0), name="relu")


@pytest.mark.parametrize("batch", [1, 3, "batch"])
def test_the_model_of_the_lessons_in_tensor_expressions(batch: int | str):
    w0, b0, w1, b1 = (const(PARAMS[name]) for name in ("w0", "b0", "w1", "b1"))
    bb = BlockBuilder()
    x = Var("x", (batch, 784))
    with bb.function("main", [x]):
        with bb.dataflow():
            lv0 = bb.emit_te(add_bias, bb.emit_te(dense, x, w0), b0)
            lv1 = bb.emit_te(relu, lv0)
            gv = bb.emit_output(bb.call_te(add_bias, bb.emit_te(dense, lv1, w1), b1))
        bb.emit_func_output(gv)
    main = build(FuseTirPass()(FuseOpsPass()(bb.get())))["main"]
    for count in (batch,) if isinstance(batch, int) else (0, 1, 17):
        given = RNG.standard_normal((count, 784)).astype(np.float32)
        np.testing.assert_allclose(main(given), expected_mlp(given), rtol=1e-4, atol=1e-4)


def test_ops_stand_where_the_user_wrote_them():
    bb = BlockBuilder()
    mlp(bb)
    (relu,) = [o for o in bb.get().walk() if o.name == "relex.relu"]
    text = Path(__file__).read_text(encoding="utf-8").splitlines()
    place = locate(relu.location)
    assert place is not None
    assert Path(place.filename.data).name == Path(__file__).name
    assert text[place.line.data - 1][place.column.data - 1 :].startswith("relax.op.nn.relu(lv1)")


@pytest.mark.parametrize(("make", "operands"), CASES)
def test_every_operator_is_a_function(make: MakeOperator, operands: list[Array]):
    """The function makes the same op as the class."""
    bound: partial[Operator] = partial(make)  # Of a partial function this is that function.
    kind: Any = bound.func
    params = [Var(f"x{i}", x.shape, x.dtype.name) for i, x in enumerate(operands)]
    bb = BlockBuilder()
    with bb.function("main", params):
        bb.emit_func_output(bb.emit(of(kind)(*params, **bound.keywords)))
    with_class = parse_module(operator_program(bound, operands))
    assert lines(bb.get())[2].partition(" = ")[2] == lines(with_class)[2].partition(" = ")[2]


def test_every_operator_of_the_dialect_has_a_name():
    for kind in Relex.operations:
        if issubclass(kind, Operator):
            assert callable(getattr(op, kind.name.partition(".")[2]))


def run(make: Make, x: Any, shape: tuple[Any, ...] = (2, 3)) -> Any:
    bb = BlockBuilder()
    var = Var("x", shape, x.dtype.name)
    with bb.function("main", [var]):
        bb.emit_func_output(make(bb, var))
    module = bb.get()
    parse_module(str(module))
    return interpret(module)["main"](x)


X = np.array([[1, -2, 3], [4, 5, -6]], np.float32)


EXPRESSIONS: list[tuple[Make, Array]] = [
    (lambda bb, x: bb.emit(1 - x * 2.0 / x + -x), 1 - X * 2 / X - X),
    (lambda bb, x: bb.emit(op.sum(x, 1)), X.sum(1)),
    (lambda bb, x: bb.emit(op.sum(x, axis=[0], keepdims=True)), X.sum(0, keepdims=True)),
    (lambda bb, x: bb.emit(op.concat([x, x], axis=1)), np.concatenate([X, X], 1)),
    (lambda bb, x: bb.emit(op.concat(x, x)), np.concatenate([X, X])),
    (lambda bb, x: bb.emit(op.astype(x, "int32")), X.astype(np.int32)),
    (lambda bb, x: bb.emit(op.add(lhs=x, rhs=x)), X + X),
    (lambda bb, x: bb.emit(op.where(op.greater(x, 0.0), x, op.exp(x))), np.where(X > 0, X, np.exp(X))),
    (lambda bb, x: bb.emit(x + const([1.0, 2.0, 3.0], "float32")), X + np.array([1, 2, 3], np.float32)),
    (lambda bb, x: x, X),
    (lambda bb, x: op.permute_dims(x), X.T),
]


@pytest.mark.parametrize(("make", "expected"), EXPRESSIONS)
def test_expressions(make: Make, expected: Any):
    found = run(make, X)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def scale(a: te.Tensor, factor: float) -> te.Tensor:
    return te.compute(a.shape, lambda *i: a[i] * factor, name="scale")


def test_tensor_expressions_become_loop_functions():
    bb = BlockBuilder()
    x = Var("x", (2, 3))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit_te(scale, x, 3.0)
            z = bb.emit_output(bb.call_te(scale, y, factor=-1.0))
        bb.emit_func_output(z)
    module = bb.get()
    assert [line for line in lines(module) if "call_tir" in line] == [
        "%lv = relex.call_tir @scale(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>",
        "%lv1 = relex.call_tir @scale1(%lv) : (tensor<2x3xf32>) -> tensor<2x3xf32>",
    ]
    np.testing.assert_array_equal(build(module)["main"](X), X * -3)


def test_loop_functions_are_called_by_name():
    bb = BlockBuilder()
    loops = parse_module(
        "tir.prim_func private @neg(%x: memref<2x3xf32>) outs(%y: memref<2x3xf32>) {\n"
        "  tir.for %i, %j in (2, 3) {\n"
        "    tir.block @y (%vi: spatial<2> = %i, %vj: spatial<3> = %j) {\n"
        "      %0 = memref.load %x[%vi, %vj] : memref<2x3xf32>\n"
        "      %1 = arith.negf %0 : f32\n"
        "      memref.store %1, %y[%vi, %vj] : memref<2x3xf32>\n    }\n  }\n}"
    )
    (neg,) = loops.ops
    bb.add_func(neg)
    x = Var("x", (2, 3))
    with bb.function("main", [x]):
        y = bb.emit(op.call("neg", x))
        bb.emit_func_output([y, bb.emit(op.call_tir("neg", y, (2, 3)))])
    negative, positive = interpret(bb.get())["main"](X)
    np.testing.assert_array_equal(negative, -X)
    np.testing.assert_array_equal(positive, X)


def test_sizes_with_names():
    bb = BlockBuilder()
    x, y = Var("x", ("n", 3)), Var("y", ("n",))
    with bb.function("main", [x, y]):
        with bb.dataflow():
            a = bb.emit(op.call_dps_packed("env.f", [x, y], ("n", 3)))
            b = bb.emit_output(op.call_dps_packed("env.g", a, [("n",), (3,)], "int32"))
        bb.emit_func_output(b)
    text = str(bb.get())
    assert 'relex.dims = ["n", ""]' in text
    assert '"env.f"(%x, %y) sizes(%n) : (tensor<?x3xf32>, tensor<?xf32>) -> tensor<?x3xf32>' in text
    assert '"env.g"(%lv) sizes(%n) : (tensor<?x3xf32>) -> (tensor<?xi32>, tensor<3xi32>)' in text
    assert text.count("tensor.dim") == 1


def test_functions_from_elsewhere():
    other = parse_module(
        "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        "  %y = relex.relu %x : (tensor<2xf32>) -> tensor<2xf32>\n"
        "  func.return %y : tensor<2xf32>\n}"
    )
    (function,) = other.ops
    bb = BlockBuilder()
    assert [bb.add_func(function), bb.add_func(function), bb.add_func(function, "g")] == ["f", "f1", "g"]
    x = Var("x", (2,))
    with bb.function("h", [x]):
        bb.emit_func_output(bb.emit(x - x))
    (*_, h) = bb.get().ops
    bb.update_func("f1", h)
    given = np.array([-1, 2], np.float32)
    run_all = interpret(bb.get())
    assert list(run_all) == ["f", "f1", "g", "h"]
    np.testing.assert_array_equal(run_all["f1"](given), [0, 0])
    np.testing.assert_array_equal(run_all["g"](given), [0, 2])
    with pytest.raises(UnknownNameError, match="no function 'k' to update"):
        bb.update_func("k", function)
    with pytest.raises(CompileError, match=r"expected a graph function or a loop function, found 'builtin.module'"):
        bb.add_func(other)


def wrong(make: Make) -> CompileError:
    bb = BlockBuilder()
    x = Var("x", (2, 3))
    with pytest.raises(CompileError) as raised, bb.function("main", [x]):
        make(bb, x)
    return raised.value


def in_dataflow(make: Make) -> Make:
    def function(bb: BlockBuilder, x: Var) -> None:
        with bb.dataflow():
            make(bb, x)

    return function


def no_tensor(a: te.Tensor) -> int:
    return a.ndim


def too_few_indices(a: te.Tensor) -> te.Tensor:
    return te.compute((2,), lambda i: a[i])


def foreign_size(a: te.Tensor) -> te.Tensor:
    return te.compute((named("m"),), lambda i: a[i, 0])


unchecked: Any = op
"""The operators for calls that a type checker refuses."""

MISTAKES: list[tuple[Make, str]] = [
    (lambda bb, x: bb.emit(op.dense(x, op.astype(x, "float64"))), "'relex.dense' op expected operands of one element"),
    (lambda bb, x: bb.emit(op.dense(x, const(np.zeros((4, 4), np.float32)))), "'relex.dense' op expected equal last"),
    (lambda bb, x: bb.emit(x + const(np.zeros(4, np.float32))), "'relex.add' op expected"),
    (lambda bb, x: bb.emit(x + const(np.zeros(3))), "'relex.add' op expected"),
    (lambda bb, x: bb.emit(unchecked.add(x)), "'relex.add' op expected 2 tensors (lhs, rhs), found 1"),
    (lambda bb, x: bb.emit(unchecked.add(x, x, 1)), "'relex.add' op got too many positional arguments; after"),
    (lambda bb, x: bb.emit(unchecked.sum(x, 0, True, 1)), "after the tensors: (axis, keepdims)"),
    (lambda bb, x: bb.emit(unchecked.sum(x, 0, axis=1)), "'relex.sum' op got 'axis' twice, by position and by name"),
    (lambda bb, x: bb.emit(op.sum(x, axis=7)), "'relex.sum' op expected"),
    (lambda bb, x: bb.emit(unchecked.sum(x, color=7)), "'relex.sum' op"),
    (lambda bb, x: bb.emit(unchecked.add(x, "y")), "'relex.add' op expected tensors of the program, found 'y'"),
    (lambda bb, x: bb.emit(op.add(1, 2)), "'relex.add' op expected tensors of the program, found 1"),
    (lambda bb, x: bb.emit(op.astype(x, "int32") + 1.5), "'relex.add' op expected elements of i32, found 1.5"),
    (lambda bb, x: bb.emit(op.astype(x, "int8") + 300), "'relex.add' op expected elements of i8, found 300"),
    (lambda bb, x: bb.emit(3), "expected a tensor of the program, found int"),  # pyright: ignore[reportArgumentType]
    (lambda bb, x: bb.emit(Var("y", (2,))), "expected a parameter of @main, found 'y'"),
    (lambda bb, x: bb.emit_output(x), "expected a dataflow block around 'emit_output'"),
    (lambda bb, x: None, "expected 'emit_func_output' at the end of @main"),
    (lambda bb, x: bb.emit(op.call("nobody", x)), "'call' op expected a function of the module, found no 'nobody'"),
    (lambda bb, x: bb.emit(op.alloc_tensor(("m",))), "expected a size that a parameter has, found 'm'"),
    (lambda bb, x: bb.get(), "expected @main to end before the module is taken"),
    (lambda bb, x: bb.function("g").__enter__(), "expected @main to end before @g begins"),
    (lambda bb, x: bb.call_te(no_tensor, x), "'call_te' "),
    (lambda bb, x: bb.call_te(no_tensor, op.alloc_tensor(("n",))), "expected a size that a parameter has, found 'n'"),
    (lambda bb, x: bb.call_te(too_few_indices, x), "'call_te' expected 2 indices for x"),
    (lambda bb, x: bb.emit_te(foreign_size, x), "'relex.call_tir' op expected a size that an argument has, found 'm'"),
    (in_dataflow(lambda bb, x: bb.emit(op.alloc_tensor((2,)))), "'relex.alloc_tensor' op expected to be pure"),
    (in_dataflow(lambda bb, x: bb.emit_func_output(x)), "expected the dataflow block to end before the function does"),
    (in_dataflow(in_dataflow(lambda bb, x: None)), "dataflow blocks cannot be nested"),
]


@pytest.mark.parametrize(("make", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_mistakes_show_the_line(make: Make, message: str):
    error = wrong(make)
    (diagnostic,) = error.diagnostics
    assert message in diagnostic.message
    assert Path(diagnostic.file).name == Path(__file__).name
    assert diagnostic.source_line == Path(__file__).read_text(encoding="utf-8").splitlines()[diagnostic.line - 1]


def plus(a: te.Tensor, b: te.Tensor) -> te.Tensor:
    return te.compute(a.shape, lambda i, j: a[i, j] + b[i], name="plus")


def differences(a: te.Tensor) -> list[te.Tensor]:
    """Differences of neighbours, and all rows twice."""
    rows, columns = a.shape
    neighbours = te.compute((rows - 1, columns), lambda i, j: a[i + 1, j] - a[i, j], name="neighbours")
    return [neighbours, te.compute((rows, 2, columns), lambda i, _, k: a[i, k], name="twice")]


def test_tensor_expressions_on_sizes_of_the_run():
    bb = BlockBuilder()
    x, y = Var("x", ("n", 3)), Var("y", ("m",))
    with bb.function("main", [x, y]):
        with bb.dataflow():
            twice = bb.emit(op.concat([x, x]))
            total = bb.emit_output(bb.call_te(plus, twice, y))
        neighbours, rows = bb.emit(bb.call_te(differences, total))
        bb.emit_func_output([total, neighbours, rows])
    module = bb.get()
    assert "sizes(" in str(parse_module(str(module)))
    for run in (build(module)["main"], interpret(module)["main"]):
        for n in (1, 3, 17):
            a = RNG.standard_normal((n, 3)).astype(np.float32)
            b = RNG.standard_normal(2 * n).astype(np.float32)
            expected = np.concatenate([a, a]) + b[:, None]
            wanted = (expected, np.diff(expected, axis=0), np.stack([expected, expected], axis=1))
            for found, result in zip(run(a, b), wanted, strict=True):
                np.testing.assert_array_equal(found, result)
        with pytest.raises(ShapeError, match=r"expected 2 \* n <= m"):
            run(np.ones((2, 3), np.float32), np.ones(3, np.float32))
        with pytest.raises(ShapeError, match="expected 1 <= n"):
            run(np.ones((0, 3), np.float32), np.ones(0, np.float32))


UNCHECKED: list[Callable[[te.Tensor], te.Tensor]] = [
    lambda a: te.compute((a.shape[0], 3), lambda i, j: a[i // 2, j]),
    lambda a: te.compute((a.shape[0], 3), lambda i, j: a[i, i % 3]),
    lambda a: te.compute((a.shape[0],), lambda i: a[i * i, 0]),
    lambda a: te.compute((a.shape[0],), lambda i: te.if_then_else(i < 2, a[i + 1, 0], 0.0)),
]


@pytest.mark.parametrize("function", UNCHECKED)
def test_indices_that_no_size_bounds_are_refused(function: Callable[[te.Tensor], te.Tensor]):
    bb = BlockBuilder()
    x = Var("x", ("n", 3))
    with (
        pytest.raises(CompileError, match="'call_te' expected indices of %x that are sums of axes with factors"),
        bb.function("main", [x]),
    ):
        bb.call_te(function, x)


def product(a: te.Tensor, b: te.Tensor) -> te.Tensor:
    assert equal(a.shape[1], b.shape[0])
    k = te.reduce_axis(a.shape[1])
    return te.compute((a.shape[0], b.shape[1]), lambda i, j: te.sum(a[i, k] * b[k, j], k), name="product")


def test_tensor_expressions_require_equal_sizes():
    bb = BlockBuilder()
    x, y = Var("x", ("n", "k")), Var("y", ("l", 2))
    with bb.function("main", [x, y]):
        bb.emit_func_output(bb.emit_te(product, x, y))
    for run in (build(bb.get())["main"], interpret(bb.get())["main"]):
        for n, k in ((1, 3), (3, 1), (0, 2), (2, 0)):
            a, b = np.full((n, k), 2, np.float32), np.full((k, 2), 3, np.float32)
            np.testing.assert_array_equal(run(a, b), a @ b)
        with pytest.raises(ShapeError):
            run(np.ones((2, 3), np.float32), np.ones((4, 2), np.float32))


def test_values_stay_in_their_part_of_the_program():
    bb = BlockBuilder()
    x = Var("x", (2,))
    with bb.function("f", [x]):
        with bb.dataflow():
            hidden = bb.emit(op.relu(x))
            shown = bb.emit_output(op.exp(hidden))
        with pytest.raises(CompileError, match="'lv' is not known outside of its dataflow block"):
            bb.emit(hidden + hidden)
        bb.emit_func_output(bb.emit(op.exp(shown)))
        with pytest.raises(CompileError, match="unreachable code after 'emit_func_output' of @f"):
            bb.emit(shown)
    with (
        pytest.raises(CompileError, match="'gv' belongs to another function"),
        bb.function("g", [x]),
    ):
        bb.emit(shown)
    with pytest.raises(CompileError, match="expected a new name for a function, found 'f' again"), bb.function("f"):
        pass
    with pytest.raises(CompileError, match="different names, found x, x"), bb.function("g", [x, Var("x", ())]):
        pass
    with pytest.raises(CompileError, match="expected a function to be open"):
        bb.emit(x)
    assert [o.name for o in bb.get().ops] == ["func.func"]


def test_a_call_that_does_not_fit_is_found_with_the_module():
    bb = BlockBuilder()
    x = Var("x", (2,))
    with bb.function("f", [x]):
        bb.emit_func_output(bb.emit(op.call_tir("missing", [x], (2,))))
    with pytest.raises(CompileError, match=r"named @missing, found no such symbol\n +bb\.emit_func_output"):
        bb.get()


def test_an_exception_of_the_user_passes():
    bb = BlockBuilder()
    x = Var("x", (2,))
    with pytest.raises(ZeroDivisionError), bb.function("f", [x]), bb.dataflow():
        bb.emit(x + 1 / 0)
    with bb.function("f", [x]):
        bb.emit_func_output(x)
    assert list(interpret(bb.get())) == ["f"]


def test_wrong_parameters_and_constants():
    with pytest.raises(ShapeError, match="'x': expected 3 sizes, as its type says, found 2"):
        Var("x", (1, 2), relax.DynTensorType(3, "float32"))
    with pytest.raises(ShapeError, match="expected sizes that are numbers from 0 up, or names, found -1"):
        Var("x", (-1,))
    with pytest.raises(DTypeError, match="expected the name of a dtype, found 'float33'"):
        Var("x", (1,), "float33")
    with pytest.raises(DTypeError, match="expected numbers, found complex"):
        const([1j])
    with pytest.raises(TypeError, match="no truth value"):
        bool(Var("x", (1,)))
    with pytest.raises(AttributeError, match="no operator 'nope'; there are abs, acos"):
        unchecked.nope  # noqa: B018
    assert issubclass(CompileError, RelexError)
    assert const(1.5).value.dtype == np.float32
