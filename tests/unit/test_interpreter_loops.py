"""Loops and blocks: when an init runs, and in which order the iterations do."""

from __future__ import annotations

import numpy as np
import pytest
from programs import interpreted, random_array

from relex.dialects.errors import ExecutionError
from relex.reference import interpret
from relex.runtime import build


def row_sums(loop_head: str, bindings: str, rows: int = 3, columns: int = 4) -> str:
    return f"""
    tir.prim_func @main(%X: memref<{rows}x{columns}xf32>) outs(%Y: memref<{rows}xf32>) {{
      %start = arith.constant 100.0 : f32
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      {loop_head} {{
        {bindings} {{
          tir.init {{
            memref.store %start, %Y[%vi] : memref<{rows}xf32>
          }}
          %y = memref.load %Y[%vi] : memref<{rows}xf32>
          %x = memref.load %X[%vi, %vk] : memref<{rows}x{columns}xf32>
          %s = arith.addf %y, %x : f32
          memref.store %s, %Y[%vi] : memref<{rows}xf32>
        }}
      }}
    }}
    """


BOUND = "tir.block @Y (%vi: spatial<3> = %i, %vk: reduce<4> = %k)"
ORDERS = {
    "rows first": ("tir.for %i, %k in (3, 4)", BOUND),
    "columns first": ("tir.for %k, %i in (4, 3)", BOUND),
    "parallel rows": ("tir.for parallel %i, %k in (3, 4)", BOUND),
    "split columns": (
        "tir.for %i, %k0, %k1 in (3, 2, 2)",
        "%t = arith.muli %k0, %c2 : index\n%k = arith.addi %t, %k1 : index\n" + BOUND,
    ),
    "fused": (
        "tir.for %f in (12)",
        "%i = arith.divui %f, %c4 : index\n%k = arith.remui %f, %c4 : index\n" + BOUND,
    ),
    "backwards": (
        "tir.for %i, %j in (3, 4)",
        "%c3 = arith.constant 3 : index\n%k = arith.subi %c3, %j : index\n" + BOUND,
    ),
    "repeated": ("tir.for %again, %i, %k in (2, 3, 4)", BOUND),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("checked", [False, True])
def test_init_runs_once_before_the_first_step(order: str, checked: bool) -> None:
    x = random_array(np.random.default_rng(0), "float32", (3, 4))
    wanted = np.full(3, 100, np.float32)
    for k in reversed(range(4)) if order == "backwards" else range(4):
        wanted = wanted + x[:, k]
    np.testing.assert_array_equal(interpret(row_sums(*ORDERS[order]), checked=checked)["main"](x), wanted)


@pytest.mark.parametrize("rows", [3, 30])
@pytest.mark.parametrize("order", ["rows first", "columns first"])
@pytest.mark.parametrize("checked", [False, True])
def test_init_runs_without_steps(rows: int, order: str, checked: bool) -> None:
    head = f"tir.for %i, %k in ({rows}, 0)" if order == "rows first" else f"tir.for %k, %i in (0, {rows})"
    block = f"tir.block @Y (%vi: spatial<{rows}> = %i, %vk: reduce<0> = %k)"
    found = interpret(row_sums(head, block, rows, 1), checked=checked)["main"](np.zeros((rows, 1), np.float32))
    np.testing.assert_array_equal(found, np.full(rows, 100, np.float32))


def test_init_of_a_fused_empty_reduction() -> None:
    text = row_sums(
        "tir.for %f in (0)",
        "%i = arith.divui %f, %c4 : index\n%k = arith.remui %f, %c4 : index\n%e = arith.addi %i, %c2 : index\n"
        "tir.block @Y (%vi: spatial<%c2> = %i, %vk: reduce<0> = %k)",
        columns=1,
    )
    x = np.zeros((3, 1), np.float32)
    np.testing.assert_array_equal(interpret(text)["main"](x)[:2], [100, 100])
    with pytest.raises(ExecutionError, match=r"'tir.block' op expected values to reduce over"):
        interpret(text.replace("spatial<%c2>", "spatial<%e>"))["main"](x)


def test_block_without_loops() -> None:
    text = """
    tir.prim_func @main(%X: memref<f32>) outs(%Y: memref<f32>) {
      %c0 = arith.constant 0 : index
      %start = arith.constant 100.0 : f32
      tir.block @Y (%k: reduce<1> = %c0) {
        tir.init {
          memref.store %start, %Y[] : memref<f32>
        }
        %y = memref.load %Y[] : memref<f32>
        %x = memref.load %X[] : memref<f32>
        %s = arith.addf %y, %x : f32
        memref.store %s, %Y[] : memref<f32>
      }
    }
    """
    for checked in (False, True):
        assert interpret(text, checked=checked)["main"](np.float32(5)) == 105


def test_init_that_computes_where_it_writes() -> None:
    text = """
    tir.prim_func @main(%X: memref<20x3xf32>) outs(%Y: memref<20xf32>, %Z: memref<20xf32>) {
      %one = arith.constant 1.0 : f32
      %zero = arith.constant 0.0 : f32
      %last = arith.constant 19 : index
      tir.for %i, %k in (20, 3) {
        tir.block @Y (%v: spatial<20> = %i, %r: reduce<3> = %k) {
          tir.init {
            %w = arith.subi %last, %v : index
            memref.store %one, %Z[%w] : memref<20xf32>
            memref.store %zero, %Y[%v] : memref<20xf32>
          }
          %x = memref.load %X[%v, %r] : memref<20x3xf32>
          %y = memref.load %Y[%v] : memref<20xf32>
          %s = arith.addf %y, %x : f32
          memref.store %s, %Y[%v] : memref<20xf32>
        }
      }
    }
    """
    x = random_array(np.random.default_rng(2), "float32", (20, 3))
    y, z = interpret(text)["main"](x)
    np.testing.assert_array_equal(y, x[:, 0] + x[:, 1] + x[:, 2])
    np.testing.assert_array_equal(z, 1)


def copy_program(store: str, load: str = "%v", n: int = 20) -> str:
    return f"""
    tir.prim_func @main(%X: memref<{n}xf32>) outs(%Y: memref<{n}xf32>) {{
      %zero = arith.constant 0.0 : f32
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %last = arith.constant {n - 1} : index
      tir.for %i in ({n}) {{
        memref.store %zero, %Y[%i] : memref<{n}xf32>
      }}
      tir.for %i in ({n}) {{
        tir.block @Y (%v: spatial<{n}> = %i) {{
          {store}
          %old = memref.load %Y[{load}] : memref<{n}xf32>
          %x = memref.load %X[%v] : memref<{n}xf32>
          %y = arith.addf %x, %old : f32
          memref.store %y, %Y[%w] : memref<{n}xf32>
        }}
      }}
    }}
    """


X = random_array(np.random.default_rng(1), "float32", (20,))
SAME = "%w = arith.addi %v, %c0 : index"


def test_copies_in_any_order() -> None:
    text = copy_program("%w = arith.subi %last, %v : index", "%w")
    np.testing.assert_array_equal(interpret(text)["main"](X), X[::-1])


def test_iterations_see_what_earlier_ones_wrote() -> None:
    text = copy_program("%w = arith.divui %v, %c2 : index", "%w")
    np.testing.assert_array_equal(interpret(text)["main"](X), [*(X[::2] + X[1::2]), *[0.0] * 10])
    text = copy_program(SAME + "\n%b = arith.subi %v, %c1 : index\n%p = arith.maxsi %b, %c0 : index", "%p")
    np.testing.assert_array_equal(interpret(text)["main"](X), np.add.accumulate(X))


def test_shared_memory() -> None:
    text = """
    tir.prim_func @main(%X: memref<20xf32>) outs(%Y: memref<20xf32>) {
      %one = arith.constant 1.0 : f32
      %c0 = arith.constant 0 : index
      memref.store %one, %Y[%c0] : memref<20xf32>
      tir.call @next(%Y, %Y) : memref<20xf32>, memref<20xf32>
    }
    tir.prim_func private @next(%X: memref<20xf32>) outs(%Y: memref<20xf32>) {
      %c1 = arith.constant 1 : index
      %c0 = arith.constant 0 : index
      tir.for %i in (20) {
        tir.block @Y (%v: spatial<20> = %i) {
          %b = arith.subi %v, %c1 : index
          %p = arith.maxsi %b, %c0 : index
          %x = memref.load %X[%p] : memref<20xf32>
          memref.store %x, %Y[%v] : memref<20xf32>
        }
      }
    }
    """
    np.testing.assert_array_equal(interpret(text)["main"](X), np.ones(20))


@pytest.mark.parametrize("n", [1, 17])
def test_products(n: int) -> None:
    text = f"""
    func.func @main(%x: tensor<{n}x40xf32>, %w: tensor<5x40xf32>) -> tensor<{n}x5xf32> {{
      %y = relex.dense %x, %w : (tensor<{n}x40xf32>, tensor<5x40xf32>) -> tensor<{n}x5xf32>
      func.return %y : tensor<{n}x5xf32>
    }}
    """
    rng = np.random.default_rng(5)
    x, w = random_array(rng, "float32", (n, 40)), random_array(rng, "float32", (5, 40))
    np.testing.assert_array_equal(interpreted(text, "loops")["main"](x, w), build(text, strict=True)["main"](x, w))
