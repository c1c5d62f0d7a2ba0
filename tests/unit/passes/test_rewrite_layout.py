"""Constants in the order of loop functions: what is stored, and that results stay the same bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from programs import Array
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import parse_module
from relex.dialects.dtypes import array_from_dense
from relex.dialects.relex import ConstantOp
from relex.lowering import RelexPipelinePass
from relex.passes import BindParamsPass, RewriteLayoutPass, SetTargetPass
from relex.passes.cpu import cost
from relex.reference import check_pass
from relex.runtime import build

AVX512 = SetTargetPass("x86_64-unknown-linux-gnu", "skylake-avx512", "+avx512f,+avx2")


def dense(rows: int, terms: int, columns: int, kind: str = "f32") -> str:
    a, b, result = (f"tensor<{m}x{n}x{kind}>" for m, n in ((rows, terms), (columns, terms), (rows, columns)))
    return f"""
    func.func @main(%a: {a}, %w: {b}) -> {result} {{
      %0 = relex.dense %a, %w : ({a}, {b}) -> {result}
      func.return %0 : {result}
    }}"""


def bound(text: str, w: Array) -> ModuleOp:
    return BindParamsPass("main", {"w": w})(parse_module(text))


def constants(module: ModuleOp) -> list[Array]:
    return [array_from_dense(op.value) for op in module.walk() if isinstance(op, ConstantOp)]


def do_nothing(rewrite_layout: RewriteLayoutPass, ctx: Context, op: ModuleOp) -> None:
    """In the place of the pass."""


SIZES = [(64, 64, 64), (17, 33, 71), (67, 200, 3), (200, 1, 171)]


@pytest.mark.sampled
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", ["f32", "f64", "i32"])
def test_results_stay_the_same(
    sizes: tuple[int, int, int], kind: str, strict: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, terms, columns = sizes
    rng = np.random.default_rng(0)
    dtype = {"f32": np.float32, "f64": np.float64, "i32": np.int32}[kind]
    a, w = ((8 * rng.standard_normal(shape)).astype(dtype) for shape in ((rows, terms), (columns, terms)))
    if kind != "i32":
        w[0, 0], w[-1, -1] = np.nan, -0.0
    program = bound(dense(*sizes, kind), w)
    packed = build(program, strict=strict)["main"](a)
    monkeypatch.setattr(RewriteLayoutPass, "apply", do_nothing)
    np.testing.assert_array_equal(packed, build(program, strict=strict)["main"](a))


def test_panels_are_stored_with_zeros_at_the_edge() -> None:
    w = np.arange(1, 33 * 71 + 1, dtype=np.float32).reshape(71, 33)
    module = RelexPipelinePass("loops")(AVX512(bound(dense(64, 33, 71), w)))
    (panels,) = constants(module)
    count, terms, width = panels.shape
    assert (terms, count * width >= 71) == (33, True)
    columns = panels.transpose(0, 2, 1).reshape(-1, 33)
    np.testing.assert_array_equal(columns[:71], w)
    assert not columns[71:].any()


def test_one_row_is_worth_panels() -> None:
    """They cost nothing when the program runs."""
    w = np.arange(128 * 20, dtype=np.float32).reshape(128, 20)
    module = RelexPipelinePass("loops")(AVX512(bound(dense(1, 20, 128), w)))
    (panels,) = constants(module)
    np.testing.assert_array_equal(panels, w.T[None])
    assert "relex.constant}" not in str(module)


def transposed(channels: int, outputs: int, window: int, stride: int) -> str:
    """A transposed convolution of images of 4 by 4 pixels."""
    side = 3 * stride + window
    x, w = f"tensor<1x{channels}x4x4xf32>", f"tensor<{channels}x{outputs}x{window}x{window}xf32>"
    result = f"tensor<1x{outputs}x{side}x{side}xf32>"
    return f"""
    func.func @main(%a: {x}, %w: {w}) -> {result} {{
      %0 = relex.conv2d_transpose %a, %w strides = [{stride}, {stride}] : ({x}, {w}) -> {result}
      func.return %0 : {result}
    }}"""


@pytest.mark.parametrize(("window", "stride", "phases"), [(4, 2, 2), (6, 3, 3)])
def test_windows_of_transposed_convolutions_are_contiguous(window: int, stride: int, phases: int) -> None:
    """The elements of a window that reach the same results are, if as many reach each one."""
    channels, outputs, part = 5, 64, window // phases
    w = np.random.default_rng(0).standard_normal((channels, outputs, window, window)).astype(np.float32)
    program = bound(transposed(channels, outputs, window, stride), w)
    packed = constants(RelexPipelinePass("loops")(AVX512(program)))[0]
    assert packed.shape[-1] in (32, 64)
    wanted = w.reshape(channels, -1, packed.shape[-1], part, phases, part, phases).transpose(4, 6, 1, 0, 3, 5, 2)
    np.testing.assert_array_equal(packed.reshape(wanted.shape), wanted)
    a = np.arange(channels * 16, dtype=np.float32).reshape(1, channels, 4, 4)
    expected = build(transposed(channels, outputs, window, stride), strict=True)["main"](a, w)
    np.testing.assert_allclose(build(program)["main"](a), expected, rtol=1e-4, atol=1e-3)


def test_equal_constants_are_stored_once() -> None:
    t = "tensor<64x64xf32>"
    text = f"""
    func.func @main(%a: {t}, %b: {t}, %w: {t}) -> ({t}, {t}) {{
      %0 = relex.dense %a, %w : ({t}, {t}) -> {t}
      %1 = relex.dense %b, %w : ({t}, {t}) -> {t}
      func.return %0, %1 : {t}, {t}
    }}"""
    w = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    core = RelexPipelinePass("core")(AVX512(bound(text, w)))
    assert str(core).count("memref.global") == 1


def test_a_constant_has_not_too_many_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The copies of 10 columns as 16 are allowed as they are small; if nothing is, they are made at run time."""
    w = np.ones((10, 64), np.float32)
    a = np.ones((64, 64), np.float32)
    program = bound(dense(64, 64, 10), w)
    (small,) = constants(RelexPipelinePass("loops")(AVX512(program)))
    assert small.size == 16 * 64
    monkeypatch.setattr(cost, "PACKED_BYTES_ALLOWED", 0)
    monkeypatch.setattr(cost, "MAX_PACKED_GROWTH", 1)
    (large,) = constants(RelexPipelinePass("loops")(AVX512(program)))
    assert large.shape == w.shape
    np.testing.assert_array_equal(build(program)["main"](a), a @ w.T)


