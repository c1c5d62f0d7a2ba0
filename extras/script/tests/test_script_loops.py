"""What loop functions in TVMScript mean, against NumPy: interpreted, and as native code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from programs import Array
from xdsl.dialects import scf
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from relex.dialects import CompileError
from relex.dialects.function_arguments import DIMS_ATTR, argument_attr
from relex.dialects.relex import Conv2dOp
from relex.dialects.tir import BlockOp, ForOp, PrimFuncOp
from relex.dialects.tir.loops import LoopKind
from relex.frontend.script import parse_script, print_script
from relex.reference import interpret
from relex.runtime import build

X = np.array([-2.5, -0.0, 0.0, 0.5, 1.0, 3.0, np.inf, np.nan], np.float32)
POSITIVE = np.array([0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 10.0, np.inf], np.float32)
INTEGERS = np.array([-8, -7, -3, -1, 0, 1, 5, 7], np.int32)


def elementwise(expression: str, dtype: str = "float32", result: str | None = None) -> str:
    """A function of eight elements, one by one."""
    return f"""
@T.prim_func
def main(X: T.Buffer((8,), "{dtype}"), Y: T.Buffer((8,), "{result or dtype}")):
    for i in range(8):
        with T.sblock("Y"):
            vi = T.axis.spatial(8, i)
            Y[vi] = {expression}
