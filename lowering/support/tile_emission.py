"""Nests that are computed in tiles, and where tiles get their shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from relex.dialects.tir import (
    ForOp,
    LoadTileOp,
    MultiplyTilesOp,
    PrimFuncOp,
    StoreTileOp,
    ZeroTileOp,
)
from relex.dialects.walks import holds, walk_of
from relex.lowering.support.guards import IndexEmitter
from relex.lowering.support.parallel_loops import runs_in_parallel
from relex.passes.analysis.loop_tree import loops_in
from relex.passes.analysis.tile_nests import Shapes, TileCopy, TileNest, tensorized


def tiled_nests(function: PrimFuncOp) -> dict[ForOp, TileNest]:
    """Return the nests of a function that are computed in tiles, by their first loops."""
    return {loop: nest for loop in walk_of(function, ForOp) if (nest := tensorized(loop)) is not None}


def shapes_at(function: PrimFuncOp, nests: Mapping[ForOp, TileNest]) -> dict[ForOp, Shapes]:
    """Return the shapes of tiles that are set before a loop, and released after it, if all nests in it have the same
    shapes, and it is the outermost such loop. Each thread has tiles: they are set inside of parallel loops."""
    found: dict[ForOp, Shapes] = {}
    for loop in walk_of(function, ForOp) if nests else ():
        shapes = {nest.shapes for first, nest in nests.items() if holds(loop, first)}
        if len(shapes) != 1 or any(map(runs_in_parallel, loops_in(loop))):
            continue
        if not any(holds(outer, loop) for outer in found):
            found[loop] = shapes.pop()
    return found


def emit_tiles(
    nest: TileNest,
    builder: Builder,
    open_loop: Callable[[ForOp, Builder], Builder],
    emitter_at: Callable[[Builder], IndexEmitter],
    value_of: Callable[[SSAValue], SSAValue],
) -> None:
    """Emit a nest that is computed in tiles: the sums are in tiles until the loops of the terms end. `value_of` returns
    what replaces a buffer of the loop function."""

    def insert(op: Operation, place: Builder) -> None:
        op.location = nest.block.location
        place.insert(op)

    def move(kind: type[LoadTileOp | StoreTileOp], copies: Sequence[TileCopy], place: Builder) -> None:
        emitter = emitter_at(place)
        for copy in copies:
            indices = list(map(emitter.emit_new, copy.element))
            insert(kind(copy.tile, value_of(copy.buffer), indices, copy.dimension, copy.step), place)

    if nest.begins_with_zeros:
        for copy in nest.totals:
            insert(ZeroTileOp(copy.tile), builder)
    else:
        move(LoadTileOp, nest.totals, builder)
    inside = builder
    for term in nest.terms:
        inside = open_loop(term, inside)
    move(LoadTileOp, nest.operands, inside)
    for tiles in nest.products:
        insert(MultiplyTilesOp(nest.by, *tiles), inside)
    move(StoreTileOp, nest.totals, builder)
