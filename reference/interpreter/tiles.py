"""Semantics of tiles: registers of each thread, and the instructions on them."""

from __future__ import annotations

from collections.abc import Callable
from threading import local
from typing import Any

import numpy as np

from relex.dialects.arrays import Array
from relex.dialects.errors import stop, unsupported
from relex.dialects.table import Table
from relex.dialects.tir import (
    ConfigureTilesOp,
    LoadTileOp,
    MultiplyTilesOp,
    ReleaseTilesOp,
    StoreTileOp,
    ZeroTileOp,
)
from relex.dialects.tir.tiles import MoveTileOp, TileOp
from relex.reference.interpreter.checks import MONITOR
from relex.reference.interpreter.math import fma
from relex.reference.interpreter.memory import Buffer, check_bounds
from relex.reference.interpreter.memref import stop_read_only
from relex.reference.interpreter.program import STEPS, Preparation, Run
from relex.reference.interpreter.scalars import choose


class _Registers(local):
    """The tiles of a thread: arrays of bytes of the shapes that they are configured to have."""

    def __init__(self) -> None:
        self.tiles: list[Array] = []


_REGISTERS = _Registers()


@STEPS.rule(ConfigureTilesOp)
def interpret_configure(op: ConfigureTilesOp, preparation: Preparation) -> Run:
    """Set the shapes, and fill with zeros."""

    def configure() -> None:
        _REGISTERS.tiles = [np.zeros(shape, np.uint8) for shape in op.pairs]

    return configure


@STEPS.rule(ReleaseTilesOp)
def interpret_release(op: ReleaseTilesOp, preparation: Preparation) -> Run:
    """Forget the contents."""
    return lambda: _REGISTERS.tiles.clear()


def _tile(op: TileOp, number: int) -> Array:
    """Return the contents of a tile; stop if it has no shape, which the processor takes for an invalid instruction."""
    if number >= len(_REGISTERS.tiles):
        stop(op, f"expected tile {number} to be configured")
    return _REGISTERS.tiles[number]


@STEPS.rule(ZeroTileOp)
def interpret_zero(op: ZeroTileOp, preparation: Preparation) -> Run:
    """Fill a tile with zeros."""
    return lambda: _tile(op, op.tile.value.data).fill(0)


@STEPS.rule(LoadTileOp, StoreTileOp)
def interpret_move(op: MoveTileOp, preparation: Preparation) -> Run:
    """Copy the rows of a tile, checking their indices."""
    number, dimension, step = op.tile.value.data, op.dimension.value.data, op.step.value.data
    base, checked = op.buffer, preparation.checked

    def move(buffer: Buffer, *indices: Any) -> None:
        tile, array = _tile(op, number), buffer.array
        if array.dtype.names is not None:
            unsupported(op, "expected numbers that are bytes")
        if checked:
            MONITOR.get().uses(op, base, buffer)
        count = tile.shape[1] // array.itemsize
        places: list[Any] = [np.full((len(tile), count), int(index)) for index in indices]
        places[dimension] += step * np.arange(len(tile))[:, None]
        places[-1] += np.arange(count)
        check_bounds(op, base, array, tuple(places))
        if isinstance(op, LoadTileOp):
            _REGISTERS.tiles[number] = np.ascontiguousarray(array[tuple(places)]).view(np.uint8)
        elif not array.flags.writeable:
            stop_read_only(op, base)
        else:
            array[tuple(places)] = tile.view(array.dtype)
        for place in zip(*map(np.ravel, places), strict=True) if checked else ():
            note = MONITOR.get().reads if isinstance(op, LoadTileOp) else MONITOR.get().writes
            note(op, base, buffer, tuple(map(int, place)))

    return move


@STEPS.rule(MultiplyTilesOp)
def interpret_multiply(op: MultiplyTilesOp, preparation: Preparation) -> Run:
    """Multiply two tiles by the function in `TILE_FUNCTIONS`."""
    name, numbers = op.by.data, [number.value.data for number in (op.tile, op.lhs, op.rhs)]
    function = TILE_FUNCTIONS.get(name) or unsupported(op, f"expected one of {', '.join(TILE_FUNCTIONS)}, found {name}")

    def multiply() -> None:
        total, lhs, rhs = (_tile(op, number) for number in numbers)
        if total.shape != (len(lhs), rhs.shape[1]) or lhs.shape[1] != 4 * len(rhs):
            shapes = ", ".join(f"{rows} by {size}" for rows, size in (total.shape, lhs.shape, rhs.shape))
            stop(op, f"expected rows and columns that fit together, found tiles of {shapes} bytes")
        _REGISTERS.tiles[numbers[0]] = function(total, lhs, rhs).view(np.uint8)

    return multiply


def _multiply_bytes(lhs_type: Any, rhs_type: Any) -> Callable[[Array, Array, Array], Array]:
    """Return the function that multiplies bytes with or without a sign, and adds up the products of each word; integers
    wrap around."""

    def multiply(total: Array, lhs: Array, rhs: Array) -> Array:
        rows = lhs.view(lhs_type).reshape(len(lhs), len(rhs), 4).astype(np.int32)
        columns = rhs.view(rhs_type).reshape(len(rhs), -1, 4).astype(np.int32)
        return total.view(np.int32) + np.einsum("rkb,kcb->rc", rows, columns)

    return multiply


def multiply_pairs(total: Array, lhs: Array, rhs: Array) -> Array:
    """
    Multiply pairs of bf16. The products of the first numbers of all pairs are added up in their order, and the products
    of the second ones as well, each rounded once; then both sums, and then what was there before. All of it is rounded
    to the nearest f32, of two that are equally near to the even one; numbers smaller than the least normal one count as
    zeros, and become zeros.
    """
    rows = _bf16(lhs).reshape(len(lhs), len(rhs), 2)
    columns = _bf16(rhs).reshape(len(rhs), -1, 2)
    sums = np.zeros((len(lhs), columns.shape[1], 2), np.float32)
    with np.errstate(all="ignore"):
        for place in range(len(rhs)):
            sums = _normal(fma(*np.broadcast_arrays(rows[:, place, None], columns[place], sums)))
        return _normal(_normal(total.view(np.float32)) + _normal(sums[..., 0] + sums[..., 1]))


def _bf16(tile: Array) -> Any:
    """Return the numbers of bf16 in a tile as f32."""
    bits: Any = tile.view(np.uint16).astype(np.uint32) << 16
    return _normal(bits.view(np.float32))


def _normal(numbers: Any) -> Any:
    """Return zeros of the same sign in place of numbers that are smaller than the least normal one."""
    zeros = np.copysign(np.zeros_like(numbers), numbers)
    return choose(np.abs(numbers) < np.finfo(np.float32).tiny, zeros, numbers)


TILE_FUNCTIONS = Table[str, Callable[[Array, Array, Array], Array]]("tile functions")
"""What an instruction of `TILE_PRODUCTS` computes from the bytes of the sums and of both operands. Open."""

for _name, _types in {
    "tdpbssd": (np.int8, np.int8),
    "tdpbsud": (np.int8, np.uint8),
    "tdpbusd": (np.uint8, np.int8),
    "tdpbuud": (np.uint8, np.uint8),
}.items():
    TILE_FUNCTIONS.add(_multiply_bytes(*_types), _name)
TILE_FUNCTIONS.add(multiply_pairs, "tdpbf16ps")
