"""`zero_fill`: what a block stores where its guard does not hold."""

import numpy as np
import pytest

from relex.dialects import parse_module
from relex.passes.schedule import Schedule
from relex.reference import interpret
from relex.runtime import build

TYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i32": np.int32, "i64": np.int64}


def padded(kind: str, rows: int, size: int) -> str:
    """A program that copies rows into memory for more, and returns all of it."""
    return f"""
    tir.prim_func @f(%X: memref<{rows}x3x{kind}>) outs(%Y: memref<{size}x3x{kind}>) attributes {{tir.noalias}} {{
      %T = tir.alloc_buffer : memref<{size}x3x{kind}>
      tir.for %i @i, %j @j in ({rows}, 3) {{
        tir.block @T (%vi: spatial<{rows}> = %i, %vj: spatial<3> = %j) {{
          %x = memref.load %X[%vi, %vj] : memref<{rows}x3x{kind}>
          memref.store %x, %T[%vi, %vj] : memref<{size}x3x{kind}>
        }}
      }}
      tir.for %i @i1, %j @j1 in ({size}, 3) {{
        tir.block @Y (%vi: spatial<{size}> = %i, %vj: spatial<3> = %j) {{
          %t = memref.load %T[%vi, %vj] : memref<{size}x3x{kind}>
          memref.store %t, %Y[%vi, %vj] : memref<{size}x3x{kind}>
        }}
      }}
    }}
    """


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("in_vectors", [False, True])
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(("rows", "size"), [(7, 8), (1, 4), (5, 12)])
def test_elements_beyond_the_guard_are_zero(rows: int, size: int, kind: str, in_vectors: bool) -> None:
    schedule = Schedule(parse_module(padded(kind, rows, size)))
    block = schedule.get_block("T")
    row, column = schedule.get_loops(block)
    outer, inner = schedule.split(row, [size // 4, 4])
    schedule.zero_fill(block)
    schedule.reorder(outer, column, inner)
    if in_vectors:
        schedule.vectorize(inner)
    x = np.arange(1, 1 + 3 * rows).reshape(rows, 3).astype(TYPES[kind])
    for program in (interpret(schedule.module, checked=True), build(schedule.module)):
        np.testing.assert_array_equal(program["f"](x), np.pad(x, ((0, size - rows), (0, 0))))
