"""Hand-written loop functions, compiled: whatever the order of the loops, wherever buffers and conditions stand."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from relex.dialects import CompileError
from relex.reference import interpret
from relex.runtime import build

NESTS: dict[str, tuple[dict[str, int], str]] = {
    "plain": ({"%i": 4, "%j": 6, "%k": 8}, ""),
    "reduction split": (
        {"%i": 4, "%j": 6, "%ko": 4, "%ki": 2},
        """
        %a = arith.muli %ko, %two : index
        %k = arith.addi %a, %ki : index
        """,
    ),
    "spatial loops split and fused": (
        {"%io": 2, "%ii": 2, "%jk": 48},
        """
        %a = arith.muli %io, %two : index
        %i = arith.addi %a, %ii : index
        %j = arith.divui %jk, %eight : index
        %k = arith.remui %jk, %eight : index
        """,
    ),
    "all fused": (
        {"%f": 192},
        """
        %i = arith.remsi %f, %four : index
        %r = arith.floordivsi %f, %four : index
        %k = arith.floordivsi %r, %six : index
        %j = arith.remsi %r, %six : index
        """,
    ),
    "split with a remainder": (
        {"%i": 4, "%j": 6, "%ko": 3, "%ki": 3},
        """
        %a = arith.muli %ko, %three : index
        %k = arith.addi %a, %ki : index
        %inside = arith.cmpi slt, %k, %eight : index
        scf.if %inside {
        """,
    ),
}

BLOCK = """
tir.block @Y (%vi: spatial<4> = %i, %vj: spatial<6> = %j, %vk: reduce<8> = %k) {
  tir.init {
    memref.store %zero, %Y[%vi, %vj] : memref<4x6xf32>
  }
  %y = memref.load %Y[%vi, %vj] : memref<4x6xf32>
  %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
  %w = memref.load %W[%vj, %vk] : memref<6x8xf32>
  %p = arith.mulf %x, %w : f32
  %s = arith.addf %y, %p : f32
  memref.store %s, %Y[%vi, %vj] : memref<4x6xf32>
}
"""


def dense(name: str, order: tuple[tuple[str, int], ...], bindings: str) -> str:
    """A product of 4x8 and 6x8, its loops in a given order, its block's variables bound by ops in the innermost."""
    variables, extents = (", ".join(map(str, column)) for column in zip(*order, strict=True))
    close = "}" if "{" in bindings else ""
    return f"""
      tir.prim_func @{name}(%X: memref<4x8xf32>, %W: memref<6x8xf32>) outs(%Y: memref<4x6xf32>) {{
        %zero = arith.constant 0.0 : f32
        %two = arith.constant 2 : index
        %three = arith.constant 3 : index
        %four = arith.constant 4 : index
        %six = arith.constant 6 : index
        %eight = arith.constant 8 : index
        tir.for {variables} in ({extents}) {{
          {bindings}
          {BLOCK}
          {close}
        }}
      }}
    """


@pytest.mark.parametrize("kind", NESTS)
def test_any_order_of_loops(kind: str) -> None:
    loops, bindings = NESTS[kind]
    ex = build("".join(dense(f"f{n}", order, bindings) for n, order in enumerate(permutations(loops.items()))))
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-9, 9, shape).astype(np.float32) for shape in ((4, 8), (6, 8)))
    for function in ex.values():
        np.testing.assert_array_equal(function(x, w), x @ w.T)


ROW_SUMS = """
tir.prim_func @f(%X: memref<{n}x{k}xf32>) outs(%Y: memref<{n}xf32>) {{
  %one = arith.constant 1.0 : f32
  tir.for {loops} {{
    tir.block @Y (%vi: spatial<{n}> = %i, %vk: reduce<{k}> = %k) {{
      tir.init {{
        memref.store %one, %Y[%vi] : memref<{n}xf32>
      }}
      %x = memref.load %X[%vi, %vk] : memref<{n}x{k}xf32>
      %y = memref.load %Y[%vi] : memref<{n}xf32>
      %s = arith.addf %x, %y : f32
      memref.store %s, %Y[%vi] : memref<{n}xf32>
    }}
  }}
}}
"""


@pytest.mark.parametrize("loops", ["%i, %k in ({n}, {k})", "%k, %i in ({k}, {n})"])
@pytest.mark.parametrize(("n", "k"), [(0, 3), (3, 0), (0, 0), (3, 4)])
def test_empty_loops(loops: str, n: int, k: int) -> None:
    x = np.arange(n * k, dtype=np.float32).reshape(n, k)
    f = build(ROW_SUMS.format(n=n, k=k, loops=loops.format(n=n, k=k)))["f"]
    np.testing.assert_array_equal(f(x), x.sum(axis=1) + 1)


FUSED = """
  tir.prim_func @f(%X: memref<4x?xf32> {relex.dims = ["", "k"]}) outs(%Y: memref<4xf32>) {
    %one = arith.constant 1.0 : f32
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %n = memref.dim %X, %c1 : memref<4x?xf32>
    %m = arith.muli %n, %c4 : index
    %always = arith.constant true
    tir.for %f in (%m) {
      %i = arith.divui %f, %n : index
      %k = arith.remui %f, %n : index
      %e = arith.addi %i, %c4 : index
      scf.if %always {
        tir.block @Y (%vi: spatial<EXTENT> = %i, %vk: reduce<%n> = %k) {
          tir.init {
            memref.store %one, %Y[%vi] : memref<4xf32>
          }
          %x = memref.load %X[%vi, %vk] : memref<4x?xf32>
          %y = memref.load %Y[%vi] : memref<4xf32>
          %s = arith.addf %x, %y : f32
          memref.store %s, %Y[%vi] : memref<4xf32>
        }
      }
    }
  }
"""


