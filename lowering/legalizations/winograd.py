"""Transforms of Winograd's minimal filtering."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from relex.dialects.arrays import Array
from relex.dialects.relex import WinogradInputTransformOp, WinogradOutputTransformOp
from relex.dialects.relex.properties import as_integer, as_integers
from relex.dialects.relex.winograd import WINDOW, Transforms, factors_of, tiles_of, windows_of
from relex.dialects.tir import OpPattern, PrimFuncOp
from relex.dialects.tir.op_pattern import set_op_pattern
from relex.lowering import te
from relex.lowering.legalizations.legalization_table import legalizes, result_shape


@legalizes(WinogradInputTransformOp)
def winograd_input_transform(op: WinogradInputTransformOp, x: te.Tensor) -> te.Tensor:
    """Legalize to transforms of the columns of windows, for a row of tiles, then of their rows."""
    tile, windows, matrix = as_integer(op.tile), windows_of(op.properties), Transforms.of(as_integer(op.tile)).data
    images, blocks, height, width, block = (*x.shape, 1)[:5]
    extent = tile + WINDOW - 1
    down, across = tiles_of(windows.counts((height, width)), tile)
    top, left = windows.before

    def read(n: te.PrimExpr, b: te.PrimExpr, y: te.PrimExpr, column: te.PrimExpr, lane: te.PrimExpr) -> te.PrimExpr:
        """Return an element of the padded data."""
        inside = (y >= top) & (y < height + top) & (column >= left) & (column < width + left)
        place = (n, b, y - top, column - left, lane)
        return te.if_then_else(inside, x[place[: x.ndim]], 0)

    def emit(code: te.Code, out: te.Tensor) -> None:
        with code.block("input_transform", images, down, blocks) as (n, t, b):
            columns = code.buffer((extent, across * tile + WINDOW - 1, block), x.type, "columns")
            with code.loops(across * tile + WINDOW - 1, block) as (column, lane):
                parts = [read(n, b, t * tile + i, column, lane) for i in range(extent)]
                for i in range(extent):
                    code.store(columns, (i, column, lane), _combined(matrix[i], parts))
            with code.loops(extent, across, block) as (i, u, lane):
                parts = [columns[i, u * tile + j, lane] for j in range(extent)]
                for j in range(extent):
                    place = (i * extent + j, (n * down + t) * across + u, b * block + lane)
                    code.store(out, place, _combined(matrix[j], parts))

    return te.procedure(result_shape(op, x), x.type, [x], emit, "winograd_input_transform")


@legalizes(WinogradOutputTransformOp)
def winograd_output_transform(op: WinogradOutputTransformOp, x: te.Tensor) -> PrimFuncOp:
    """Legalize to transforms of the columns of tiles, for a row of tiles, then of their rows. Elementwise operators may
    follow in the loops around them."""
    tile, matrix = as_integer(op.tile), Transforms.of(as_integer(op.tile)).result
    shape = result_shape(op, x)
    images, blocks, height, width, block = shape[0], shape[1], *as_integers(op.size), as_integer(op.block)
    extent = tile + WINDOW - 1
    down, across = tiles_of((height, width), tile)

    def emit(code: te.Code, out: te.Tensor) -> None:
        with code.block("output_transform", images, blocks, down) as (n, b, t):
            columns = code.buffer((tile, across, extent, block), x.type, "columns")
            with code.loops(across, extent, block) as (u, j, lane):
                parts = [x[i * extent + j, (n * down + t) * across + u, b * block + lane] for i in range(extent)]
                for i in range(tile):
                    code.store(columns, (i, u, j, lane), _combined(matrix[i], parts))
            with code.loop(tile) as i, nullcontext() if height % tile == 0 else code.when(t * tile + i < height):

                def store(u: te.PrimExpr | int, count: int, lane: te.PrimExpr) -> None:
                    parts = [columns[i, u, j, lane] for j in range(extent)]
                    for k in range(count):
                        code.store(out, (n, b, t * tile + i, u * tile + k, lane), _combined(matrix[k], parts))

                with code.loops(width // tile, block) as (u, lane):
                    store(u, tile, lane)
                if rest := width % tile:
                    with code.loop(block) as lane:
                        store(width // tile, rest, lane)

    computed = te.procedure(shape, x.type, [x], emit, "winograd_output_transform")
    function = te.emit_prim_func("winograd_output_transform", [x], [computed])
    set_op_pattern(function, OpPattern.OUT_ELEMENTWISE_FUSABLE)
    return function


def _combined(row: Array, parts: Sequence[te.PrimExpr]) -> te.PrimExpr:
    """Return a row of a matrix times the parts of a tile."""
    (first, place), *others = factors_of(row)
    total = _times(parts[place], first)
    for factor, i in others:
        total = total + _times(parts[i], factor) if factor > 0 else total - _times(parts[i], -factor)
    return total


def _times(part: te.PrimExpr, factor: float) -> te.PrimExpr:
    return part if factor == 1 else part * factor
