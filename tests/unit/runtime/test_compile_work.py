"""What a compilation does is counted, not timed: equal layers are compiled once, and nothing is done twice."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from effort import count_calls
from numpy.typing import NDArray
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from relex.dialects import parse_module
from relex.dialects.table import is_own
from relex.dialects.tir import PrimFuncOp
from relex.frontend import BlockBuilder, Var, const, op
from relex.passes.loops import schedule_cpu
from relex.runtime import build, compilation, load
from relex.runtime.library import LIBRARY


def layers(count: int, width: int = 24) -> ModuleOp:
    """Equal layers, each with its own constants."""
    rng = np.random.default_rng(0)

    def weights(*shape: int):
        return const(rng.random(shape, np.float32))

    bb = BlockBuilder()
    x = Var("x", (8, width), "float32")
    with bb.function("main", [x]):
        with bb.dataflow():
            y = x
            for _ in range(count):
                y = bb.emit(op.add(bb.emit(op.dense(y, weights(width, width))), weights(width)))
                y = bb.emit(op.softmax(bb.emit(op.relu(y)), -1))
            y = bb.emit_output(y)
        bb.emit_func_output(y)
    return bb.get()


def counted(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> list[str]:
    """The names of what a function of one argument of a module is called with from now on."""
    calls: list[str] = []
    original: Callable[..., object] = getattr(module, name)

    def see(thing: object, *rest: object, **options: object) -> object:
        calls.append(str(getattr(thing, "sym_name", type(thing).__name__)))
        return original(thing, *rest, **options)

    monkeypatch.setattr(module, name, see)
    return calls


def defined(module: ModuleOp) -> list[llvm.FuncOp]:
    """The functions that LLVM compiles."""
    return [f for f in module.ops if isinstance(f, llvm.FuncOp) and f.body.blocks]


def test_equal_layers_cost_one(monkeypatch: pytest.MonkeyPatch):
    """More of them add calls and constants, but no loop function to any stage."""
    scheduled = counted(monkeypatch, schedule_cpu, "schedule_function")
    found: list[tuple[int, int, int]] = []
    for count in (2, 5):
        scheduled.clear()
        seen: list[int] = []

        def see(p: ModulePass, module: ModuleOp, seen: list[int] = seen) -> None:
            seen.append(sum(isinstance(f, PrimFuncOp | FuncOp | llvm.FuncOp) for f in module.ops))

        lowered = compilation.lower_program(layers(count), instrument=see)
        found.append((len(scheduled), max(seen), len(defined(lowered.module))))
    assert found[0] == found[1]


def test_work_for_each_operator_does_not_grow():
    few, many = 3, 15
    small, large = (count_calls(lambda n=n: compilation.lower_program(layers(n))) for n in (few, 2 * few))
    largest = count_calls(lambda: compilation.lower_program(layers(many)))
    a_layer = (large - small) / few
    assert (largest - large) / (many - 2 * few) < 1.3 * a_layer


PROGRAM = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relex.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""


def test_own_passes_are_not_verified(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compilation, "entered_by_others", lambda: False)
    verified = counted(monkeypatch, compilation, "verify_module")
    compilation.compile_program(parse_module(PROGRAM))
    levels = len(verified)
    assert levels > 1
    monkeypatch.delenv(compilation.VERIFY_VARIABLE)
    compilation.compile_program(parse_module(PROGRAM))
    assert len(verified) == levels


def test_rules_of_others_are_verified(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(compilation.VERIFY_VARIABLE)
    monkeypatch.setattr(compilation, "entered_by_others", lambda: True)
    verified = counted(monkeypatch, compilation, "verify_module")
    compilation.compile_program(parse_module(PROGRAM))
    assert verified
    assert [is_own(name) for name in ("relex.passes", "xdsl.ir", "relex_mobile.ops", "__main__")] == [
        True,
        True,
        False,
        False,
    ]


NOINLINE = ArrayAttr([StringAttr("noinline")])


@pytest.mark.parametrize(("size", "is_apart"), [(8, False), (4096, True), ("?", True)])
def test_functions_that_take_long_are_not_inlined(size: int | str, is_apart: bool):
    kind, memory = f"tensor<{size}xf32>", f"memref<{size}xf32>"
    extent = "%n" if size == "?" else size
    dim = "%c = arith.constant 0 : index %n = memref.dim %X, %c : memref<?xf32>" if size == "?" else ""
    module = parse_module(f"""
tir.prim_func private @double(%X: {memory}) outs(%Y: {memory}) {{
  {dim}
  tir.for %i in ({extent}) {{
    tir.block @Y (%vi: spatial<{extent}> = %i) {{
      %x = memref.load %X[%vi] : {memory}
      %y = arith.addf %x, %x : f32
      memref.store %y, %Y[%vi] : {memory}
    }}
  }}
}}
func.func @main(%x: {kind} {{relex.dims = ["n"]}}) -> {kind} {{
  %c = arith.constant 0 : index
  %n = tensor.dim %x, %c : {kind}
  %y = relex.call_tir @double(%x) {"sizes(%n)" if size == "?" else ""} : ({kind}) -> {kind}
  func.return %y : {kind}
}}
""")
    lowered = compilation.lower_program(module).module
    (double,) = (f for f in defined(lowered) if f.sym_name.data == "double")
    assert (double.get_attr_or_prop("passthrough") == NOINLINE) == is_apart


def test_only_entries_are_exported():
    code = compilation.compile_program(layers(1)).code
    assert code.functions == ("_relex_packed_main",)


def test_equal_layers_are_one_kernel():
    """LLVM compiles each kernel once, in a separate part; more layers only add calls."""
    sizes = [[len(part) for part in compilation.compile_program(layers(count)).code.parts] for count in (2, 5)]
    assert len(sizes[0]) > 1
    assert sizes[0][1:] == sizes[1][1:]


def test_library_functions_of_what_cannot_be_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """They go with the functions that call them."""

    def copy(x: NDArray[np.float32], y: NDArray[np.float32]) -> None:
        y[:] = x

    monkeypatch.setitem(LIBRARY, "test.copy", copy)
    program = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { func.return %x : tensor<4xf32> }
    func.func @other(%x: vector<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
      %z = relex.call_dps_packed "test.copy"(%y) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %z : tensor<4xf32>
    }
    """
    executable = build(program)
    assert list(executable) == ["main"]
    executable.save(tmp_path / "a.relex")
    assert load(tmp_path / "a.relex")["main"](np.ones(4, np.float32)).tolist() == [1, 1, 1, 1]


def test_results_stay(monkeypatch: pytest.MonkeyPatch):
    x = np.ones((8, 24), np.float32)
    np.testing.assert_allclose(build(layers(2))["main"](x).sum(axis=1), np.ones(8), rtol=1e-5)