def test_it_can_be_checked() -> None:
    w = np.arange(33 * 71, dtype=np.float32).reshape(71, 33)
    report = check_pass(RelexPipelinePass("loops"), AVX512(bound(dense(64, 33, 71), w)), samples=1)
    assert ("rewrite-layout", "main") in report.compared


SQUARE = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %w = relex.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %y = relex.call_tir @f(%x, %w) : (tensor<2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
tir.prim_func private @f(%x: memref<2xf32>, %w: memref<2x2xf32>) outs(%y: memref<2xf32>) {
  %w_local = tir.alloc_buffer : memref<2x2xf32>
  %zero = arith.constant 0.0 : f32
  tir.for %j, %i in (2, 2) {
    tir.block @w_local (%vj: spatial<2> = %j, %vi: spatial<2> = %i) {
      %0 = memref.load %w[%vi, %vj] : memref<2x2xf32>
      memref.store %0, %w_local[%vj, %vi] : memref<2x2xf32>
    }
  }
  tir.for %i in (2) {
    tir.block @y (%vi: spatial<2> = %i) {
      %c1 = arith.constant 1 : index
      %0 = memref.load %x[%vi] : memref<2xf32>
      %1 = memref.load %w_local[%c1, %vi] : memref<2x2xf32>
      %2 = arith.mulf %0, %1 : f32
      memref.store %2, %y[%vi] : memref<2xf32>
    }
  }
}
"""


def test_an_argument_of_the_same_type_is_another_one() -> None:
    """The function is not compared, as it takes the transposed constant; the one that calls it is."""
    module = parse_module(SQUARE)
    assert "%w_local: memref<2x2xf32>" in str(RewriteLayoutPass()(module))
    report = check_pass(RewriteLayoutPass(), module)
    assert report.compared == [("rewrite-layout", "main")]
