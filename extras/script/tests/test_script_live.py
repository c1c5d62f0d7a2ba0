"""Scripts in live programs, and modules on a terminal."""

from __future__ import annotations

import importlib.util
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from relex.dialects import CompileError, parse_module
from relex.dialects.errors import RelexError, UnknownNameError
from relex.dialects.function_arguments import find_function
from relex.dialects.relex import CallDpsPackedOp
from relex.dialects.tir import PrimFuncOp
from relex.frontend.script import T, parse_script
from relex.runtime import build
from relex.tools import show

IMPORTS = "from relex.frontend.script import I, R, T, Tensor\n"

RELU = '''
@I.ir_module
class MyModule:
    """A module of a loop function and a graph."""

    @T.prim_func
    def relu0(X: T.Buffer[(1, 4), "float32"], Y: T.Buffer((1, 4), "float32")):
        T.func_attr({"global_symbol": "relu0", "tir.noalias": True})
        for i, j in T.grid(1, 4):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.max(X[vi, vj], T.float32(0))

    @R.function(private=False)
    def main(x: Tensor((1, 4), "float32")) -> R.Tensor((1, 4), dtype="float32"):
        with R.dataflow():
            lv = R.call_tir(relu0, (x,), (1, 4), dtype="float32")
            R.output(lv)
        return lv
'''


