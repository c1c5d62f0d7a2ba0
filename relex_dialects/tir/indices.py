"""Indices of accesses in terms of the block and loop variables around them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from relex.dialects.function_arguments import stated_dims
from relex.dialects.index.domains import constant_value
from relex.dialects.index.expr import Index, has_values
from relex.dialects.index.from_ir import index_of
from relex.dialects.index.text import parse_index
from relex.dialects.tir.accesses import Access, variables_in
from relex.dialects.tir.blocks import BlockOp, IterKind, IterVar, loops_around
from relex.dialects.tir.loops import ForOp
from relex.dialects.tir.prim_func import AllocBufferOp, PrimFuncOp
from relex.dialects.upstream.hints import isa
from relex.dialects.upstream.reshapes import groups_of
from relex.dialects.walks import reachable


def variable_of(index: SSAValue, block: BlockOp) -> IterVar | None:
    """Return the variable of `block` that an index consists of, or None if it is anything else."""
    if type(index) is BlockArgument and index.owner is block.body.block:
        return IterVar(index, block.kind_of(index), block.extent_of(index), block.binding_of(index))
    return None


def plain_indices(access: Access, block: BlockOp) -> list[BlockArgument] | None:
    """Return the variables that index an access, without variables of dimensions of size 1; None if an index is
    computed, or a variable does not span its whole dimension."""
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
    """Return whether a variable takes all values of a dimension; any two dynamic sizes count as equal."""
    return variable.extent == size or (isinstance(variable.extent, SSAValue) and size == DYNAMIC_INDEX)


def reads_memory(value: SSAValue, scope: Operation) -> bool:
    """Return whether a value depends on a load inside `scope`."""

    def ops(value: SSAValue) -> Iterator[Operation]:
        return value.owner.walk() if isinstance(value.owner, Operation) and scope.is_ancestor(value.owner) else iter(())

    sources = reachable(value, lambda v: [operand for op in ops(v) for operand in op.operands])
    return any(isinstance(op, memref.LoadOp) for source in sources for op in ops(source))


def driving_variables(block: BlockOp, kind: IterKind, scope: Operation) -> set[BlockArgument]:
    """Return the loop variables inside `scope` that the block variables of a kind depend on."""
    pairs = zip(block.kinds, block.bindings, strict=True)
    return {variable for k, binding in pairs if k.data is kind for variable in variables_in(binding, scope)}


def reduction_loop(block: BlockOp) -> ForOp | None:
    """Return the outermost loop that drives the reduction of a block."""
    around = list(loops_around(block))
    driving = driving_variables(block, IterKind.REDUCE, around[-1]) if around else ()
    return next((loop for loop in reversed(around) if loop.variable in driving), None)


def known_size(size: int | SSAValue) -> Hashable:
    """Return a canonical form of a size, the same for sizes that are certainly equal: a number, a dimension of an
    argument, the name that the function gives to it, the text of an expression of such names, or else the value
    itself."""
    if isinstance(size, int):
        return size
    match size.owner:
        case memref.DimOp(source=buffer, index=index) if (dimension := constant_value(index)) is not None:
            return dimension_of(buffer, dimension) or size
        case _:
            found = index_of(size, stated_size)
            return found if isinstance(found, int) else size if has_values(found) else str(found)


def stated_size(value: SSAValue) -> Index | None:
    """Return the expression that the function states for a dimension of a buffer, if a value asks for one."""
    size = known_size(value) if isinstance(value.owner, memref.DimOp) else None
    return parse_index(size) if isinstance(size, str) else size if isinstance(size, int) else None


def dimension_of(buffer: SSAValue, dimension: int) -> Hashable | None:
    """Return a dimension of a buffer in the canonical form of `known_size`; None if it does not have that many."""
    if not isa(buffer.type, MemRefType) or dimension not in range(len(shape := buffer.type.get_shape())):
        return None
    if shape[dimension] != DYNAMIC_INDEX:
        return shape[dimension]
    if isinstance(buffer.owner, AllocBufferOp):
        return known_size(buffer.owner.sizes[shape[:dimension].count(DYNAMIC_INDEX)])
    if isinstance(buffer.owner, memref.CollapseShapeOp):
        sizes = [dimension_of(buffer.owner.src, d) for d in groups_of(buffer.owner)[dimension]]
        return product_of(sizes) or (buffer, dimension)
    if isinstance(buffer.owner, memref.ExpandShapeOp):
        return known_size(buffer.owner.output_shape[shape[:dimension].count(DYNAMIC_INDEX)])
    return stated_name(buffer, dimension) or (buffer, dimension)


def product_of(sizes: Iterable[Hashable]) -> int | str | None:
    """Return the product of sizes in the canonical form of `known_size`; None if one is neither a number nor named."""
    total: Index = 1
    for size in sizes:
        if not isinstance(size, int | str):
            return None
        total = total * (parse_index(size) if isinstance(size, str) else size)
    return total if isinstance(total, int) else str(total)


def stated_name(buffer: SSAValue, dimension: int) -> str | None:
    """Return the name that a function gives to a size of one of its arguments, or the expression of such names that it
    says the size is."""
    func = buffer.owner.parent_op() if isinstance(buffer.owner, Block) else None
    if not isinstance(buffer, BlockArgument) or not isinstance(func, PrimFuncOp):
        return None
    dims = stated_dims(func, buffer.index)
    return dims[dimension] or None if dimension < len(dims) else None


def sizes_of(buffer: SSAValue) -> list[Hashable]:
    """Return the sizes of a buffer, in the canonical form of `known_size`."""
    rank = len(buffer.type.get_shape()) if isa(buffer.type, MemRefType) else 0
    return [dimension_of(buffer, dimension) for dimension in range(rank)]


def is_subsequence(part: Sequence[object], whole: Sequence[object]) -> bool:
    """Return whether `part` is a subsequence of `whole`, comparing by identity."""
    rest = iter(whole)
    return all(any(item is other for other in rest) for item in part)
