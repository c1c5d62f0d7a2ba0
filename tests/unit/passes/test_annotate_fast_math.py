"""Hand-written loops compute in any order, and contract products, unless they say otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import CompileError, parse_module
from relex.frontend.script import parse_script
from relex.lowering import RelexPipelinePass
from relex.passes import AnnotateFastMathPass, ApplySchedulePass
from relex.reference import interpret
from relex.runtime import build

Array = npt.NDArray[Any]


def matmul(m: int, n: int, k: int, attributes: str = '"tir.noalias": True') -> ModuleOp:
    """The product of a matrix and a transposed one, with a scale and an offset, as a script."""
    return parse_script(
        f"""
@T.prim_func
def main(X: T.Buffer(({m}, {k}), "float32"), W: T.Buffer(({n}, {k}), "float32"), Z: T.Buffer(({m}, {n}), "float32")):
    T.func_attr({{{attributes}}})
    Y = T.alloc_buffer(({m}, {n}), "float32")
    for i, j, k in T.grid({m}, {n}, {k}):
        with T.sblock("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vj, vk]
    for i, j in T.grid({m}, {n}):
        with T.sblock("Z"):
            vi, vj = T.axis.remap("SS", [i, j])
            Z[vi, vj] = Y[vi, vj] * T.float32(0.1) + T.float32(0.7)
"""
    )


def in_order(x: Array, w: Array) -> Array:
    """What the loops of `matmul` compute, step by step."""
    sums = np.zeros((len(x), len(w)), np.float32)
    for k in range(x.shape[1]):
        sums += x[:, k, None] * w[None, :, k]
    return sums * np.float32(0.1) + np.float32(0.7)


def random_operands(m: int, n: int, k: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(m + n + k)
    return rng.standard_normal((m, k), np.float32), rng.standard_normal((n, k), np.float32)


SIZES = [(1, 1, 1), (3, 17, 0), (0, 4, 5), (3, 17, 5), (2, 33, 100), (17, 64, 129)]


@pytest.mark.parametrize("size", SIZES)
def test_strict_loops_round_step_by_step(size: tuple[int, int, int]):
    x, w = random_operands(*size)
    if 0 not in size:
        expected = in_order(x, w)
        assert (build(matmul(*size), strict=True)["main"](x, w) == expected).all()
        strict = matmul(*size, attributes='"tir.noalias": True, "relex.strict": True')
        assert (build(strict)["main"](x, w) == expected).all()
        assert (interpret(AnnotateFastMathPass()(matmul(*size)))["main"](x, w) == expected).all()


@pytest.mark.parametrize("size", [size for size in SIZES if size[2]])
def test_other_loops_are_as_accurate(size: tuple[int, int, int]):
    x, w = random_operands(*size)
    found = build(matmul(*size))["main"](x, w)
    exact_sums = x.astype(np.float64) @ w.T.astype(np.float64) * np.float32(0.1) + np.float32(0.7)
    size_of_sums = abs(x.astype(np.float64)) @ abs(w.T.astype(np.float64)) * 0.1 + 0.7
    assert (abs(found - exact_sums) <= (size[2] + 4) * np.finfo(np.float32).eps / 2 * size_of_sums).all()


def test_infinities_and_nan_stay():
    x, w = random_operands(4, 33, 100)
    x[0, 3], x[1, 50], x[2, 7], x[2, 8], w[:, 8] = np.inf, np.nan, np.inf, -np.inf, 1
    w[5, 3] = 0
    with np.errstate(invalid="ignore"):
        expected = in_order(x, w)
    found = build(matmul(4, 33, 100))["main"](x, w)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(found[np.isinf(expected)], expected[np.isinf(expected)])
    assert np.isinf(expected).any()
    assert np.isnan(expected[0, 5])


CONTRACTED = """
tir.prim_func @main(%X: memref<3xf32>, %Y: memref<3xf32>) outs(%Z: memref<3xf32>) attributes {tir.noalias} {
  tir.for %i in (3) {
    tir.block @Z (%vi: spatial<3> = %i) {
      %x = memref.load %X[%vi] : memref<3xf32>
      %y = memref.load %Y[%vi] : memref<3xf32>
      %p = arith.mulf %x, %x : f32
      %z = arith.addf %p, %y : f32
      memref.store %z, %Z[%vi] : memref<3xf32>
    }
  }
}
"""


def test_a_strict_function_contracts_nothing():
    x, y = np.array([1 + 2**-20, 3, 1e30], np.float32), np.array([-1, 1, -np.inf], np.float32)
    found = build(CONTRACTED.replace("tir.noalias", "tir.noalias, relex.strict"))["main"](x, y)
    with np.errstate(over="ignore", invalid="ignore"):
        np.testing.assert_array_equal(found, x * x + y)
    assert found[0] == 2**-19
    assert np.isnan(found[2])


def test_operators_keep_their_rounding_in_loops_that_are_read_back():
    """`x * x + y` of operators is rounded twice, whatever level its text is of."""
    text = """
    func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
      %p = relex.multiply %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %z = relex.add %p, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      func.return %z : tensor<3xf32>
    }
    """
    x, y = np.array([1 + 2**-20, 3, 5], np.float32), np.array([-1, 1, 2], np.float32)
    loops = parse_module(str(RelexPipelinePass("loops")(parse_module(text))))
    for program in (parse_module(text), loops):
        assert (build(program)["main"](x, y) == x * x + y).all()


SUM = """
tir.prim_func @main(%X: memref<64xf32>) outs(%Y: memref<1xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  tir.for %i @i, %k @k in (1, 64) {
    tir.block @Y (%vi: spatial<1> = %i, %vk: reduce<64> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<1xf32>
      }
      %y = memref.load %Y[%vi] : memref<1xf32>
      %x = memref.load %X[%vk] : memref<64xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<1xf32>
    }
  }
}
schedule.sequence for @main {
  schedule.split @k by [?, 4]
  schedule.rfactor @Y along @k_1 at @k_0
}
"""
STRICT_SUM = SUM.replace("tir.noalias", "tir.noalias, relex.strict")


def reordered(text: str) -> ModuleOp:
    return ApplySchedulePass()(AnnotateFastMathPass()(parse_module(text)))


def test_a_schedule_reorders_what_is_annotated():
    with pytest.raises(CompileError, match=r"lacks the flag 'reassoc', which 'annotate-fast-math' adds to reductions"):
        ApplySchedulePass()(parse_module(SUM))
    with pytest.raises(CompileError, match=r"lacks the flag 'reassoc', as the function is strict"):
        reordered(STRICT_SUM)
