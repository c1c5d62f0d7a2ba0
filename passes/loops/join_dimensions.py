"""Join neighbouring dimensions of buffers whose sizes are known only at run time, and the loops over them."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.ir import SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.names import Names
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, IterKind, IterVar, LoopKind, PrimFuncOp, loops_around
from relex.dialects.tir.accesses import is_access
from relex.dialects.tir.indices import dimension_of, known_size, sizes_of
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import walk_of
from relex.passes.analysis.buffers import allocated_sizes
from relex.passes.analysis.loop_tree import base_name, blocks_in, is_reduction, loops_in, unscheduled_of_dynamic_sizes
from relex.passes.driver.base import RelexPass
from relex.passes.rewriting.buffer_edits import collapse, make_buffer, product_of_sizes, replace_sizes
from relex.passes.rewriting.index_arithmetic import IndexArithmetic
from relex.passes.rewriting.loop_edits import set_extent, take_body
from relex.passes.schedule.rebind import with_variables

Place = tuple[SSAValue, int]
"""A buffer, and one of its dimensions, which stands for this one and the next."""


class JoinDimensionsPass(RelexPass):
    """
    Joins dimensions of buffers that follow one another in memory, and the loops that run through them, if a size is
    known only at run time: the rows of an image become one long row. Few elements are then left over from vectors, and
    rules of the default schedule find long rows where there were many short ones. Images of constant sizes have their
    loops joined by `schedule-cpu`, where indices become quotients and remainders; by dynamic sizes, these would be
    divisions.

    Two loops are joined

    * if one holds only the other,
    * if blocks use their variables as indices alone, of dimensions that are neighbours,
    * if the inner loop runs through the second of these dimensions, and
    * if they are no rows of a product.

    Arguments have views.

    ```mlir
    tir.prim_func @exp(%x: memref<8x?x?xf32>) outs(%y: memref<8x?x?xf32>) {
      tir.for %c, %i, %j in (8, %h, %w) {
        ... // y[c, i, j] = exp(x[c, i, j])
      }
    }
    // join-dimensions
    tir.prim_func @exp(%x: memref<8x?x?xf32>) outs(%y: memref<8x?x?xf32>) {
      %a = memref.collapse_shape %x [[0, 1, 2]] : memref<8x?x?xf32> into memref<?xf32>
      %b = memref.collapse_shape %y [[0, 1, 2]] : memref<8x?x?xf32> into memref<?xf32>
      tir.for %p in (%size) {
        ... // b[p] = exp(a[p])
      }
    }
    ```

    It takes `relex.dims` to say which sizes are equal, as `inline-blocks` states it.
    """

    name = "join-dimensions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in unscheduled_of_dynamic_sizes(op):
            _Joining(function).run()


@dataclass(frozen=True)
class _Pair:
    """A loop that holds only another, and the variables of the blocks in them that are bound to the two."""

    outer: ForOp
    inner: ForOp
    variables: Mapping[SSAValue, SSAValue]

    @cached_property
    def step(self) -> Hashable:
        """The extent of the inner loop, in a form that is the same for sizes that are certainly equal."""
        return known_size(self.inner.extent)

    @classmethod
    def of(cls, outer: ForOp, inner: ForOp) -> _Pair | None:
        """Return the pair; None if blocks have other variables that depend on the loops, or if the loops have been
        scheduled."""
        if any(loop.kind.data is not LoopKind.SERIAL or loop.attributes for loop in (outer, inner)):
            return None
        if isinstance(inner.extent, SSAValue) and not isinstance(inner.extent.owner.parent_op(), PrimFuncOp):
            return None
        variables: dict[SSAValue, SSAValue] = {}
        for block in blocks_in(inner):
            first, second = (_bound_to(loop, block) for loop in (outer, inner))
            if first is None or second is None or first.kind is not second.kind or _are_rows(second, block):
                return None
            variables[first.variable] = second.variable
        used = [use.operation for loop in (outer, inner) for use in loop.variable.uses]
        return cls(outer, inner, variables) if len(used) == 2 * len(variables) else None


def _are_rows(variable: IterVar, block: BlockOp) -> bool:
    """Return whether a variable selects a row of a product. Tiles go from row to row anyway, and one long loop of rows
    takes more steps to schedule."""
    stores = walk_of(block, memref.StoreOp)
    read = {load.memref for load in walk_of(block, memref.LoadOp)} - {store.memref for store in stores}
    is_product = is_reduction(block) and len(read) > 1 and variable.kind is IterKind.SPATIAL
    return is_product and all(store.indices[-1] is not variable.variable for store in stores)


def _bound_to(loop: ForOp, block: BlockOp) -> IterVar | None:
    """Return the variable of a block that is bound to a loop and runs as far; None if there are none, or several."""
    found = [v for v in block.iter_vars if v.binding is loop.variable]
    return found[0] if len(found) == 1 and known_size(found[0].extent) == known_size(loop.extent) else None


class _Joining:
    """The loops of a function, and the dimensions of its buffers, that can be joined."""

    def __init__(self, function: PrimFuncOp):
        self._function = function
        self._pairs = [
            pair
            for outer in loops_in(function)
            if isinstance(inner := outer.body.block.last_op, ForOp)
            and inner is outer.body.block.first_op
            and (pair := _Pair.of(outer, inner)) is not None
        ]

    def run(self) -> None:
        """Join what can be."""
        if not self._pairs:
            return
        while removed := [*self._refused()]:
            self._pairs = [pair for pair in self._pairs if pair not in removed]
        if not self._pairs:
            return
        places = self._places()
        views = {buffer: self._view(buffer, places) for buffer in dict.fromkeys(buffer for buffer, _ in places)}
        for buffer, view in views.items():
            joined = {d for other, d in places if other is buffer}
            for op in [use.operation for use in buffer.uses]:
                if is_access(op):
                    _access(op, view, joined)
        for buffer in views:
            if isinstance(buffer.owner, AllocBufferOp):
                Rewriter.erase_op(buffer.owner)
        names = Names(loop.label.data for loop in loops_in(self._function) if loop.label is not None)
        for chain in self._chains:
            _join(chain, names)

    def _refused(self) -> Iterator[_Pair]:
        """Yield pairs that cannot be joined, though all others are, or that need not be."""
        places = self._places()
        for pair in self._pairs:
            if not all(_is_place(use, pair, places) for use in _uses(pair)):
                yield pair
        for chain in self._chains:
            loops = [chain[0].outer, *(pair.inner for pair in chain)]
            lengths = [loop.extent for loop in loops]
            if all(isinstance(length, int) for length in lengths) or sum(length != 1 for length in lengths) < 2:
                yield from chain
            elif lengths[0] == 1:
                yield chain[0]
            elif lengths[-1] == 1:
                yield chain[-1]

    @property
    def _chains(self) -> list[list[_Pair]]:
        """The pairs, of which each follows the one before in a chain."""
        chains: list[list[_Pair]] = []
        for pair in self._pairs:
            if chains and chains[-1][-1].inner is pair.outer:
                chains[-1].append(pair)
            else:
                chains.append([pair])
        return chains

    def _places(self) -> set[Place]:
        """Return the dimensions that are joined with the next ones, if all pairs are: where each access of a buffer has
        the variables of a pair."""
        following = {first: (second, pair) for pair in self._pairs for first, second in pair.variables.items()}
        found, others = set[Place](), set[Place]()
        for op in walk_of(self._function, memref.LoadOp, memref.StoreOp):
            for d, (index, next_index) in enumerate(pairwise(op.indices)):
                second, pair = following.get(index, (None, None))
                fits = second is next_index and pair is not None and dimension_of(op.memref, d + 1) == pair.step
                (found if fits else others).add((op.memref, d))
        return {place for place in found - others if self._may_change(place[0])}

    def _may_change(self, buffer: SSAValue) -> bool:
        """Return whether a function only accesses elements of a buffer that it allocates or has as an argument."""
        is_own = isinstance(buffer.owner, AllocBufferOp) or buffer in self._function.args
        return is_own and all(is_access(use.operation) or type(use.operation) is memref.DimOp for use in buffer.uses)

    def _view(self, buffer: SSAValue, places: set[Place]) -> SSAValue:
        """Return a buffer with joined dimensions: a view of an argument, or what takes the place of a local one."""
        groups: list[list[int]] = []
        for d in range(len(sizes_of(buffer))):
            if (buffer, d - 1) in places:
                groups[-1].append(d)
            else:
                groups.append([d])
        alloc, kind = buffer.owner, buffer.type
        if not isinstance(alloc, AllocBufferOp) or not isa(kind, MemRefType):
            return collapse(self._function, buffer, groups)
        replace_sizes(alloc)
        sizes, emitter = allocated_sizes(alloc), IndexArithmetic(alloc)
        totals = [product_of_sizes([sizes[d] for d in group], emitter) for group in groups]
        return make_buffer(kind.element_type, totals, buffer.name_hint or "buffer", InsertPoint.before(alloc), alloc)


def _uses(pair: _Pair) -> Iterator[Use]:
    for both in pair.variables.items():
        for variable in both:
            yield from variable.uses


def _is_place(use: Use, pair: _Pair, places: set[Place]) -> bool:
    """Return whether a variable of a pair is an index in one of some dimensions, beside the other variable."""
    op = use.operation
    if not is_access(op):
        return False
    d = use.index - (len(op.operands) - len(op.indices))
    index = op.operands[use.index]
    return (op.memref, d if index in pair.variables else d - 1) in places


def _access(op: memref.LoadOp | memref.StoreOp, view: SSAValue, joined: Container[int]) -> None:
    """Let a load or store access a buffer in which each of some dimensions is one with the next."""
    indices = [index for d, index in enumerate(op.indices) if d - 1 not in joined]
    op.operands = [*([op.value] if isinstance(op, memref.StoreOp) else []), view, *indices]


def _join(chain: Sequence[_Pair], names: Names) -> None:
    """Make one loop of loops whose variables have become one index everywhere."""
    outer, *others = loops = [chain[0].outer, *(pair.inner for pair in chain)]
    nest = [outer, *loops_around(outer)][-1]
    total = product_of_sizes([loop.extent for loop in loops], IndexArithmetic(nest))
    gone = {second for pair in chain for second in pair.variables.values()}
    for block in [*blocks_in(others[-1])]:
        _join_variables(block, outer, total, gone)
    outer.body.block.add_ops(take_body(others[-1]))
    Rewriter.erase_op(others[0])
    set_extent(outer, total)
    outer.label = StringAttr(names.fresh(f"{'_'.join(map(base_name, loops))}_fused"))


def _join_variables(block: BlockOp, loop: ForOp, total: int | SSAValue, gone: Container[SSAValue]) -> None:
    """Replace a block by one without some variables, whose places the one that is bound to a loop takes."""
    kept = [v for v in block.iter_vars if v.variable not in gone]
    with_variables(block, [replace(v, extent=total) if v.binding is loop.variable else v for v in kept])
