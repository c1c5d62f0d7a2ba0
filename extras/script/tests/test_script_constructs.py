"""Every construct of scripts, from the tables of the package: what is printed is read as the same program."""

from __future__ import annotations

from collections.abc import Iterator
from re import search

import pytest
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import CompileError
from relex.dialects.dtypes import DTYPES, is_unsigned
from relex.dialects.tir import IterKind
from relex.frontend.script import parse_script, print_script
from relex.frontend.script.blocks import AXES
from relex.frontend.script.graph_calls import CALLS, PRINTED
from relex.frontend.script.loop_statements import LOOPS
from relex.frontend.script.scalar_functions import FUNCTIONS, OPERATORS

LOOP_FUNCTION = """
@T.prim_func
def main(X: T.Buffer((8,), "{dtype}"), Y: T.Buffer((8,), "{result}")):
    for i in {loop}(8{annotations}):
        with T.sblock("Y"):
            vi = {axis}(8, i)
            T.sblock_attr({attributes})
            Y[vi] = {value}
"""


def loops(value: str, dtype: str = "float32", result: str = "", **parts: str) -> str:
    plain = {"loop": "T.serial", "annotations": "", "axis": "T.axis.spatial", "attributes": "{}"}
    return LOOP_FUNCTION.format(value=value, dtype=dtype, result=result or dtype, **plain | parts)


SIGNED = [name for name, t in DTYPES.items() if not is_unsigned(t)]
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
VALUES = ("T.Select", "T.if_then_else")
ATTRIBUTES = '{"a": 1, "b": -2.5, "c": "text", "d": [1, [2, "x"]], "e": True, "f": False, "relex.g": 1, "op": 1e300}'


def loop_functions() -> Iterator[tuple[str, list[str]]]:
    """Yield each row of a table with scripts of which one or more are supported: those for all kinds of numbers."""
    for name, function in FUNCTIONS.items():
        value = f"{name}({', '.join(['X[vi]'] * len(function.parameters))})"
        yield (
            name,
            [
                loops(value, dtype, result)
                for dtype in ("float32", "int32", "bool")
                for result in (dtype, "bool", "float32")
            ],
        )
    for function in OPERATORS.values():
        result = "bool" if function.symbol in COMPARISONS else ""
        value = f"X[vi] {function.symbol} X[7 - vi]"
        yield function.symbol, [loops(value, dtype, result) for dtype in ("float32", "int32", "bool")]
    for name in VALUES:
        yield name, [loops(f"{name}(X[vi] > 0 and not X[vi] == 5, X[vi], -X[7 - vi])")]
    for dtype in SIGNED:
        yield f"T.{dtype}", [loops(f'T.Cast("{dtype}", X[vi])', result=dtype)]
        yield dtype, [loops(f"T.{dtype}(1)", dtype)]
    yield "T.reinterpret", [loops('T.reinterpret("int32", X[vi])', result="int32")]
    for name in LOOPS:
        yield name, [loops("X[vi]", loop=name)]
    yield "annotations", [loops("X[vi]", annotations=f", annotations={ATTRIBUTES}")]
    for name, kind in AXES.items():
        text = loops("X[vi]", axis=name)
        yield name, [text if kind is IterKind.SPATIAL else text.replace("Y[vi] =", "Y[0] = Y[0] +")]
    yield "attributes", [loops("X[vi]", attributes=ATTRIBUTES)]


LOOP_FUNCTIONS = [pytest.param(texts, id=name) for name, texts in loop_functions()]


def assert_comes_back(module: ModuleOp) -> str:
    """Constants may be read in another place: text that was printed is read as the same program from then on."""
    text = print_script(module)
    again = parse_script(text)
    assert print_script(again) == text
    assert parse_script(text).is_structurally_equivalent(again)
    return text


@pytest.mark.parametrize("texts", LOOP_FUNCTIONS)
def test_loop_functions(texts: list[str]) -> None:
    supported = [module for text in texts if (module := read_if_supported(text)) is not None]
    assert supported
    for module in supported:
        assert_comes_back(module)


def read_if_supported(text: str) -> ModuleOp | None:
    try:
        return parse_script(text)
    except CompileError as e:
        if not search("is not supported on|to store|expected a boolean", str(e)):
            raise
        return None


