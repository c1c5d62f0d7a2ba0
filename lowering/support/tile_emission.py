"""Nests that are computed in tiles, and where tiles get their shapes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from relex.dialects.tir import (
    ConfigureTilesOp,
    ForOp,
    LoadTileOp,
    MultiplyTilesOp,
    PrimFuncOp,
    ReleaseTilesOp,
    StoreTileOp,
    ZeroTileOp,
)
from relex.dialects.walks import walk_of
from relex.lowering.support.guards import IndexEmitter
from relex.lowering.support.parallel_loops import runs_in_parallel
from relex.passes.analysis.loop_tree import loops_in
from relex.passes.analysis.tile_nests import TileCopy, TileNest, tensorized


class TilesOf:
    """The nests of a function that are computed in tiles."""

    def __init__(self, function: PrimFuncOp):
        loops = walk_of(function, ForOp)
        self._nests = {loop: nest for loop in loops if (nest := tensorized(loop)) is not None}
        self._are_configured = False

    def nest_of(self, loop: ForOp) -> TileNest | None:
        """Return the nest that begins with a loop, if there is one."""
        return self._nests.get(loop)

    @contextmanager
    def configured(self, loop: ForOp, insert: Callable[[Operation], object]) -> Generator[None]:
        """Set the shapes of tiles before a loop, and release them after it, if all nests in it have the same ones, and
        it is the outermost such loop. Each thread has tiles: they are set inside of parallel loops."""
        shapes = {nest.shapes for first, nest in self._nests.items() if loop.is_ancestor(first)}
        if self._are_configured or len(shapes) != 1 or any(map(runs_in_parallel, loops_in(loop))):
            yield
            return
        self._are_configured = True
        insert(ConfigureTilesOp([*shapes.pop()]))
        yield
        insert(ReleaseTilesOp())
        self._are_configured = False


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