def execute(tmp_path: Path, text: str, first: str = "") -> Any:
    """A Python module made of a file."""
    path = tmp_path / "program.py"
    path.write_text(first + IMPORTS + text)
    spec = importlib.util.spec_from_file_location("program", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("first", ["", "from __future__ import annotations\n"])
def test_a_decorated_class_is_a_module(tmp_path: Path, first: str):
    module = execute(tmp_path, RELU, first).MyModule
    assert isinstance(module, ModuleOp)
    assert module.is_structurally_equivalent(parse_script(RELU))
    np.testing.assert_array_equal(build(module)["main"](np.array([[1, -2, 3, -0.5]], np.float32)), [[1, 0, 3, 0]])


def test_a_decorated_function_is_a_module(tmp_path: Path):
    text = """
@T.prim_func(private=False)
def twice(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
    for i in range(4):
        Y[i] = X[i] * 2.0

@R.function
def main(x: R.Tensor((4,), "float32")):
    return R.add(x, x)
"""
    program = execute(tmp_path, text)
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(build(program.twice)["twice"](x), x * 2)
    np.testing.assert_array_equal(build(program.main)["main"](x), x * 2)


def test_names_around_are_seen(tmp_path: Path):
    text = """
ROWS = len("abc")

def make(columns):
    @T.prim_func
    def fill(Y: T.Buffer((ROWS, columns), "float32")):
        for i, j in T.grid(ROWS, columns):
            Y[i, j] = columns
    return fill

    @I.ir_module
    class Other:
        @T.prim_func
        def fill(Y: T.Buffer((1,), "float32")):
            Y[0] = 0.0
"""
    program = execute(tmp_path, text)
    for columns in (2, 5):
        found = build(program.make(columns))["fill"]()
        np.testing.assert_array_equal(found, np.full((3, columns), columns, np.float32))


GRAPH = """
@{i}.ir_module
class Module:
    @{r}.function
    def main(x: {r}.Tensor((4,), "float32")):
        with {flow}():
            y = {op}(x)
            {r}.output(y)
        return y
"""

WAYS = [
    ("from relex import frontend as relax", "R", "relax.dataflow", "relax.op.nn.relu"),
    ("import relex.frontend as rx", "R", "rx.dataflow", "rx.op.relu"),
    ("import relex.frontend", "R", "relex.frontend.dataflow", "relex.frontend.op.relu"),
    ("from relex.frontend import script as s; P = s.R", "P", "P.dataflow", "P.nn.relu"),
    ("from relex.frontend import op", "R", "R.dataflow", "op.relu"),
]


@pytest.mark.parametrize(("first", "r", "flow", "op"), WAYS)
def test_names_mean_what_they_are_bound_to(tmp_path: Path, first: str, r: str, flow: str, op: str):
    text = GRAPH.format(i="I", r=r, flow=flow, op=op)
    x = np.array([-1, 2, 0, 3], np.float32)
    in_function = "def make():\n" + "".join(f"    {line}\n" for line in f"{first}\n{text}\nreturn Module".splitlines())
    modules = [
        parse_script("\n".join((*first.split("; "), IMPORTS, text))),
        execute(tmp_path, text, first + "\n").Module,
        execute(tmp_path, in_function).make(),
    ]
    for module in modules:
        np.testing.assert_array_equal(build(module)["main"](x), np.maximum(x, 0))


def test_errors_name_the_file_of_the_program(tmp_path: Path):
    with pytest.raises(CompileError) as caught:
        execute(tmp_path, RELU.replace("T.max", "T.maximum"))
    assert str(tmp_path) not in str(caught.value)
    assert str(caught.value).endswith(
        "program.py:13:29: error: 'T.maximum' is not supported; did you mean 'T.max'?\n"
        "                Y[vi, vj] = T.maximum(X[vi, vj], T.float32(0))\n"
        "                            ^"
    )


def test_source_is_needed():
    program = "from relex.frontend.script import R\n@R.function\ndef f(x: R.Tensor((1,), 'float32')):\n    return x\n"
    with pytest.raises(RelexError, match="cannot find the source of 'f'"):
        exec(compile(program, "<nothing>", "exec"), {})


def test_a_file_that_has_changed_is_noticed(tmp_path: Path):
    path = tmp_path / "program.py"
    code = compile("\n\n\n" + IMPORTS + RELU, str(path), "exec")
    path.write_text(IMPORTS + RELU)
    with pytest.raises(RelexError, match=r"cannot find 'MyModule.relu0' in .*; has the file changed"):
        exec(code, {"__name__": "program"})


@pytest.mark.parametrize("text", ["class A: pass", "def f(): pass", "A = 1"])
def test_modules_are_classes_with_functions(tmp_path: Path, text: str):
    name = "f" if "def" in text else "A"
    with pytest.raises(RelexError, match=r"expected a class with functions below '@I.ir_module', found"):
        execute(tmp_path, f"{text}\nI.ir_module({name})\n")


def test_only_functions_can_be_decorated(tmp_path: Path):
    with pytest.raises(RelexError, match=r"expected a function below '@T.prim_func', found 1"):
        execute(tmp_path, "T.prim_func(1)\n")


def test_names_stay_what_they_are():
    assert repr(T.axis.remap("SS", [1, 2])) == "T.axis.remap"
    assert repr(T.Buffer[(1, 2), "float32"]) == "T.Buffer"
    assert not hasattr(T, "__wrapped__")


def test_functions_are_found_by_name():
    module = parse_script(RELU)
    assert isinstance(find_function(module, "main"), FuncOp)
    assert isinstance(find_function(module, "relu0"), PrimFuncOp)
    with pytest.raises(UnknownNameError, match="no function 'relu'; there are relu0, main"):
        find_function(module, "relu")
    with pytest.raises(UnknownNameError, match="no function 'f'; there are none"):
        find_function(ModuleOp([]), "f")


CONSTANT = """
func.func @main(%x: tensor<20xf32>) -> tensor<20xf32> {
  %c = relex.constant dense<"0x%s"> : tensor<20xf32>
  %y = relex.call_dps_packed "env.\\"f"(%x, %c) : (tensor<20xf32>, tensor<20xf32>) -> tensor<20xf32>
  func.return %y : tensor<20xf32>
}
""".replace("%s", np.arange(20, dtype=np.float32).tobytes().hex())


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def shown(file: StringIO, **options: Any) -> str:
    show(parse_module(CONSTANT), file=file, **options)
    return file.getvalue()


def test_show_prints_for_reading(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    plain = shown(StringIO())
    assert "dense_resource<__elided__>" in plain
    assert "\x1b" not in plain
    colored = shown(Terminal())
    assert "\x1b[35m%c\x1b[0m = \x1b[34mrelex.constant\x1b[0m" in colored
    assert '\x1b[32m"env.' in colored
    for number in (32, 33, 34, 35, 36):
        assert f"\x1b[{number}m" in colored
        colored = colored.replace(f"\x1b[{number}m", "")
    assert colored.replace("\x1b[0m", "") == plain
    show(parse_module(CONSTANT))
    assert capsys.readouterr().out == plain


def test_show_does_as_it_is_told(monkeypatch: pytest.MonkeyPatch):
    assert "\x1b" in shown(StringIO(), color=True)
    assert "\x1b" not in shown(Terminal(), color=False)
    assert "0x00000000" in shown(StringIO(), elide=20)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in shown(Terminal())


def test_show_prints_what_is_different(capsys: pytest.CaptureFixture[str]):
    before = parse_module(CONSTANT)
    after = before.clone()
    call = next(op for op in after.walk() if isinstance(op, CallDpsPackedOp))
    call.callee = StringAttr("env.g")
    show(after, since=before)
    lines = capsys.readouterr().out.splitlines()
    assert [line[0] for line in lines] == [" ", "-", "+", " "]
    assert "call_dps_packed" in lines[1]
    assert 'call_dps_packed "env.g"' in lines[2]
    show(after, since=before, color=True)
    assert [line[:5] for line in capsys.readouterr().out.splitlines()][1:3] == ["\x1b[31m", "\x1b[32m"]
    show(after, since=after)
    assert capsys.readouterr().out == "\n"
    with pytest.raises(RelexError, match="expected a module or a part of it, found str"):
        show(after, since="before")  # pyright: ignore[reportArgumentType]
