"""What users of the `BlockBuilder` get wrong: errors that say what is expected, and what was found."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from relex.dialects.errors import CompileError, RelexError, UnknownNameError, locate
from relex.dialects.function_arguments import find_function
from relex.frontend import BlockBuilder, Var, const, op
from relex.runtime import build, build_object


def relu_module() -> ModuleOp:
    bb = BlockBuilder()
    x = Var("x", ("n", 4))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(op.relu(x)))
    return bb.get()


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1.0, "float32"),
        (np.float64(1), "float64"),
        (np.float32(1), "float32"),
        (np.float16(1), "float16"),
        (np.array(1.0), "float64"),
        (np.int32(1), "int32"),
        (1, "int64"),
        (True, "bool"),
    ],
)
def test_constants_keep_the_dtype_that_they_have(value: object, dtype: str) -> None:
    assert const(value).value.dtype == dtype
    assert const(value, "float32").value.dtype == "float32"


variable: Any = Var
calls: Any = op


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: const([1, [2]]), "expected an array to make a constant of, found list: .*inhomogeneous"),
        (lambda: const(1.0, "flot32"), "expected the name of a dtype, found 'flot32'"),
        (
            lambda: const("one", "float32"),
            "expected an array to make a constant of, found str: expected numbers, found str",
        ),
        (
            lambda: const("1.5", "float32"),
            "expected an array to make a constant of, found str: expected numbers, found",
        ),
        (lambda: const([None, 1], "float32"), "found list: expected numbers, found None"),
        (lambda: variable("x", (1 << 63,)), "expected sizes of at most 9223372036854775807, found 9223372036854775808"),
        (lambda: calls.alloc_tensor((2.5, 3)), "expected sizes that are numbers from 0 up, or names, found 2.5"),
        (lambda: calls.alloc_tensor(((2, 3), 5)), r"expected sizes .* or names, found \(2, 3\)"),
        (lambda: calls.alloc_tensor(None), "expected a list of sizes, found None"),
        (lambda: calls.alloc_tensor(5), "expected a list of sizes, found int"),
        (lambda: calls.alloc_tensor([(2,), (3,)]), r"expected sizes .* or names, found \(2,\)"),
        (lambda: calls.alloc_tensor("n"), "expected a list of sizes, found str"),
        (lambda: calls.alloc_tensor((1 << 70,)), "expected sizes of at most 9223372036854775807, found 11805"),
        (
            lambda: calls.call_tir(len, (), (2,)),
            "expected the name of a loop function, found builtin_function_or_method",
        ),
        (lambda: calls.call_dps_packed(None, (), (2,)), "expected the name of a library function, found None"),
        (lambda: calls.call(3), "expected the name of a function, found int"),
        (lambda: calls.call_tir("f", (), ((2, 3), 5)), "expected either sizes or the shapes of several results, found"),
        (lambda: calls.call_tir("f", (), np.array((2, 3))), "expected a list of sizes, found numpy.ndarray"),
        (lambda: const(1 << 70, "int64"), "expected an array to make a constant of, found int: .*too large"),
        (lambda: const(None), "expected an array to make a constant of, found None: expected numbers, found None"),
        (lambda: variable("x", 4), "'x': expected a list of sizes, found int"),
        (lambda: variable("x", "n"), "'x': expected a list of sizes, found str"),
        (lambda: variable("x", None), "'x': expected a list of sizes, found None"),
        (lambda: variable("x", (4,), None), "expected the name of a dtype, found None"),
        (lambda: variable((4,), "x"), "expected the name of a parameter, found tuple"),
    ],
)
def test_constants_and_parameters(make: Callable[[], object], message: str) -> None:
    with pytest.raises(RelexError, match=message) as caught:
        make()
    assert isinstance(caught.value, TypeError | ValueError)


def nothing(*_: object) -> None:
    """A tensor expression that is none."""


def numbers(*_: object) -> list[int]:
    return [1]


Fill = Callable[[Any, Var], object]

RETURNS = "'call_te' expected a function that returns a 'te' tensor, or several, found"
FILLS: list[tuple[Fill, str]] = [
    (lambda bb, x: bb.emit_func_output(None), "expected a tensor of the program, or several, found None"),
    (lambda bb, x: bb.emit_te(None, x), "'call_te' expected a function, found None"),
    (lambda bb, x: bb.emit_te(nothing, x), f"{RETURNS} None"),
    (lambda bb, x: bb.emit_te(numbers, x), f"{RETURNS} a list with int"),
    (lambda bb, x: bb.emit(calls.add(x, x, foo=1)), "'relex.add' op expected arguments among none, found foo"),
    (lambda bb, x: bb.emit(calls.sum(x, axes=1)), "'relex.sum' op expected arguments among axis, keepdims, found axes"),
    (lambda bb, x: bb.emit(calls.reshape(x, None)), "'relex.reshape' op expected shape to be a list of .*, found None"),
    (lambda bb, x: bb.emit(calls.astype(x, None)), "'relex.astype' op expected dtype to be one of .*, found None"),
    (lambda bb, x: bb.emit(calls.max_pool2d(x, None)), "'relex.max_pool2d' op expected pool_size to be .*, found None"),
    (
        lambda bb, x: bb.emit(calls.astype(x, "bool") + 2**40),
        "'relex.add' op expected elements of i1, found 1099511627776",
    ),
]

HERE = r"test_builder_errors\.py:\d+:\d+: error: "


@pytest.mark.parametrize(("fill", "message"), FILLS)
def test_bodies(fill: Fill, message: str) -> None:
    bb = BlockBuilder()
    x = Var("x", (4,))
    with pytest.raises(CompileError, match=HERE + message), bb.function("f", [x]):
        fill(bb, x)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        (None, [], "expected the name of a function, found None"),
        ("f", Var("x", (4,)), "expected a list of parameters, found relex.frontend.graph_expressions.Var"),
        ("f", ["x"], "expected parameters made by 'Var', found str"),
        ("f", [const(1)], "expected parameters made by 'Var', found relex.frontend.graph_expressions.Constant"),
    ],
)
def test_functions(name: Any, params: Any, message: str) -> None:
    bb = BlockBuilder()
    with pytest.raises(CompileError, match=HERE + message), bb.function(name, params):
        pass


def test_update_func_takes_the_place_of_another_function() -> None:
    module = relu_module()
    function = find_function(module, "main")
    bb = BlockBuilder()
    with pytest.raises(UnknownNameError, match="no function 'new' to update; there are none; 'add_func'"):
        bb.update_func("new", function)
    bb.add_func(function)
    with pytest.raises(UnknownNameError, match="there are main; 'add_func' adds a function"):
        bb.update_func("new", function)
    bb.update_func("main", function)
    assert [op.sym_name.data for op in bb.get().ops if isinstance(op, FuncOp)] == ["main"]


def imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("program", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PROGRAM = """from relex.frontend import BlockBuilder, Var, op

