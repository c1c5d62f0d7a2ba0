"""Which programs are native code, and functions on buffers as native code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from relex.dialects import CompileError, parse_module
from relex.dialects.errors import ArityError, DTypeError, OverlapError, ShapeError, UnknownNameError
from relex.dialects.function_arguments import SIGNATURE_ATTR
from relex.lowering.relex_pipeline import RelexPipelinePass
from relex.reference import interpret
from relex.runtime import build, load
from relex.tools.run.native_code import check_trusted

SAFE = """
func.func @main(%x: tensor<4xi64>) -> tensor<4xi64> {
  %0 = relex.call_tir @copy(%x) : (tensor<4xi64>) -> tensor<4xi64>
  %1 = relex.call_dps_packed "env.f"(%0) : (tensor<4xi64>) -> tensor<4xi64>
  %2 = relex.add %1, %0 : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  func.return %2 : tensor<4xi64>
}
tir.prim_func private @copy(%X: memref<4xi64>) outs(%Y: memref<4xi64>) {
  %t = tir.alloc_buffer : memref<4xi64>
  tir.for %i in (4) {
    tir.block @Y (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xi64>
      memref.store %x, %t[%v] : memref<4xi64>
      %y = memref.load %t[%v] : memref<4xi64>
      memref.store %y, %Y[%v] : memref<4xi64>
    }
  }
}
"""

NATIVE = {
    "a function of C": ("func.func private @abort()", "func.func"),
    "buffers": ("func.func private @f(%x: memref<4xi64>) { func.return }", "func.func"),
    "memory": ("func.func private @f() { %m = memref.alloc() : memref<1xi8>\n func.return }", "memref.alloc"),
    "machine code": ("llvm.func @f() { llvm.return }", "llvm.func"),
    "a pointer": ("func.func private @f() { %p = llvm.mlir.zero : !llvm.ptr\n func.return }", "llvm.mlir.zero"),
    "a view": (
        "tir.prim_func private @f(%x: memref<4xi8>) outs(%y: memref<4xi8>) {\n"
        "%c = arith.constant 9 : index\n"
        "%v = memref.view %y[%c][] : memref<4xi8> to memref<1xi64>\n}",
        "memref.view",
    ),
}


def test_graph_and_loop_functions_are_no_native_code():
    check_trusted(parse_module(SAFE))


@pytest.mark.parametrize("case", NATIVE)
def test_what_is_native_code(case: str):
    text, op = NATIVE[case]
    with pytest.raises(CompileError, match=f"'{op}' op is native code, which reaches all memory; --trust-native"):
        check_trusted(parse_module(SAFE + text, verify=False))


ADD = """
func.func @main(%x: tensor<?x3xf32> {relex.dims = ["n", ""]}, %w: tensor<3xf32>) -> tensor<?x3xf32> {
  %y = relex.add %x, %w : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  func.return %y : tensor<?x3xf32>
}
"""


@pytest.fixture(scope="module", params=["compiled", "saved", "interpreted"])
def main(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A function at the core level."""
    module = RelexPipelinePass("core")(parse_module(ADD))
    # Without a signature, it is a function on buffers like any other.
    del next(op for op in module.ops if isinstance(op, FuncOp)).attributes[SIGNATURE_ATTR]
    if request.param == "interpreted":
        return interpret(module)["main"]
    ex, path = build(module), tmp_path_factory.mktemp("core") / "main.relex"
    ex.save(path)
    return (load(path) if request.param == "saved" else ex)["main"]


@pytest.mark.parametrize("n", [0, 1, 3, 17])
def test_functions_on_buffers_write_in_place(main: Any, n: int):
    x, w = np.arange(3 * n, dtype=np.float32).reshape(n, 3), np.array([1, 2, 3], np.float32)
    for _ in range(3):
        out = np.zeros((n, 3), np.float32)
        assert main(x, w, out) is None
        assert (out == x + w).all()


def test_wrong_buffers(main: Any):
    x, w, out = np.zeros((2, 3), np.float32), np.zeros(3, np.float32), np.zeros((2, 3), np.float32)
    read_only = out.copy()
    read_only.flags.writeable = False
    with pytest.raises(ArityError, match=r"expected 3 arguments \(x, w, out\), found none for out"):
        main(x, w)
    with pytest.raises(ShapeError):
        main(x, w, np.zeros((3, 3), np.float32))
    for wrong in (read_only, np.zeros((2, 6), np.float32)[:, ::2], np.zeros((3, 2), np.float32).T):
        with pytest.raises(DTypeError, match=r"main\(\) argument 'out': expected a NumPy array that can be written"):
            main(x, w, wrong)
    with pytest.raises(OverlapError, match=r"main\(\) expected arrays that do not share memory"):
        main(x, w, x)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("%x: memref<4xindex>", "expected buffers that arrays can be, found memref<4xindex>"),
        ("%x: memref<4xf32, strided<[2]>>", "expected buffers that arrays can be, found memref<4xf32, strided"),
        ("%x: memref<4xf32>, %n: tensor<2xf32>", "expected buffers alone as arguments, found tensor<2xf32>"),
    ],
)
def test_functions_that_cannot_be_called(arguments: str, reason: str, tmp_path: Path):
    module = parse_module(f"func.func @main({arguments}) {{ func.return }}\n{ADD.replace('@main', '@other')}")
    with pytest.raises(UnknownNameError, match=f"function 'main' cannot be called: {reason}.*; there are other"):
        interpret(module)["main"]