"""


def run(text: str, *inputs: Array) -> Any:
    """What the function gives: interpreted, as native code, and once more after it has been printed."""
    module = parse_script(text)
    results = [functions["main"](*inputs) for functions in (interpret(module), build(module, strict=True))]
    again = interpret(parse_script(print_script(module)))["main"](*inputs)
    for found in (results[1], again):
        np.testing.assert_allclose(found, results[0], rtol=1e-6)
    return results[0]


EXPRESSIONS: list[tuple[str, Callable[[Array], Array], Array]] = [
    ("T.max(X[vi], T.float32(0))", lambda x: np.maximum(x, 0), X),
    ("T.min(X[vi], 1)", lambda x: np.minimum(x, 1), X),
    ("-X[vi] * 2 + 1.5", lambda x: -x * 2 + np.float32(1.5), X),
    ("(X[vi] - 1) / (X[vi] + 2.0)", lambda x: (x - 1) / (x + 2), X),
    ("T.exp(X[vi])", np.exp, X),
    ("T.sqrt(X[vi])", np.sqrt, POSITIVE),
    ("T.tanh(X[vi])", np.tanh, X),
    ("T.sigmoid(X[vi])", lambda x: 1 / (1 + np.exp(-x)), X),
    ("T.log(X[vi])", np.log, POSITIVE),
    ("T.pow(X[vi], T.float32(2.0))", np.square, X),
    ("X[vi] ** 3", lambda x: x**3, POSITIVE),
    ("T.abs(X[vi])", np.abs, X),
    ("T.floor(X[vi]) + T.ceil(X[vi]) + T.trunc(X[vi])", lambda x: np.floor(x) + np.ceil(x) + np.trunc(x), X),
    ("T.rsqrt(X[vi])", lambda x: 1 / np.sqrt(x), POSITIVE),
    ("T.if_then_else(X[vi] > 0, X[vi], T.float32(0.5))", lambda x: np.where(x > 0, x, 0.5), X),
    ("T.Select(X[vi] > 0 and X[vi] <= 1, X[vi], -1.0)", lambda x: np.where((x > 0) & (x <= 1), x, -1), X),
    ("X[vi] if not (X[vi] < 1 or X[vi] > 5) else 0.0", lambda x: np.where(~((x < 1) | (x > 5)), x, 0), X),
    ("T.if_then_else(0 <= X[vi] < 2, 1.0, 2.0)", lambda x: np.where((x >= 0) & (x < 2), 1, 2), X),
    ("T.if_then_else(T.isnan(X[vi]), T.float32(7), X[vi])", lambda x: np.where(np.isnan(x), 7, x), X),
    ("T.if_then_else(vi > 0 and X[vi - 1] > 0, 1.0, 0.0)", lambda x: np.append(0, np.where(x[:-1] > 0, 1, 0)), X),
    ("T.if_then_else(vi == 7 or X[vi + 1] > 0, 1.0, 0.0)", lambda x: np.append(np.where(x[1:] > 0, 1, 0), 1), X),
    ('T.float32("inf")', lambda x: np.full_like(x, np.inf), X),
    ('T.max_value("float32") + T.min_value("float32")', lambda x: np.full_like(x, np.nan), X),
    ("T.float32(0.1)", lambda x: np.full_like(x, 0.1), X),
    ("T.float32(vi)", lambda x: np.arange(8, dtype=np.float32), X),
    ("X[vi] * vi", lambda x: x * np.arange(8, dtype=np.float32), POSITIVE[:8]),
    ("X[7 - vi]", lambda x: x[::-1], X),
    ("X[vi // 2 * 2]", lambda x: x[np.arange(8) // 2 * 2], X),
    ("X[(vi + 3) % 8]", lambda x: x[(np.arange(8) + 3) % 8], X),
    ("X[(vi - 3) % 8]", lambda x: x[(np.arange(8) - 3) % 8], X),
    ("X[T.min(vi + 1, 7)]", lambda x: x[np.minimum(np.arange(8) + 1, 7)], X),
    ("X[vi] // 3", lambda x: x // 3, INTEGERS),
    ("X[vi] % 3 + X[vi] % -3", lambda x: x % 3 + x % -3, INTEGERS),
    ("T.floordiv(X[vi], -2) - T.floormod(X[vi], -2)", lambda x: x // -2 - x % -2, INTEGERS),
    ("T.Div(X[vi], 3) * 10 + T.truncmod(X[vi], 3)", lambda x: np.trunc(x / 3) * 10 + np.fmod(x, 3), INTEGERS),
    ("(X[vi] & 6) | (X[vi] ^ 3) << 1 >> 2", lambda x: (x & 6) | (x ^ 3) << 1 >> 2, INTEGERS),
    ("T.abs(X[vi]) - X[vi]", lambda x: np.abs(x) - x, INTEGERS),
    ("T.max(X[vi], vi)", lambda x: np.maximum(x, np.arange(8, dtype=np.int32)), INTEGERS),
    ("T.Cast(\"int32\", vi) * X[vi]", lambda x: np.arange(8, dtype=np.int32) * x, INTEGERS),
    ("-(X[vi] + 2147483647)", lambda x: -(x + np.int32(2147483647)), INTEGERS[:8]),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "reference", "x"), EXPRESSIONS, ids=[case[0] for case in EXPRESSIONS])
def test_expressions(expression: str, reference: Callable[[Array], Array], x: Array):
    with np.errstate(all="ignore"):
        expected = reference(x)
    np.testing.assert_allclose(run(elementwise(expression, x.dtype.name), x), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int32", "int64"])
@pytest.mark.parametrize("result", ["float32", "float64", "int8", "int32", "int64", "bool"])
def test_conversions(dtype: str, result: str):
    x = np.array([-3, -1, 0, 1, 2, 3, 100, 127]).astype(dtype)
    text = elementwise(f'T.Cast("{result}", X[vi])', dtype, result)
    np.testing.assert_array_equal(run(text, x), x.astype(result))


def test_conversions_of_booleans():
    x = np.array([True, False] * 4)
    np.testing.assert_array_equal(run(elementwise("T.float32(X[vi])", "bool", "float32"), x), x.astype(np.float32))
    np.testing.assert_array_equal(run(elementwise('X[vi].astype("int32") + 1', "bool", "int32"), x), x + np.int32(1))
    np.testing.assert_array_equal(run(elementwise("not X[vi]", "bool"), x), ~x)
    np.testing.assert_array_equal(run(elementwise("X[vi] and vi < 3 or vi == 7", "bool"), x), [1, 0, 1, 0, 0, 0, 0, 1])


def one(function: Callable[[Array], Array]) -> Callable[..., Array]:
    return function


def two(function: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    return function


PROGRAMS: dict[str, tuple[str, Callable[..., Array], Sequence[Array]]] = {
    "loops of every kind, expressions as bindings": (
        """
@T.prim_func
def main(X: T.Buffer((4, 6), "float32"), Y: T.Buffer((4, 6), "float32")):
    for i_0 in T.parallel(2):
        for i_1, j in T.grid(2, 2):
            for k in T.vectorized(3):
                with T.sblock("Y"):
                    vi = T.axis.spatial(4, i_0 * 2 + i_1)
                    vj = T.axis.S(6, j * 3 + k)
                    Y[vi, vj] = X[vi, vj] + 1.0
