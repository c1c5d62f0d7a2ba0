"""Inline blocks into the blocks that read their results."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from contextlib import suppress
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from relex.dialects.dtypes import is_emulated
from relex.dialects.errors import PassError
from relex.dialects.function_arguments import SCHEDULED_ATTR
from relex.dialects.index.atoms import Atom
from relex.dialects.index.expr import terms_of
from relex.dialects.index.from_ir import index_of
from relex.dialects.index.text import parse_index
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, InitOp, IterKind, IterVar, PrimFuncOp
from relex.dialects.tir.accesses import innermost_block
from relex.dialects.tir.indices import known_size, variable_of
from relex.passes.analysis.buffers import buffers_written, size_asked
from relex.passes.analysis.loop_tree import only_step
from relex.passes.analysis.sharing import has_views, is_understood
from relex.passes.analysis.transposed_terms import copied_by, keeps_terms_together
from relex.passes.driver.base import RelexPass
from relex.passes.rewriting.buffer_edits import remove_buffer
from relex.passes.rewriting.equal_sizes import name_sizes
from relex.passes.schedule.compute_inline import alike, compute_inline


class InlineBlocksPass(RelexPass):
    """
    Computes an element of a local buffer where it is read, if this does not compute anything more often, and drops the
    buffer, its block and its loops. The same operations are performed on the same numbers. A copy computes nothing: it
    is also dropped for a reduction whose terms are contiguous in its source, and for others if it keeps rows as they
    are. A choice between two numbers is made where it is read as well, unless by a reduction: its mask takes a quarter
    of the memory or less. Arguments of f16 or bf16 become wider where they are read, if not often. Blocks
    whose results are not read are dropped.

    The block must fill the buffer by one element for each value of its variables, in its own loops, and nothing that
    it reads may be written after it. Where all calls of a function are known, sizes that are equal in all of them count
    as equal, and get a common name.

    ```mlir
    tir.for %i in (8) {
      tir.block @double (%v: spatial<8> = %i) {
        %x = memref.load %X[%v] : memref<8xf32>
        %y = arith.addf %x, %x : f32
        memref.store %y, %T[%v] : memref<8xf32>
      }
    }
    tir.for %i in (8) {
      tir.block @negate (%v: spatial<8> = %i) {
        %x = memref.load %T[%v] : memref<8xf32>
        %y = arith.negf %x : f32
        memref.store %y, %Y[%v] : memref<8xf32>
      }
    }
    // inline-blocks
    tir.for %i in (8) {
      tir.block @negate (%v: spatial<8> = %i) {
        %x = memref.load %X[%v] : memref<8xf32>
        %0 = arith.addf %x, %x : f32
        %y = arith.negf %0 : f32
        memref.store %y, %Y[%v] : memref<8xf32>
      }
    }
    ```
    """

    name = "inline-blocks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        name_sizes(op)
        for function in op.ops:
            if not isinstance(function, PrimFuncOp) or SCHEDULED_ATTR in function.attributes:
                continue
            if not has_views(function):
                _inline_in(function)


def _inline_in(function: PrimFuncOp) -> None:
    """Visit the nests from last to first, so that the readers of a buffer are settled before its producer."""
    for nest in reversed(list(function.body.block.ops)):
        if _is_dead(nest):
            Rewriter.erase_op(nest)
            continue
        step: Operation | None = nest
        while isinstance(step, ForOp):
            step = only_step(step)
        if isinstance(step, BlockOp) and _is_worth_it(step):
            with suppress(PassError):
                compute_inline(step)
    for op in list(function.body.block.ops):
        if isinstance(op, AllocBufferOp) and all(size_asked(use.operation) is not None for use in op.buffer.uses):
            remove_buffer(op)


def _is_dead(nest: Operation) -> bool:
    """Return whether a nest only fills local buffers that only it reads."""
    if not isinstance(nest, ForOp | BlockOp) or not is_understood(nest):
        return False
    return all(
        isinstance(buffer.owner, AllocBufferOp)
        and all(isinstance(use.operation, memref.DimOp) or nest.is_ancestor(use.operation) for use in buffer.uses)
        for buffer in buffers_written(nest)
    )


def _is_worth_it(block: BlockOp) -> bool:
    """Return whether inlining a block computes no more elements than the block does now."""
    written = buffers_written(block)
    loads = [use.operation for buffer in written for use in buffer.uses if not block.is_ancestor(use.operation)]
    readers = [same[0] for same in alike(load for load in loads if isinstance(load, memref.LoadOp))]
    if not readers:
        return False
    if len(readers) == 1 and (_reads_an_element_once(readers[0]) or keeps_terms_together(block, readers[0])):
        return True
    if len(readers) == 1 and _widens_stored_floats(block) and not _repeats(readers[0], block):
        return True
    if (_keeps_rows(block) or _chooses_a_number(block)) and not any(map(_reduces, readers)):
        return True
    now, then = _extents(block.iter_vars), list(map(_times, readers))
    if len(readers) == 1 and _run_as_often(then[0], now):
        return True
    return all(map(_is_known, (now, *then))) and sum(map(_product, then)) <= _product(now)


def _reads_an_element_once(load: memref.LoadOp) -> bool:
    """Return whether no two iterations read the same element: each variable of the block is all that moves some
    index."""
    variables = _variables_around(load)
    block = innermost_block(load)
    if variables is None or block is None:
        return False
    moving = [{atom for atom in terms_of(index_of(i)) if not _is_outside(atom, block)} for i in load.indices]
    return all({v.variable} in moving for v in variables)


def _is_outside(atom: Atom, block: BlockOp) -> bool:
    """Return whether an atom is a value from outside of a block."""
    return isinstance(atom, SSAValue) and not block.is_ancestor(atom.owner)


def _keeps_rows(block: BlockOp) -> bool:
    """Return whether a block only copies elements, and all that are side by side in its buffer are so in its source."""
    found = copied_by(block)
    if found is None:
        return False
    source, result = (_moving(op, block) for op in found)
    return bool(source and result) and None not in source and source[-1] is result[-1]


def _chooses_a_number(block: BlockOp) -> bool:
    """Return whether a block only chooses between two numbers, by conditions that it loads."""
    ops = list(block.body.block.ops)
    choice, store = ops[-2:] if len(ops) > 1 else (None, None)
    loads = [op for op in ops if isinstance(op, memref.LoadOp)]
    if not isinstance(choice, arith.SelectOp) or not isinstance(store, memref.StoreOp) or len(loads) + 2 != len(ops):
        return False
    return store.value is choice.result and all(op.res is choice.cond or not op.indices for op in loads)


def _widens_stored_floats(block: BlockOp) -> bool:
    """Return whether a block only makes wider floats of an argument's, which have half of the bytes."""
    match list(block.body.block.ops):
        case [memref.LoadOp() as load, arith.ExtFOp() as wide, memref.StoreOp() as store]:
            is_argument = isinstance(load.memref, BlockArgument) and is_emulated(wide.input.type)
            return is_argument and wide.input is load.res and store.value is wide.result
        case _:
            return False