def make(rows):
    bb = BlockBuilder()
    x = Var("x", (rows, 4))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(op.dense(x, x) if rows else op.relu()))
    return bb.get()
"""


def test_places_are_relative_to_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that are printed or saved do not tell where their files lay on the machine that built them."""
    file = tmp_path / "models" / "net.py"
    file.parent.mkdir()
    file.write_text(PROGRAM)
    make = imported(file).make
    for folder, name in ((tmp_path, os.path.join("models", "net.py")), (file.parent, "net.py"), (Path("/"), None)):
        monkeypatch.chdir(folder)
        shown = name or str(file).lstrip("/")
        places = [locate(operation.location) for operation in make(4).walk() if operation.name.startswith("relex.")]
        assert [place.filename.data for place in places if place is not None] == [shown]
        with pytest.raises(CompileError) as caught:
            make(0)
        first, line, _ = str(caught.value).splitlines()
        assert first.startswith(f"{shown}:7:")
        assert line == PROGRAM.splitlines()[6]


def test_saved_programs_do_not_tell_where_they_were_built(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(PROGRAM)
    module = imported(file).make(4)
    build(module).save(tmp_path / "net.relex")
    build_object(module, tmp_path / "net.o")
    for saved in ("net.relex", "net.o", "net.h"):
        assert str(tmp_path).encode() not in (tmp_path / saved).read_bytes()
