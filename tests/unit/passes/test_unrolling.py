"""How many terms of a tile LLVM computes in an iteration."""

from __future__ import annotations

import pytest

from relex.dialects import parse_module
from relex.dialects.target.target_attribute import Target, set_target
from relex.dialects.tir import ForOp
from relex.dialects.upstream.llvm import LOOP_ANNOTATION, LoopAnnotationAttr, Unrolling
from relex.lowering.support.unrolling import loop_attributes

TILES = """
tir.prim_func @tiles(%X: memref<{tiles}x720x{rows}xf32>, %W: memref<720x{vectors}x8xf32>)
    outs(%Y: memref<{tiles}x{rows}x{vectors}x8xf32>) {{
  tir.for %t, %k, unrolled %r, unrolled %v, vectorized %l in ({tiles}, 720, {rows}, {vectors}, 8) {{
    tir.block @Y (%vt: spatial<{tiles}> = %t, %vr: spatial<{rows}> = %r, %vv: spatial<{vectors}> = %v,
                  %vl: spatial<8> = %l, %vk: reduce<720> = %k) {{
      %x = memref.load %X[%vt, %vk, %vr] : memref<{tiles}x720x{rows}xf32>
      %w = memref.load %W[%vk, %vv, %vl] : memref<720x{vectors}x8xf32>
      %y = memref.load %Y[%vt, %vr, %vv, %vl] : memref<{tiles}x{rows}x{vectors}x8xf32>
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %y, %p : f32
      memref.store %s, %Y[%vt, %vr, %vv, %vl] : memref<{tiles}x{rows}x{vectors}x8xf32>
    }}
  }}
}}
"""


@pytest.mark.parametrize(
    ("cpu", "tiles", "rows", "vectors", "expected"),
    [
        ("haswell", 1000, 1, 8, 6),
        ("haswell", 1000, 6, 2, 4),
        # Short loops are not worth the code.
        ("haswell", 1, 6, 2, 1),
        # Each element of a row would take a register for the sum that it is added to.
        ("haswell", 1000, 13, 1, 1),
        ("haswell", 1000, 8, 1, 6),
        ("znver4", 1000, 13, 1, 3),
        ("znver4", 1000, 13, 2, 1),
    ],
)
def test_terms_at_once(cpu: str, tiles: int, rows: int, vectors: int, expected: int) -> None:
    module = parse_module(TILES.format(tiles=tiles, rows=rows, vectors=vectors))
    set_target(module, Target("x86_64-unknown-linux-gnu", cpu))
    _, terms, *_ = [op for op in module.walk() if isinstance(op, ForOp)]
    wanted = LoopAnnotationAttr(expected if expected > 1 else Unrolling.DISABLE)
    assert loop_attributes(terms) == {LOOP_ANNOTATION: wanted}
