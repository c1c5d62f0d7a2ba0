"""Blocks that bring elements of an input into another order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from operator import mul
from typing import TYPE_CHECKING, Any

from xdsl.dialects import arith, memref
from xdsl.ir import BlockArgument, SSAValue

from relex.dialects.errors import PassError
from relex.dialects.tir import AllocBufferOp, BlockOp, IterKind, IterKindAttr, PrimFuncOp
from relex.dialects.tir.accesses import Access, accesses
from relex.passes.loops.affine import Atom, Form, Quotient, form_of
from relex.passes.loops.buffers import buffers_read
from relex.passes.loops.dependences import block_accesses
from relex.passes.loops.indices import is_scalar
from relex.passes.loops.structure import blocks_in, check_conditions, conditions_of, erase_empty, loops_of

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array

Grid = Mapping[SSAValue, "Array"]
"""The values of loop variables in all iterations."""


@dataclass(frozen=True)
class Reordering:
    """
    A block that does nothing but copy elements of an input to a local buffer, which is then only read. `origin` has the
    shape of the buffer, and for each of its places the number of the element of the input that is copied there, row by
    row; -1 where none is.
    """

    block: BlockOp
    source: BlockArgument
    buffer: AllocBufferOp
    origin: Array

    @classmethod
    def of(cls, block: BlockOp) -> Reordering | None:
        """What a block copies, if that is all it does, and always the same to the same place."""
        found = _load_and_store(block)
        if found is None:
            return None
        load, store = found
        argument, buffer = load.buffer, store.buffer.owner
        if not isinstance(argument, BlockArgument) or not isinstance(buffer, AllocBufferOp):
            return None
        if not _is_filled_by(block, buffer):
            return None
        try:
            check_conditions(block)
            elements = {access.access.op: access.element for access in block_accesses(block)}
        except PassError:
            return None
        source, target = _number(elements[load.op], load.shape), _number(elements[store.op], store.shape)
        origin = _origin(block, source, target, prod(store.shape))
        return cls(block, argument, buffer, origin.reshape(store.shape)) if origin is not None else None

    def apply(self, array: Array) -> Array:
        """The elements of the input in their new order; 0 where none is copied to."""
        import numpy as np

        return np.append(array, array.dtype.type(0))[self.origin]

    def replace_by(self, copy: SSAValue) -> None:
        """Let what reads the buffer read a copy that is there already."""
        copy.name_hint = self.buffer.buffer.name_hint
        scope = self.block.parent_op()
        self.block.detach()
        self.block.erase()
        erase_empty(scope)
        self.buffer.buffer.replace_all_uses_with(copy)
        self.buffer.detach()
        self.buffer.erase()


def reorderings(func: PrimFuncOp, source: SSAValue) -> Iterator[Reordering]:
    """The blocks of a function that do nothing but copy elements of a buffer."""
    for block in list(blocks_in(func)):
        found = Reordering.of(block) if buffers_read(block) == [source] else None
        if found is not None:
            yield found


def _load_and_store(block: BlockOp) -> tuple[Access, Access] | None:
    """The only two accesses of a block that stores what it loads, and does nothing else."""
    found = list(accesses(block))
    others = [op for op in block.body.block.ops if not isinstance(op, memref.LoadOp | memref.StoreOp)]
    if len(found) != 2 or not all(map(is_scalar, others)) or IterKindAttr(IterKind.REDUCE) in block.kinds:
        return None
    load, store = found
    is_copy = not load.is_write and isinstance(store.op, memref.StoreOp) and store.op.value in load.op.results
    return (load, store) if is_copy else None


def _is_filled_by(block: BlockOp, buffer: AllocBufferOp) -> bool:
    """Whether a block writes a buffer of known size, and all others read it."""
    users = [use.operation for use in buffer.buffer.uses if not block.is_ancestor(use.operation)]
    return not buffer.sizes and all(isinstance(op, memref.LoadOp | memref.DimOp) for op in users)


def _number(element: Sequence[Form], shape: Sequence[int]) -> Form:
    """The number of an element of a buffer, row by row."""
    strides = reversed(list(accumulate(reversed(shape[1:]), mul, initial=1)))
    return sum((form * stride for form, stride in zip(element, strides, strict=False)), Form(0))


_HOLDS: dict[str, Callable[[Any], Any]] = {"slt": lambda difference: difference < 0, "sge": lambda d: d >= 0}
"""The comparisons that schedules make, by the difference of what is compared."""


def _origin(block: BlockOp, source: Form, target: Form, size: int) -> Array | None:
    """The source for each target of a copy, over all iterations; None if that is not known, or not always the same."""
    import numpy as np

    loops = loops_of(block)
    extents = [loop.extent for loop in loops if isinstance(loop.extent, int)]
    limits = [_limit(condition) for condition in conditions_of(block)]
    known = [limit for limit in limits if limit is not None]
    variables = {value for form in (source, target, *(form for form, _ in known)) for value in form.variables()}
    if len(extents) < len(loops) or len(known) < len(limits) or not variables <= {loop.variable for loop in loops}:
        return None
    axes = np.ogrid[tuple(slice(0, extent) for extent in extents)]
    grid: dict[SSAValue, Array] = {loop.variable: axis for loop, axis in zip(loops, axes, strict=True)}
    runs = np.ones(extents, bool)
    for form, holds in known:
        runs &= holds(_evaluate(form, grid))
    places, numbers = (np.broadcast_to(_evaluate(form, grid), extents)[runs] for form in (target, source))
    origin = np.full(size, -1)
    origin[places] = numbers
    return origin if np.array_equal(origin[places], numbers) else None


def _limit(condition: SSAValue) -> tuple[Form, Callable[[Any], Any]] | None:
    """A condition as a form, and what must hold of it."""
    op = condition.owner
    if not isinstance(op, arith.CmpiOp):
        return None
    holds = _HOLDS.get(arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data])
    return (form_of(op.lhs) - form_of(op.rhs), holds) if holds is not None else None


def _evaluate(form: Form, grid: Grid) -> Array:
    """The values of a form in all iterations."""
    import numpy as np

    total = np.asarray(form.constant)
    for atom, factor in form.terms.items():
        total = total + factor * _evaluate_atom(atom, grid)
    return total


def _evaluate_atom(atom: Atom, grid: Grid) -> Array:
    if isinstance(atom, SSAValue):
        return grid[atom]
    divided = _evaluate(atom.form, grid)
    return divided // atom.divisor if isinstance(atom, Quotient) else divided % atom.divisor