@pytest.mark.parametrize("extent", ["4", "%c4"])
@pytest.mark.parametrize("k", [0, 1, 3])
def test_an_init_that_shares_its_loops_with_a_reduction_over_nothing(extent: str, k: int) -> None:
    text = FUSED.replace("EXTENT", extent)
    x = np.arange(4 * k, dtype=np.float32).reshape(4, k)
    np.testing.assert_array_equal(build(text)["f"](x), x.sum(axis=1) + 1)
    np.testing.assert_array_equal(interpret(text)["f"](x), x.sum(axis=1) + 1)


def test_an_empty_reduction_whose_init_cannot_run_first() -> None:
    with pytest.raises(CompileError, match=r"'tir.block' op expected values to reduce over"):
        build(FUSED.replace("EXTENT", "%e"))


def test_an_init_that_starts_from_what_its_loop_computes() -> None:
    """Running it in front of the loop would read the bias before it is there."""
    text = """
      tir.prim_func @f(%X: memref<4x8xf32>, %A: memref<4xf32>) outs(%Y: memref<4xf32>, %bias: memref<4xf32>) {
        tir.for %i, %k in (4, 8) {
          tir.block @bias (%vi: spatial<4> = %i) {
            %a = memref.load %A[%vi] : memref<4xf32>
            %b = arith.addf %a, %a : f32
            memref.store %b, %bias[%vi] : memref<4xf32>
          }
          tir.block @Y (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
            tir.init {
              %b = memref.load %bias[%vi] : memref<4xf32>
              memref.store %b, %Y[%vi] : memref<4xf32>
            }
            %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
            %y = memref.load %Y[%vi] : memref<4xf32>
            %s = arith.addf %x, %y : f32
            memref.store %s, %Y[%vi] : memref<4xf32>
          }
        }
      }
    """
    x, a = np.arange(32, dtype=np.float32).reshape(4, 8), np.array([1, 2, 3, 4], np.float32)
    np.testing.assert_array_equal(build(text)["f"](x, a)[0], x.sum(axis=1) + 2 * a)


def test_an_init_that_comes_behind_another_use_of_its_buffer() -> None:
    """Running it in front of the loop would overwrite what the first block reads."""
    text = """
      tir.prim_func @f(%X: memref<3xf32>) outs(%Y: memref<1xf32>, %seen: memref<3xf32>) {
        %zero = arith.constant 0.0 : f32
        %seven = arith.constant 7.0 : f32
        %first = arith.constant 0 : index
        tir.block @start () {
          memref.store %seven, %Y[%first] : memref<1xf32>
        }
        tir.for %k in (3) {
          tir.block @seen (%vk: spatial<3> = %k) {
            %y = memref.load %Y[%first] : memref<1xf32>
            memref.store %y, %seen[%vk] : memref<3xf32>
          }
          tir.block @Y (%vk: reduce<3> = %k) {
            tir.init {
              memref.store %zero, %Y[%first] : memref<1xf32>
            }
            %x = memref.load %X[%vk] : memref<3xf32>
            %y = memref.load %Y[%first] : memref<1xf32>
            %s = arith.addf %x, %y : f32
            memref.store %s, %Y[%first] : memref<1xf32>
          }
        }
      }
    """
    total, seen = build(text)["f"](np.array([1, 2, 3], np.float32))
    np.testing.assert_array_equal(total, [6])
    np.testing.assert_array_equal(seen, [7, 1, 3])


LOCAL_BUFFER = """
tir.prim_func @f(%X: memref<4xf32>) outs(%Y: memref<4xf32>) {{
  %one = arith.constant 1.0 : f32
  %always = arith.constant true
  %last = arith.constant 99999 : index
  tir.for %i in (4) {{
    {before}
    tir.block @Y (%vi: spatial<4> = %i) {{
      {inside}
      tir.for %j in (100000) {{
        tir.block @B (%vj: spatial<100000> = %j) {{
          memref.store %one, %B[%vj] : memref<100000xf32>
        }}
      }}
      %x = memref.load %X[%vi] : memref<4xf32>
      %b = memref.load %B[%last] : memref<100000xf32>
      %y = arith.addf %x, %b : f32
      memref.store %y, %Y[%vi] : memref<4xf32>
    }}
    {after}
  }}
}}
"""
ALLOCATION = "%B = tir.alloc_buffer : memref<100000xf32>"


@pytest.mark.parametrize(
    ("before", "inside", "after"),
    [(ALLOCATION, "", ""), ("", ALLOCATION, ""), (f"scf.if %always {{ {ALLOCATION}", "", "}")],
    ids=["in a loop", "in a block", "under a condition"],
)
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_local_buffers_are_freed_where_their_scope_ends(before: str, inside: str, after: str) -> None:
    f = build(LOCAL_BUFFER.format(before=before, inside=inside, after=after))["f"]
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(f(x), x + 1)
    pages = resident_pages()
    for _ in range(25):
        f(x)
    # Each call takes four buffers of 98 pages.
    assert resident_pages() - pages < 25 * 98


def resident_pages() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1])
