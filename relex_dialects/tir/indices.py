"""Indices of accesses in terms of the variables around them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, MemRefType, StringAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.utils.hints import isa

from relex.dialects.functions import DIMS_ATTR, argument_attr
from relex.dialects.index.domains import constant_value
from relex.dialects.tir.accesses import Access
from relex.dialects.tir.blocks import BlockOp, IterVar
from relex.dialects.tir.functions import AllocBufferOp, PrimFuncOp
from relex.dialects.tir.loops import ForOp


def variable_of(index: SSAValue, block: BlockOp) -> IterVar | None:
    """The variable of `block` that an index is, if it is nothing else."""
    if isinstance(index, BlockArgument) and index.owner is block.body.block:
        return block.iter_vars[index.index]
    return None


def plain_indices(access: Access, block: BlockOp) -> list[BlockArgument] | None:
    """The variables that an access has as indices, without those of dimensions of size 1; None if any is computed, or a
    variable does not run through the whole of its dimension."""
    variables: list[BlockArgument] = []
    for index, size in zip(access.indices, access.shape, strict=True):
        variable = variable_of(index, block)
        if size == 1 and (constant_value(index) == 0 or (variable is not None and variable.extent == 1)):
            continue
        if variable is None or not _runs_through(variable, size):
            return None
        variables.append(variable.variable)
    return variables


def _runs_through(variable: IterVar, size: int) -> bool:
    """Whether a variable takes all values of a dimension; sizes of the run are not told apart."""
    return variable.extent == size or (isinstance(variable.extent, SSAValue) and size == DYNAMIC_INDEX)


def reads_memory(value: SSAValue, scope: Operation) -> bool:
    """Whether a value is computed from one that is loaded inside `scope`."""
    pending, seen = [value], set[SSAValue]()
    while pending:
        current = pending.pop()
        owner = current.owner
        if current in seen or not isinstance(owner, Operation) or not scope.is_ancestor(owner):
            continue
        seen.add(current)
        for op in owner.walk():
            if isinstance(op, memref.LoadOp):
                return True
            pending.extend(op.operands)
    return False


def loop_of(index: SSAValue) -> ForOp | None:
    """The loop whose variable an index is, directly or by way of a block's variable; None if it is anything else."""
    while isinstance(index, BlockArgument):
        match index.owner.parent_op():
            case ForOp() as loop:
                return loop
            case BlockOp() as block:
                index = block.bindings[index.index]
            case _:
                return None
    return None


def known_size(size: int | SSAValue) -> Hashable:
    """A size in a form that is the same for sizes that are certainly equal: a number, a dimension of an argument, the
    name that the function has for it, or whatever value it is."""
    if isinstance(size, int):
        return size
    if (constant := constant_value(size)) is not None:
        return constant
    match size.owner:
        case memref.DimOp(source=buffer, index=index) if (dimension := constant_value(index)) is not None:
            return _dimension(buffer, dimension) or size
        case _:
            return size


def _dimension(buffer: SSAValue, dimension: int) -> Hashable | None:
    """A dimension of a buffer; None if it does not have that many."""
    if not isa(buffer.type, MemRefType) or dimension not in range(len(shape := buffer.type.get_shape())):
        return None
    if shape[dimension] != DYNAMIC_INDEX:
        return shape[dimension]
    if isinstance(buffer.owner, AllocBufferOp):
        return known_size(buffer.owner.sizes[shape[:dimension].count(DYNAMIC_INDEX)])
    return _stated_name(buffer, dimension) or (buffer, dimension)


def _stated_name(buffer: SSAValue, dimension: int) -> str | None:
    """What a function calls a size of one of its arguments."""
    func = buffer.owner.parent_op() if isinstance(buffer.owner, Block) else None
    if not isinstance(buffer, BlockArgument) or not isinstance(func, PrimFuncOp):
        return None
    dims = argument_attr(func, buffer.index, DIMS_ATTR)
    return dims.data[dimension].data or None if isa(dims, ArrayAttr[StringAttr]) and dimension < len(dims) else None


def sizes_of(buffer: SSAValue) -> list[Hashable]:
    """The sizes of a buffer, in the form of `known_size`."""
    rank = len(buffer.type.get_shape()) if isa(buffer.type, MemRefType) else 0
    return [_dimension(buffer, dimension) for dimension in range(rank)]


def is_subsequence(part: Sequence[object], whole: Sequence[object]) -> bool:
    """Whether `part` is left of `whole` when some of it is taken away."""
    rest = iter(whole)
    return all(any(item is other for other in rest) for item in part)