_MANY = 128
"""How often elements are read, at least, that better become wide once."""


def _repeats(load: memref.LoadOp, block: BlockOp) -> bool:
    """Return whether elements are certainly read many times."""
    times = _times(load)
    return _is_known(times) and _product(times) >= _MANY * _product(_extents(block.iter_vars))


def _moving(op: memref.LoadOp | memref.StoreOp, block: BlockOp) -> list[SSAValue | None]:
    """Return the variables of a block that index an element, without those that have one value; None for others."""
    found = [variable_of(index, block) for index in op.indices if not isinstance(index_of(index), int)]
    return [v and v.variable for v in found if v is None or v.extent != 1]


def _reduces(load: memref.LoadOp) -> bool:
    variables = _variables_around(load)
    return variables is None or any(v.kind is IterKind.REDUCE for v in variables)


def _times(load: memref.LoadOp) -> list[Hashable] | None:
    """Return extents whose product bounds how often an op runs; None if that is unclear."""
    variables = _variables_around(load)
    return None if variables is None else _extents(variables)


def _variables_around(op: Operation) -> list[IterVar] | None:
    """Return the variables, with more than one value, that an op runs for: the variables of the block directly around
    it, through conditions and inits only. None if there is no such block."""
    in_init, scope = False, op.parent_op()
    while isinstance(scope, scf.IfOp | InitOp):
        in_init, scope = in_init or isinstance(scope, InitOp), scope.parent_op()
    if not isinstance(scope, BlockOp):
        return None
    return [v for v in scope.iter_vars if v.extent != 1 and not (in_init and v.kind is IterKind.REDUCE)]


def _extents(variables: Iterable[IterVar]) -> list[Hashable]:
    """Return the extents of variables, in an order that does not depend on the order of the variables."""
    return sorted((known_size(v.extent) for v in variables if v.extent != 1), key=str)


def _is_known(extents: list[Hashable] | None) -> bool:
    return extents is not None and all(isinstance(extent, int) for extent in extents)


def _product(extents: list[Hashable] | None) -> int:
    return prod(extent for extent in extents or () if isinstance(extent, int))


def _run_as_often(a: list[Hashable] | None, b: list[Hashable] | None) -> bool:
    """Return whether two lists of extents certainly have the same product."""
    if a is None or b is None:
        return False
    known = [
        [parse_index(n) if isinstance(n, str) else n for n in extents if isinstance(n, int | str)] for extents in (a, b)
    ]
    return a == b or (list(map(len, known)) == [len(a), len(b)] and prod(known[0]) == prod(known[1]))