GRAPH = """
@I.ir_module
class Module:
    @T.prim_func
    def double(X: T.Buffer(("n", 4), "float32"), Y: T.Buffer(("n", 4), "float32")):
        n = T.int64()
        for i, j in T.grid(n, 4):
            Y[i, j] = X[i, j] * T.float32(2)

    @T.prim_func
    def redouble(X: T.Buffer(("n", 4), "float32")):
        n = T.int64()
        for i, j in T.grid(n, 4):
            X[i, j] = X[i, j] * T.float32(2)

    @R.function(pure=False)
    def main(x: R.Tensor(("n", 4), "float32"), s: R.Tensor((4,), "float32"), c: R.Tensor((), "bool"),
             p: R.Tensor((), "int64"), w: R.Tensor((3, 4), "float32")):
        n = T.int64()
        cls = Module
        y = {value}
        return {returned}
"""

GRAPHS = {
    "R.call_tir": 'R.call_tir(cls.double, (x,), out_ty=R.Tensor((n, 4), dtype="float32"))',
    "R.call_tir_inplace": "R.call_tir_inplace(cls.redouble, (x,), 0, R.Tensor((n, 4), 'float32'))",
    "R.prim_value": "R.prim_value(n * 2 + 1)",
    "R.call_dps_packed": 'R.call_dps_packed("env.f", (x,), out_ty=[R.Tensor((n + 1,), "int8"), R.Tensor((), "bool")])',
    "R.alloc_tensor": 'R.alloc_tensor(R.shape([n, 2]), R.dtype("float16"), 0, R.str("global"))',
    "R.builtin.alloc_tensor": 'R.builtin.alloc_tensor(R.shape([3]), R.dtype("bool"), 0, R.str("global"))',
    "R.assert_op": 'R.assert_op(c, p, format=R.str("expected {{0, 1}}, found {}"))',
    "R.const": 'R.const([[1.5, float("inf")], [-0.0, 3]], "float32")',
    "R.linear": "R.linear(x, w)",
    "R.nn.batch_norm": "R.nn.batch_norm(x, s, s, s, s, training=False)[0]",
    "R.tuple": "R.tuple(x, s)",
    "R.take": 'R.take(s, p, mode="clip")',
    "R.argsort": "R.argsort(x, descending=True)",
    "R.unique": "R.unique(s, return_index=True, return_counts=True)",
    "R.argwhere": "R.argwhere(x)",
    "R.nonzero": "R.nonzero(x)",
    "R.match_cast": 'R.match_cast(x, R.Tensor((3, 4), "float32"))',
}
"""An example of each call."""


def test_all_calls_have_examples() -> None:
    # Rows of `test_script_compositions` are the examples of compositions.
    assert {name for name, read in CALLS.items() if not read.__module__.endswith("compositions")} <= GRAPHS.keys()
    modules = [parse_script(graph(name)) for name in GRAPHS]
    assert PRINTED.keys() <= {type(op) for module in modules for op in module.walk()}


def graph(name: str) -> str:
    is_value = name != "R.assert_op"
    text = GRAPH.format(value=GRAPHS[name], returned="y" if is_value else "x")
    return text if is_value else text.replace("y = R.assert_op", "R.assert_op")


@pytest.mark.parametrize("name", GRAPHS)
def test_calls_of_graphs(name: str) -> None:
    text = assert_comes_back(parse_script(graph(name)))
    assert (
        name.replace("R.alloc", "R.builtin.alloc")
        .replace("R.call_tir_inplace", "R.call_tir(cls.redouble")
        .replace("R.tuple", "return (x, s)")
        .replace("R.nonzero", "R.argwhere")
        in text
    )


OTHERS = {
    "a label": (
        loops("X[vi]", annotations=', annotations={"relex.label": "rows", "p": 1}'),
        "for rows in T.serial(8, ",
    ),
    "numbers without a literal": (
        loops("X[vi]", annotations=', annotations={"a": float("inf"), "b": float("nan")}'),
        'annotations={"a": float("inf"), "b": float("nan")}',
    ),
    "outputs that nothing writes": (
        """
@T.prim_func
def main(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
    T.func_attr({"relex.outputs": 1, "layout_free_buffers": [0], "op_pattern": 8})
    pass
""",
        '"relex.outputs": 1',
    ),
    "a guard": (
        loops("X[vi]").replace("            T.sblock_attr({})", "            T.where(i * 2 < 9)"),
        "            T.where(i * 2 < 9)",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_constructs(name: str) -> None:
    text, part = OTHERS[name]
    module = parse_script(text)
    if "nan" in text:  # It equals nothing.
        assert str(parse_script(print_script(module))) == str(module)
        assert part in print_script(module)
    else:
        assert part in assert_comes_back(module)
