"""A dense layer brought to the form of a fast kernel: packed weights, register tiles, the epilogue in the tile."""

from __future__ import annotations

import numpy as np
import pytest
from programs import Array
from schedules import whole_numbers
from xdsl.ir.affine import AffineExpr

from relex.dialects import parse_module, verify_module
from relex.lowering import ConvertTirToScfPass
from relex.passes import ApplySchedulePass
from relex.passes.schedule import Schedule
from relex.reference import interpret
from relex.runtime import build

MR, NR = 3, 4
SIZES = [(6, 8, 5), (3, 4, 1), (6, 7, 17), (3, 1, 3), (7, 7, 5), (1, 1, 1), (13, 17, 2)]
"""Sizes of rows, columns and reductions: multiples of the tile, and those that do not fill it."""


def linear(rows: int, columns: int, terms: int) -> str:
    shapes = (f"{rows}x{terms}", f"{columns}x{terms}", columns, f"{rows}x{columns}")
    x, w, b, y = (f"memref<{shape}xf32>" for shape in shapes)
    return f"""
    tir.prim_func @linear(%X: {x}, %W: {w}, %B: {b}) outs(%R: {y}) attributes {{tir.noalias}} {{
      %zero = arith.constant 0.0 : f32
      %Y = tir.alloc_buffer : {y}
      tir.for %i @i, %j @j, %k @k in ({rows}, {columns}, {terms}) {{
        tir.block @Y (%vi: spatial<{rows}> = %i, %vj: spatial<{columns}> = %j, %vk: reduce<{terms}> = %k) {{
          tir.init {{
            memref.store %zero, %Y[%vi, %vj] : {y}
          }}
          %y = memref.load %Y[%vi, %vj] : {y}
          %x = memref.load %X[%vi, %vk] : {x}
          %w = memref.load %W[%vj, %vk] : {w}
          %p = arith.mulf %x, %w fastmath<contract> : f32
          %s = arith.addf %y, %p fastmath<reassoc,contract> : f32
          memref.store %s, %Y[%vi, %vj] : {y}
        }}
      }}
      %Z = tir.alloc_buffer : {y}
      tir.for %i @i1, %j @j1 in ({rows}, {columns}) {{
        tir.block @Z (%vi: spatial<{rows}> = %i, %vj: spatial<{columns}> = %j) {{
          %y = memref.load %Y[%vi, %vj] : {y}
          %b = memref.load %B[%vj] : {b}
          %z = arith.addf %y, %b : f32
          memref.store %z, %Z[%vi, %vj] : {y}
        }}
      }}
      tir.for %i @i2, %j @j2 in ({rows}, {columns}) {{
        tir.block @R (%vi: spatial<{rows}> = %i, %vj: spatial<{columns}> = %j) {{
          %z = memref.load %Z[%vi, %vj] : {y}
          %r = arith.maximumf %z, %zero : f32
          memref.store %r, %R[%vi, %vj] : {y}
        }}
      }}
    }}
    """


def panels(n: AffineExpr, k: AffineExpr) -> tuple[AffineExpr, ...]:
    return n // NR, k, n % NR


def schedule_kernel(schedule: Schedule, rows: int, columns: int) -> None:
    """Tiles of MR x NR accumulators in a separate buffer, which k runs around, on weights packed in panels."""
    dense, bias, relu = (schedule.get_block(name) for name in ("Y", "Z", "R"))
    schedule.compute_inline(bias)
    pack = schedule.cache_read(dense, 1)
    i, j, k = schedule.get_loops(dense)
    i0, i1 = schedule.split(i, [None, MR])
    j0, j1 = schedule.split(j, [None, NR])
    schedule.transform_layout(pack, ("write", 0), panels)
    schedule.reorder(i0, j0, k, i1, j1)
    schedule.reverse_compute_at(relu, j0)
    schedule.compact_buffer(dense, 0)
    if rows % MR:
        # The rows of the last tile come from a buffer that has room for all of a tile.
        copy = schedule.cache_read(dense, 0)
        schedule.compute_at(copy, i0)
        schedule.compact_buffer(copy, 0)
    if rows % MR or columns % NR:
        schedule.unguard(dense)
    init = schedule.decompose_reduction(dense, k)
    schedule.parallel(i0)
    for block in (init, dense, relu):
        *_, row, column = schedule.get_loops(block)
        schedule.unroll(row)
        schedule.vectorize(column)


def reference(x: Array, w: Array, b: Array) -> Array:
    return np.maximum(x @ w.T + b, np.float32(0))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_kernel(sizes: tuple[int, int, int]) -> None:
    rows, columns, terms = sizes
    module = parse_module(linear(*sizes))
    schedule = Schedule(module)
    schedule_kernel(schedule, rows, columns)
    verify_module(schedule.module)
    rng = np.random.default_rng(0)
    x, w, b = (whole_numbers(rng, shape) for shape in ((rows, terms), (columns, terms), (columns,)))
    expected = reference(x, w, b)
    for program in (module, schedule.module):
        np.testing.assert_array_equal(interpret(program, checked=True)["linear"](x, w, b), expected)
    lowered = ConvertTirToScfPass()(schedule.module)
    result = np.full((rows, columns), np.nan, np.float32)
    interpret(lowered)["linear"](x, w, b, result)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(build(schedule.module)["linear"](x, w, b), expected)


def test_trace() -> None:
    """The schedule as text does the same."""
    text = linear(6, 7, 5)
    schedule = Schedule(parse_module(text))
    schedule_kernel(schedule, 6, 7)
    steps = "\n".join(str(op) for op in schedule.trace().ops)
    assert str(ApplySchedulePass()(parse_module(text + steps))) == str(schedule.module)
