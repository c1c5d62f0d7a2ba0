"""Elements that are prefetched before they are read: which, and without a change of results."""

from __future__ import annotations

import re
from typing import Any, cast

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import parse_module
from relex.dialects.function_arguments import PREFETCH_ATTR
from relex.dialects.target.target_attribute import Target, set_target
from relex.dialects.tir import ForOp
from relex.dialects.upstream.memref import PrefetchOp
from relex.frontend import BlockBuilder, Var, const, op
from relex.lowering.convert_tir_to_scf import ConvertTirToScfPass
from relex.lowering.relex_pipeline import pipeline
from relex.passes.cpu import cost
from relex.passes.driver.base import run_pass
from relex.runtime import build

RNG = np.random.default_rng(0)


def network(rows: int, terms: int, columns: int, *, constant: bool = True) -> ModuleOp:
    """A product of a matrix with another one, a constant or an argument."""
    builder = BlockBuilder()
    x, w = Var("x", (rows, terms), "float32"), Var("w", (terms, columns), "float32")
    weight = const(RNG.standard_normal((terms, columns)).astype("float32")) if constant else w
    with builder.function("main", [x] if constant else [x, w]):
        builder.emit_func_output(builder.emit(op.matmul(x, weight)))
    return builder.get()


def scheduled(module: ModuleOp, cpu: str) -> ModuleOp:
    set_target(module, Target("x86_64-unknown-linux-gnu", cpu))
    for _, group in pipeline("loops"):
        for p in group:
            module = run_pass(p, module)
    return module


def distances(module: ModuleOp, cpu: str = "haswell") -> list[int]:
    """How many iterations ahead loops prefetch, after the default schedule for a processor."""
    loops = (o for o in scheduled(module, cpu).walk() if isinstance(o, ForOp))
    found = (cast(Any, loop.attributes[PREFETCH_ATTR]) for loop in loops if PREFETCH_ATTR in loop.attributes)
    return [ahead for _, ahead in (attribute.get_values() for attribute in found)]


@pytest.mark.parametrize(("cpu", "columns"), [("haswell", 16), ("skylake-avx512", 32)])
def test_large_constants_are_prefetched(cpu: str, columns: int) -> None:
    found = distances(network(28, 512, 256), cpu)
    assert found
    assert set(found) == {cost.PREFETCHED_BYTES // (4 * columns)}


@pytest.mark.parametrize(
    "module",
    [network(28, 512, 256, constant=False), network(28, 64, 256), network(1, 512, 256)],
    ids=["an argument", "in the cache", "one row"],
)
def test_others_are_not(module: ModuleOp) -> None:
    assert not distances(module)


TERMS_OF_ROWS = """
func.func @main(%x: tensor<56x512x3xf32>) -> tensor<56x256xf32> {
  %w = relex.constant dense<0.5> : tensor<512x256xf32>
  %0 = relex.call_tir @f(%x, %w) : (tensor<56x512x3xf32>, tensor<512x256xf32>) -> tensor<56x256xf32>
  func.return %0 : tensor<56x256xf32>
}
tir.prim_func private @f(%X: memref<56x512x3xf32>, %W: memref<512x256xf32>) outs(%Y: memref<56x256xf32>)
    attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %j @j, %k @k, %l @l in (56, 256, 512, 3) {
    tir.block @Y (%vi: spatial<56> = %i, %vj: spatial<256> = %j, %vk: reduce<512> = %k, %vl: reduce<3> = %l) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<56x256xf32>
      }
      %y = memref.load %Y[%vi, %vj] : memref<56x256xf32>
      %x = memref.load %X[%vi, %vk, %vl] : memref<56x512x3xf32>
      %w = memref.load %W[%vk, %vj] : memref<512x256xf32>
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %y, %p : f32
      memref.store %s, %Y[%vi, %vj] : memref<56x256xf32>
    }
  }
}
"""


def test_terms_that_only_rows_have_are_inside() -> None:
    """The next elements of the constant are the elements of the next iteration around them."""
    module = scheduled(parse_module(TERMS_OF_ROWS), "haswell")
    prefetching = [o for o in module.walk() if isinstance(o, ForOp) and PREFETCH_ATTR in o.attributes]
    assert {loop.extent for loop in prefetching} == {512}


def test_each_line_is_prefetched_once() -> None:
    module = ConvertTirToScfPass()(scheduled(network(28, 512, 256), "skylake-avx512"))
    found = [o for o in module.walk() if isinstance(o, PrefetchOp)]
    columns = [re.sub(r".*c(\d+).*", r"\1", str(o.indices[-1].name_hint)) for o in found]
    assert columns
    assert columns == ["0", "16"] * (len(found) // 2)


@pytest.mark.parametrize(("rows", "terms"), [(28, 512), (17, 401), (7, 300)])
def test_results_stay_the_same(rows: int, terms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module, x = network(rows, terms, 256), RNG.standard_normal((rows, terms)).astype("float32")
    assert distances(network(rows, terms, 256))
    found = build(module, cache=False)["main"](x)
    monkeypatch.setattr(cost, "L2_SIZES_TO_PREFETCH", 2.0**20)
    np.testing.assert_array_equal(found, build(module, cache=False)["main"](x))