""",
        one(lambda x: x + 1),
        [np.arange(24, dtype=np.float32).reshape(4, 6)],
    ),
    "a guard": (
        """
@T.prim_func
def main(X: T.Buffer((10,), "float32"), Y: T.Buffer((10,), "float32")):
    for i_0, i_1 in T.grid(3, 4):
        with T.block("Y"):
            vi = T.axis.spatial(10, i_0 * 4 + i_1)
            T.where(i_0 * 4 + i_1 < 10)
            T.reads(X[vi])
            T.writes(Y[vi])
            Y[vi] = X[vi] * X[vi]
""",
        one(lambda x: x * x),
        [np.arange(10, dtype=np.float32)],
    ),
    "a reduction with a product": (
        """
@T.prim_func
def main(A: T.Buffer((3, 5), "float32"), B: T.Buffer((5, 2), "float32"), C: T.Buffer((3, 2), "float32")):
    for i, j, k in T.grid(3, 2, 5):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, 0:5], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] += A[vi, vk] * B[vk, vj]
""",
        two(lambda a, b: a @ b),
        [np.arange(15, dtype=np.float32).reshape(3, 5), np.arange(10, dtype=np.float32).reshape(5, 2)],
    ),
    "branches": (
        """
@T.prim_func
def main(X: T.Buffer((8,), "int32"), Y: T.Buffer((8,), "int32")):
    for i in T.serial(8):
        if X[i] % 2 == 0:
            Y[i] = X[i] // 2
        elif X[i] > 4:
            Y[i] = -1
        else:
            Y[i] = 3 * X[i] + 1
""",
        one(lambda x: np.where(x % 2 == 0, x // 2, np.where(x > 4, -1, 3 * x + 1)).astype(np.int32)),
        [INTEGERS],
    ),
    "loops that do not start at 0": (
        """
