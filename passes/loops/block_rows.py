"""Blocking of rows for consecutive products."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.errors import PassError
from relex.dialects.function_arguments import SCHEDULED_ATTR
from relex.dialects.index.expr import Index, combination, span_of, terms_of
from relex.dialects.index.from_ir import index_of
from relex.dialects.index.ranges import Range
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, LoopKind, PrimFuncOp
from relex.dialects.tir.accesses import Access
from relex.dialects.walks import walk_of
from relex.passes.analysis.buffers import accesses_in, allocated_sizes, buffer_name, buffers_written
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.kept import keeping
from relex.passes.analysis.loop_tree import blocks_in, function_of, loops_in, only_step
from relex.passes.analysis.op_patterns import reuses_operands
from relex.passes.analysis.scaled_sums import is_scaled_later
from relex.passes.analysis.sharing import has_views, is_spatial, is_understood, may_be_one
from relex.passes.cpu import cost
from relex.passes.cpu.caches import bytes_nearby, bytes_used
from relex.passes.cpu.reduction_nest import block_named, element_written, named, uses
from relex.passes.driver.base import RelexPass
from relex.passes.rewriting.buffer_edits import make_buffer, remove_buffer
from relex.passes.rewriting.equal_sizes import name_sizes
from relex.passes.rewriting.index_arithmetic import IndexArithmetic
from relex.passes.rewriting.stated_sizes import state_sizes
from relex.passes.schedule import Loop, Schedule
from relex.passes.schedule.rebind import bind_to_loops, redirect


class BlockRowsPass(RelexPass):
    """
    Splits the rows of a product, of a product of its results, and of all nests in between, as in attention:
    what passes between them for a block of rows fits into the second-level cache of the module's target. `schedule-cpu`
    tiles the rows of each block, and `merge-loops` merges the loops over blocks.

    Rows that do not fill a block come last, in separate nests. Where all rows fit, and for targets that are not
    known, nothing changes.

    ```mlir
    tir.for %i, %j, %k in (1024, 1024, 64) {
      ... // s[i, j] += q[i, k] * k[j, k]
    }
    tir.for %i, %j, %l in (1024, 1024, 64) {
      ... // y[i, l] += s[i, j] * v[j, l]
    }
    // block-rows
    tir.for %block, %row, %j, %k in (16, 64, 1024, 64) {
      ... // s[block, row, j] += q[64 block + row, k] * k[j, k]
    }
    tir.for %block, %row, %j, %l in (16, 64, 1024, 64) {
      ... // z[block, row, l] += s[block, row, j] * v[j, l]
    }
    tir.for %block, %row, %l in (16, 64, 64) {
      ... // y[64 block + row, l] = z[block, row, l]
    }
    ```
    """

    name = "block-rows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        nearby = bytes_nearby(op)
        loop_functions = [f for f in op.ops if isinstance(f, PrimFuncOp)]
        functions = [f for f in loop_functions if not has_views(f) and SCHEDULED_ATTR not in f.attributes]
        if not nearby or not any(map(_chain_of, functions)):
            return
        state_sizes(op, of_private=False)
        name_sizes(op)
        for function in functions:
            if _chain_of(function) is not None:
                with suppress(PassError):
                    if (new := _blocked(function, nearby)) is not None:
                        Rewriter.replace_op(function, new)


@dataclass(frozen=True)
class _Chain:
    """Consecutive nests that may share their first loops, with several products among them, and the innermost of these
    loops in each nest: its rows."""

    rows: Sequence[ForOp]

    def block_size(self, nearby: int) -> int | None:
        """Return the number of rows of a block; None if all rows fit into `nearby` bytes, or if blocks do not pay."""
        if not all(map(_reuses_rows, self.rows)):
            return None
        extent = self.rows[0].extent
        size = cost.BUFFERS_OF_A_BLOCK * max(self._bytes_of_a_row(), default=1)
        most = max(cost.MIN_ROWS_OF_A_BLOCK, min(cost.MAX_ROWS_OF_A_BLOCK, nearby // size))
        if isinstance(extent, SSAValue):
            return most
        if extent <= most:
            return None
        even = [rows for rows in range(most, most // 2, -1) if extent % rows == 0]
        return even[0] if even else most

    def _bytes_of_a_row(self) -> Iterator[int]:
        """Yield the size of what a row uses of each local buffer."""
        for loop in self.rows:
            for block in blocks_in(loop):
                for buffer in buffers_written(block):
                    if isinstance(buffer.owner, AllocBufferOp):
                        elements = [a.element for a in block_accesses(block) if a.buffer is buffer]
                        yield bytes_used(buffer, elements, loop)


def _reuses_rows(rows: ForOp) -> bool:
    """Return whether each product in a loop uses elements again for other rows."""
    products = [block for block in blocks_in(rows) if reuses_operands(block)]
    return all(any(not uses(access, rows) for access in _terms(block)) for block in products)


def _terms(block: BlockOp) -> list[Access]:
    return [access for access in block_accesses(block) if access.buffer not in buffers_written(block)]


def _chain_of(function: PrimFuncOp) -> _Chain | None:
    """Return the nests of a function from its first product on, as long as they may share loops; None if there is one
    product only among them, or if the function has been scheduled."""
    nests = [op for op in function.body.block.ops if isinstance(op, ForOp)]
    if any(loop.kind.data is not LoopKind.SERIAL for nest in nests for loop in loops_in(nest)):
        return None
    if any(map(is_scaled_later, blocks_in(function))):
        return None  # Both sums share registers.
    products = [i for i, nest in enumerate(nests) if any(map(reuses_operands, blocks_in(nest)))]
    if len(products) < 2:
        return None
    chain = [_spatial_loops(nests[products[0]])]
    depth = len(chain[0])
    for i, nest in enumerate(nests[products[0] + 1 :], products[0] + 1):
        shared = min(depth, _depth(chain, nest, function))
        if not shared or (i > products[-1] and shared < depth):
            break
        depth = shared
        chain.append(_spatial_loops(nest))
    count = products[0] + len(chain)
    if sum(product < count for product in products) < 2:
        return None
    return _Chain([loops[depth - 1] for loops in chain])


def _spatial_loops(nest: ForOp) -> list[ForOp]:
    """Return the outer loops of a nest along which nothing is reduced."""
    loops: list[ForOp] = []
    inner: object = nest
    while isinstance(inner, ForOp) and is_understood(nest) and is_spatial(inner):
        loops.append(inner)
        inner = only_step(inner)
    return loops


def _depth(chain: Sequence[Sequence[ForOp]], nest: ForOp, function: PrimFuncOp) -> int:
    """Return the number of loops that a nest may share with the nests of a chain."""
    depth = 0
    for i, loop in enumerate(_spatial_loops(nest)):
        if not all(i < len(loops) and may_be_one(loops[i], loop, function) for loops in chain):
            break
        depth += 1
    return depth


def _blocked(function: PrimFuncOp, nearby: int) -> PrimFuncOp | None:
    """Return a function with the rows of its chain in blocks; None if that is not worth it."""
    name = function.sym_name.data
    schedule = Schedule(ModuleOp([function.clone()]), sizes_are_stated=True)
    schedule.get_loops(block_named(next(blocks_in(function))))  # gives all loops labels
    with keeping({}):
        chain = _chain_of(schedule.function(name))
        size = chain.block_size(nearby) if chain is not None else None
    if chain is None or size is None:
        return None
    extent = chain.rows[0].extent
    rows = [loop for own in chain.rows for loop in (named(own), *_copied_output(schedule, own))]
    if isinstance(extent, SSAValue) or extent % size:
        schedule.partition(rows, size)
    for loop in rows:
        schedule.split(loop, [None, size])
    new = schedule.function(name)
    for alloc in walk_of(new, AllocBufferOp):
        _split_dimensions(alloc, new, size)
    new.detach()
    return new


def _copied_output(schedule: Schedule, rows: ForOp) -> Iterator[Loop]:
    """Let a product of a nest that computes an output write a local buffer instead; yield the rows of the nest that
    copies it. Tiles take such a copy as their epilogue."""
    for block in filter(reuses_operands, blocks_in(rows)):
        if buffers_written(block)[0] in function_of(block).outputs:
            dimension = next(i for i, form in enumerate(element_written(block)) if rows.variable in terms_of(form))
            copy = schedule.cache_write(block_named(block), 0)
            yield schedule.get_loops(copy)[dimension]


def _split_dimensions(alloc: AllocBufferOp, function: PrimFuncOp, size: int) -> None:
    """Give a buffer two dimensions, blocks and their rows, in place of each one that is always indexed by `size` times
    one loop plus another loop."""
    accesses = list(accesses_in(function, alloc.buffer))
    split = [
        d for d in range(len(alloc.buffer.type.get_shape())) if all(_is_split(a.element[d], size) for a in accesses)
    ]
    if not accesses or not split:
        return
    sizes: list[int | SSAValue] = []
    for dimension, extent in enumerate(allocated_sizes(alloc)):
        if dimension not in split:
            sizes.append(extent)
        elif isinstance(extent, int):
            sizes += [extent // size, size]
        else:
            sizes += [IndexArithmetic(alloc).emit(index_of(extent) // size), size]
    new = make_buffer(
        alloc.buffer.type.element_type, sizes, buffer_name(alloc.buffer), InsertPoint.before(alloc), alloc
    )

    def indices(old: Sequence[Index]) -> list[Index]:
        pairs = (
            [_blocks_of(index, size), index - _blocks_of(index, size) * size] if d in split else [index]
            for d, index in enumerate(old)
        )
        return [index for pair in pairs for index in pair]

    for block in dict.fromkeys(access.block for access in accesses):
        bound, _ = bind_to_loops(block, [v.variable for v in block.iter_vars if len(terms_of(index_of(v.binding))) > 1])
        redirect(bound, alloc.buffer, new, indices)
    remove_buffer(alloc)


def _is_split(index: Index, size: int) -> bool:
    """Return whether an index is `size` times a loop plus another one, with `size` iterations."""
    terms = terms_of(index)
    rest = index - _blocks_of(index, size) * size
    return sorted(terms.values()) == [1, size] and span_of(rest) == Range(0, size - 1)


def _blocks_of(index: Index, size: int) -> Index:
    """Return an index divided by `size`, without what is no multiple of it."""
    return combination(0, {atom: factor // size for atom, factor in terms_of(index).items() if factor % size == 0})
