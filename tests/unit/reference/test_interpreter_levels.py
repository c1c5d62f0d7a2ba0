"""One program, every level: the interpreter against NumPy, the plain Python loops, and native code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import LEVELS, Array, compiled, interpreted, random_array

from relex.dialects import parse_module
from relex.dialects.errors import ExecutionError
from relex.lowering.relex_pipeline import Level
from relex.reference import interpret
from relex.reference.interpreter.program import Program
from relex.runtime import build

DIGITS = Path(__file__).parents[3] / "examples" / "digits"


def same_bits(found: Array, wanted: Array) -> None:
    """Equal to the sign of a zero; any NaN is as good as another."""
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(found, wanted)
    if found.dtype.kind == "f":
        numbers = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))


def trained_model() -> dict[str, Array]:
    with np.load(DIGITS / "weights.npz") as weights:
        return dict(weights)


@pytest.mark.parametrize("file", ["mlp.mlir", pytest.param("mlp_tir.mlir", marks=pytest.mark.full)])
def test_digits(file: str) -> None:
    text = (DIGITS / file).read_text()
    weights, image = trained_model(), random_array(np.random.default_rng(3), "float32", (1, 784))
    native = compiled(text)["main"](image, **weights)
    for level in ("loops", "core"):
        same_bits(interpreted(text, level)["main"](image, **weights), native)
    graph = interpreted(text, "graph")["main"](image, **weights)
    np.testing.assert_allclose(graph, native, rtol=1e-4, atol=1e-4)


def test_digits_as_a_batch() -> None:
    text = (DIGITS / "mlp_tir.mlir").read_text()
    weights, images = trained_model(), random_array(np.random.default_rng(4), "float32", (360, 784))
    same_bits(interpret(text)["batch"](images, **weights), build(text, strict=True)["batch"](images, **weights))


def plain_linear(x: Array, w: Array, b: Array) -> Array:
    (rows, depth), columns = x.shape, len(w)
    y, z = np.empty((rows, columns), np.float32), np.empty((rows, columns), np.float32)
    for i in range(rows):
        for j in range(columns):
            for k in range(depth):
                if k == 0:
                    y[i, j] = 0
                y[i, j] = y[i, j] + x[i, k] * w[j, k]
    for i in range(rows):
        for j in range(columns):
            z[i, j] = y[i, j] + b[j]
    return z


def plain_relu(x: Array) -> Array:
    y = np.empty(x.shape, np.float32)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = np.maximum(x[i, j], 0)
    return y


def plain_mlp(x: Array, w0: Array, b0: Array, w1: Array, b1: Array) -> Array:
    return plain_linear(plain_relu(plain_linear(x, w0, b0)), w1, b1)


PLAIN: dict[str, tuple[Callable[..., Array], tuple[tuple[int, ...], ...]]] = {
    "linear0": (plain_linear, ((1, 784), (128, 784), (128,))),
    "relu0": (plain_relu, ((1, 128),)),
    "linear1": (plain_linear, ((1, 128), (10, 128), (10,))),
    "main": (plain_mlp, ((1, 784), (128, 784), (128,), (10, 128), (10,))),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("level", LEVELS)
def test_loops_are_low_level_numpy(name: str, level: Level) -> None:
    plain, shapes = PLAIN[name]
    rng = np.random.default_rng(2)
    arguments = [random_array(rng, "float32", shape) for shape in shapes]
    found = interpreted((DIGITS / "mlp_tir.mlir").read_text(), level)[name](*arguments)
    same_bits(found, plain(*arguments))


MIXED = """
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c = relex.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %y = relex.dataflow -> tensor<4xf32> {
    %0 = relex.call_tir @through(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = relex.call @group(%0, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    relex.output %1 : tensor<4xf32>
  }
  func.return %y, %x, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
func.func private @group(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> attributes {relex.primitive} {
  %0 = relex.multiply %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
tir.prim_func private @through(%X: memref<4xf32>) outs(%Y: memref<4xf32>) {
  %T = tir.alloc_buffer : memref<4xf32>
  tir.call @double(%X, %T) : memref<4xf32>, memref<4xf32>
  func.call @negate(%T, %Y) : (memref<4xf32>, memref<4xf32>) -> ()
}
tir.prim_func private @double(%X: memref<4xf32>) outs(%Y: memref<4xf32>) {
  tir.for %i in (4) {
    %x = memref.load %X[%i] : memref<4xf32>
    %y = arith.addf %x, %x : f32
    memref.store %y, %Y[%i] : memref<4xf32>
  }
}
func.func @negate(%X: memref<4xf32>, %Y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %x = memref.load %X[%i] : memref<4xf32>
    %y = arith.negf %x : f32
    memref.store %y, %Y[%i] : memref<4xf32>
  }
  func.return
}
"""


@pytest.mark.parametrize("checked", [False, True])
def test_levels_call_each_other(checked: bool) -> None:
    x = np.array([1, 2, 3, np.nan], np.float32)
    y, same, constant = interpret(MIXED, checked=checked)["main"](x)
    np.testing.assert_array_equal(y, -2 * x * [1, 2, 3, 4])
    same[:] = constant[:] = 7
    np.testing.assert_array_equal(x, [1, 2, 3, np.nan])
    np.testing.assert_array_equal(interpret(MIXED)["main"](x)[2], [1, 2, 3, 4])


def test_sizes_that_inference_refuses() -> None:
    """NumPy broadcasts what an operator takes for another size; the interpreter refuses it as inference does."""
    module = parse_module(
        """
        func.func @channels(%x: tensor<1x?x4xf32>, %w: tensor<1x2x4xf32>) -> tensor<1x2x7xf32> {
          %0 = relex.conv1d_transpose %x, %w padding = [0, 0]
              : (tensor<1x?x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x7xf32>
          func.return %0 : tensor<1x2x7xf32>
        }
        func.func @sum(%x: tensor<?xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
          %0 = relex.add %x, %y : (tensor<?xf32>, tensor<3xf32>) -> tensor<3xf32>
          func.return %0 : tensor<3xf32>
        }
        """
    )
    channels, total = map(Program(module).function, module.ops)
    with pytest.raises(ExecutionError, match="expected equal input channels of data and weight, found 3 and 1"):
        channels(np.ones((1, 3, 4), np.float32), np.ones((1, 2, 4), np.float32))
    with pytest.raises(ExecutionError, match="expected 3 == operand0_0, found operand0_0 = 1"):
        total(np.ones(1, np.float32), np.ones(3, np.float32))


def test_functions_on_buffers_write_in_place() -> None:
    program = interpret(MIXED)
    assert list(program) == ["main", "negate"]
    x, y = np.arange(4, dtype=np.float32), np.empty(4, np.float32)
    assert program["negate"](x, y) is None
    np.testing.assert_array_equal(y, -x)
    with pytest.raises(TypeError, match="argument 'Y': expected a NumPy array that can be written in place"):
        program["negate"](x, np.empty(8, np.float32)[::2])


def test_shapes_that_are_known_at_run_time() -> None:
    program = interpret(
        """
        func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
          %n = arith.constant 4 : index
          %any = relex.call_tir @double(%x) sizes(%n) : (tensor<4xf32>) -> tensor<?xf32>
          %y = relex.call_tir @back(%any) : (tensor<?xf32>) -> tensor<4xf32>
          func.return %y : tensor<4xf32>
        }
        tir.prim_func private @double(%X: memref<4xf32>) outs(%Y: memref<?xf32>) {
          %c0 = arith.constant 0 : index
          %n = memref.dim %Y, %c0 : memref<?xf32>
          %T = tir.alloc_buffer sizes(%n) : memref<?xf32>
          tir.for %i in (%n) {
            tir.block @T (%v: spatial<%n> = %i) {
              %x = memref.load %X[%v] : memref<4xf32>
              memref.store %x, %T[%v] : memref<?xf32>
            }
          }
          memref.copy %T, %Y : memref<?xf32> to memref<?xf32>
        }
        tir.prim_func private @back(%X: memref<?xf32>) outs(%Y: memref<4xf32>) {
          tir.for %i in (4) {
            %x = memref.load %X[%i] : memref<?xf32>
            memref.store %x, %Y[%i] : memref<4xf32>
          }
        }
        """.replace(
            "memref.copy %T, %Y : memref<?xf32> to memref<?xf32>",
            '"memref.copy"(%T, %Y) : (memref<?xf32>, memref<?xf32>) -> ()',
        )
    )
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(program["main"](x), x)


def test_library_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    from relex.dialects.errors import ExecutionError
    from relex.runtime.library import LIBRARY

    program = interpret(
        """
        func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
          %y = relex.call_dps_packed "test.twice"(%x) : (tensor<3xf32>) -> tensor<3xf32>
          func.return %y : tensor<3xf32>
        }
        """
    )
    x = np.arange(3, dtype=np.float32)
    with pytest.raises(ExecutionError, match=r'expected a registered library function, found "test.twice"'):
        program["main"](x)

    def twice(x: Any, y: Any) -> None:
        y[:] = x + x

    monkeypatch.setitem(LIBRARY, "test.twice", twice)
    np.testing.assert_array_equal(program["main"](x), [0, 2, 4])

    def wrong(x: Any, y: Any) -> None:
        x[:] = 0

    monkeypatch.setitem(LIBRARY, "test.twice", wrong)
    with pytest.raises(ExecutionError, match=r"'relex.call_dps_packed' op failed: ValueError: "):
        program["main"](x)