@T.prim_func
def main(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(0, 2):
        Y[i] = X[i]
    for i in T.unroll(2, 8):
        with T.sblock("Y"):
            vi = T.axis.remap("S", [i])
            Y[vi] = X[vi] - X[vi - 2]
""",
        one(lambda x: np.append(x[:2], x[2:] - x[:-2])),
        [np.arange(8, dtype=np.float32) ** 2],
    ),
    "local buffers and names for values": (
        """
@T.prim_func
def main(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
    with T.block("root"):
        Z = T.alloc_buffer((4,))
        for i in range(4):
            with T.block("Z"):
                vi = T.axis.spatial(4, i)
                x: T.float32 = X[vi]
                y: T.let = x * x
                Z[vi] = y + x
        for i in range(4):
            with T.block("Y"):
                vi = T.axis.spatial(4, i)
                z = Z[3 - vi]
                Y[vi] = z
""",
        one(lambda x: (x * x + x)[::-1]),
        [np.arange(4, dtype=np.float32)],
    ),
    "what is read before it is written": (
        """
@T.prim_func
def main(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
    Z = T.sblock_alloc_buffer((1,), "float32")
    Z[0] = 1.0
    for i in range(4):
        old = Z[0]
        Z[0] = old * X[i]
        Y[i] = old + Z[0]
""",
        one(lambda x: np.cumprod(np.append(1, x[:-1])) + np.cumprod(x)),
        [np.array([2, 3, 5, 7], np.float32)],
    ),
    "loops with steps": (
        """
@T.prim_func
def main(X: T.Buffer((8,), "float32"), n: T.int64, Y: T.Buffer((8,), "float32")):
    for i in range(8):
        Y[i] = T.float32(0)
    for i in T.serial(1, 8, step=3):
        Y[i] = X[i]
    for i in range(0, T.max(T.min(n, 8), 0), 4):
        Y[i] = X[i] + 1.0
""",
        lambda x, n: np.where(
            np.isin(np.arange(8), range(0, min(n, 8), 4)), x + 1, np.where(np.arange(8) % 3 == 1, x, 0)
        ),
        [np.arange(8, dtype=np.float32), np.int64(5)],
    ),
    "what TVM's versions print around it": (
        """
from tvm.script.parser import tirx as U

@U.prim_func
def main(x: U.handle, y: U.handle):
    U.func_attr({"global_symbol": "other", "target": U.target("llvm"), "tirx.noalias": True})
    m, n = U.int64(), U.int64()
    X = U.match_buffer(x, (m, n), "float32", strides=[], elem_offset=0, align=128, offset_factor=1, scope="global")
    Y = U.match_buffer(y, (m, n))
    U.evaluate(0)
    Z = U.decl_buffer((m, n), scope="local")
    U.evaluate(U.assume(m < 100))
    for i, j in U.grid(m, n):
        k = U.bind(j + i)
        Z[i, j] = U.if_then_else(k > 1, U.sqrt(X[i, j], dtype="float32"), X[i, j], dtype="float32")
    for i, j in U.grid(m, n):
        Y[i, j] = U.likely(Z[i, j], dtype="float32")
""",
        one(lambda x: np.where(np.add.outer(np.arange(2), np.arange(3)) > 1, np.sqrt(x), x)),
        [np.arange(6, dtype=np.float32).reshape(2, 3)],
    ),
    "an index from a buffer": (
        """
@T.prim_func
def main(X: T.Buffer((4,), "float32"), I: T.Buffer((3,), "int64"), Y: T.Buffer((3,), "float32")):
    for i in range(3):
        with T.sblock("Y"):
            vi = T.axis.spatial(3, i)
            Y[vi] = X[T.max(T.min(I[vi] + 1, 3), 0)]
""",
        two(lambda x, i: x[np.clip(i + 1, 0, 3)]),
        [np.arange(4, dtype=np.float32), np.array([-5, 1, 9])],
    ),
    "a buffer without dimensions, and one without elements": (
        """
@T.prim_func
def main(X: T.Buffer((0,), "float32"), Y: T.Buffer((), "float32")):
    for i in range(0):
        with T.sblock("Y"):
            vi = T.axis.reduce(0, i)
            with T.init():
                Y[()] = 5.0
            Y[()] = Y[()] + X[vi]
""",
        one(lambda x: np.array(5, np.float32)),
        [np.zeros(0, np.float32)],
    ),
    "two outputs": (
        """
@T.prim_func
def f(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32"), Z: T.Buffer((4,), "float32")):
    for i in range(4):
        Y[i] = X[i] + 1.0
        Z[i] = X[i] * 2.0

@R.function
def main(x: R.Tensor((4,), "float32")):
    a, b = R.call_tir(f, (x,), out_ty=[R.Tensor((4,), "float32"), R.Tensor((4,), "float32")])
    return a - b
""",
        one(lambda x: x + 1 - x * 2),
        [np.arange(4, dtype=np.float32)],
    ),
    "names of other modules and constants of the file": (
        """
import tvm.script as script
from tvm.script import tir as tensor_ir

N = 4
SHAPE = (N, 2 * N)

@tensor_ir.prim_func
def main(X: tensor_ir.Buffer(SHAPE, "float32"), Y: tensor_ir.Buffer((N, N * 2), "float32")):
    '''What a function is for may stand in it.'''
    for i, j in tensor_ir.grid(N, N + N):
        Y[i, j] = X[i, j] * N
""",
        one(lambda x: x * 4),
        [np.arange(32, dtype=np.float32).reshape(4, 8)],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str):
    text, reference, inputs = PROGRAMS[name]
    np.testing.assert_array_equal(run(text, *inputs), reference(*inputs))


def assert_comes_back(module: ModuleOp) -> str:
    text = print_script(module)
    assert parse_script(text).is_structurally_equivalent(module), text
    return text


def only_function(module: ModuleOp) -> PrimFuncOp:
    (function,) = module.ops
    assert isinstance(function, PrimFuncOp)
    return function


def test_a_guard_is_a_condition():
    module = parse_script(PROGRAMS["a guard"][0])
    function = only_function(module)
    (block,) = (op for op in function.walk() if isinstance(op, BlockOp))
    assert isinstance(block.parent_op(), scf.IfOp)
    assert "T.where(i_0 * 4 + i_1 < 10)" in assert_comes_back(module)


def test_loops_have_their_kinds_and_labels():
    function = only_function(parse_script(PROGRAMS["loops of every kind, expressions as bindings"][0]))
    loops = [op for op in function.walk() if isinstance(op, ForOp)]
    assert [loop.kind.data for loop in loops] == [
        LoopKind.PARALLEL,
        LoopKind.SERIAL,
        LoopKind.SERIAL,
        LoopKind.VECTORIZED,
    ]
    assert [loop.label.data for loop in loops if loop.label] == ["i_0", "i_1", "j", "k"]


def test_names_have_the_value_of_the_last_assignment_before_them():
    text = """
N = 4
N = 2 * N

@T.prim_func
def first(Y: T.Buffer((N,), "float32")):
    for i in range(N):
        Y[i] = 0.0

N += 1
M: int = 3

@T.prim_func
def second(Y: T.Buffer((M,), "float32")):
    for i in range(M):
        Y[i] = 0.0

M = 5
"""
    first, second = parse_script(text).ops
    assert isinstance(first, PrimFuncOp)
    assert isinstance(second, PrimFuncOp)
    assert [str(f.args[0].type) for f in (first, second)] == ["memref<8xf32>", "memref<3xf32>"]
    with pytest.raises(CompileError, match="name 'N' is not defined"):
        parse_script(text.replace("range(M)", "range(N)"))


SYMBOLIC = """
@T.prim_func
def main(x: T.handle, y: T.handle):
    n = T.int64()
    X = T.match_buffer(x, (n, 4), "float32")
    Y = T.match_buffer(y, (n, 4))
    Z = T.alloc_buffer((n, 4))
    for i, j in T.grid(n, 4):
        with T.sblock("Z"):
            vi, vj = T.axis.remap("SS", [i, j])
            Z[vi, vj] = X[n - 1 - vi, vj]
    for i, j in T.grid(n, 4):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = Z[vi, vj]
"""


@pytest.mark.parametrize(
    "text",
    [SYMBOLIC, SYMBOLIC.replace("x: T.handle, y: T.handle", 'X: T.Buffer(("n", 4), "float32"), Y: T.Buffer(("n", 4))')],
)
def test_sizes_that_are_known_at_run_time(text: str):
    if "T.Buffer" in text:
        text = "\n".join(line for line in text.split("\n") if "match_buffer" not in line)
    module = parse_script(text)
    function = only_function(module)
    dims = [argument_attr(function, i, DIMS_ATTR) for i in range(2)]
    assert dims == [ArrayAttr([StringAttr("n"), StringAttr("")])] * 2
    assert_comes_back(module)


def test_sizes_of_graphs():
    text = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def double(X: T.Buffer(("n", 4)), Y: T.Buffer(("n", 4))):
        for i, j in T.grid(n, 4):
            Y[i, j] = X[i, j] * 2.0

    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.double, (x,), out_ty=R.Tensor((n, 4), dtype="float32"))
            gv = R.add(lv, y)
            R.output(gv)
        return gv
"""
    module = parse_script(text)
    assert "sizes(%n)" in str(module)
    assert_comes_back(module)


def test_several_sizes_are_declared_at_once():
    text = """
@R.function
def main(x: R.Tensor(("m", "n"), "float32", "llvm")):
    m, n = T.int64(), T.int64()
    y = R.reshape(x, (n, m))
    return y
"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(interpret(parse_script(text))["main"](x), x.reshape(3, 2))


def test_numbers_that_tvm_prints_as_strings():
    text = """
@R.function
def main(x: R.Tensor((2,), "float32")):
    return R.nn.pad(x, pad_width=[1, 0], pad_value="-inf", pad_mode="constant")
"""
    found = interpret(parse_script(text))["main"](np.ones(2, np.float32))
    np.testing.assert_array_equal(found, np.array([-np.inf, 1, 1], np.float32))


def test_options_of_operators():
    text = """
@R.function
def main(x: R.Tensor((1, 4, 8, 8), "float32"), w: R.Tensor((4, 2, 3, 3), "float32")):
    y = relax.op.nn.conv2d(x, w, strides=2, padding=1, groups=2, data_layout="NCHW", out_dtype="void")
    return y
"""
    (conv,) = (op for op in parse_script(text).walk() if isinstance(op, Conv2dOp))
    assert conv.result.type.get_shape() == (1, 4, 4, 4)
