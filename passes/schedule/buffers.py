"""`compact_buffer` and `transform_layout`: shrink a local buffer to the footprint of its uses, or change its layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)
from xdsl.rewriter import InsertPoint

from relex.dialects.errors import fail, name_of
from relex.dialects.index.atoms import Quotient, Remainder
from relex.dialects.index.expr import Index, IndexExpr, constant_of, terms_of, values_in
from relex.dialects.index.from_ir import index_of
from relex.dialects.index.ranges import ANYTHING, Range
from relex.dialects.index.values import replace_atoms
from relex.dialects.schedule.block_primitives import CompactBufferOp, TransformLayoutOp
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, IterKind
from relex.dialects.tir.accesses import Access
from relex.passes.analysis import loop_tree
from relex.passes.analysis.buffers import accesses_in, allocated_sizes, buffer_name, local_buffer, pick_buffer
from relex.passes.analysis.dependence import block_accesses, carrying, equal_atoms
from relex.passes.analysis.footprints import region_of
from relex.passes.analysis.kept import resumed
from relex.passes.rewriting.buffer_edits import make_buffer, remove_buffer
from relex.passes.schedule.primitive_table import primitive
from relex.passes.schedule.rebind import bind_to_loops, is_bound_to_loops, redirect


@primitive(CompactBufferOp)
def compact_buffer(block: BlockOp, index: int) -> None:
    """
    Move a local buffer that a block writes into the innermost loop around all its uses, and shrink it to the footprint
    of one iteration. Blocks that index the buffer by values that vary outside of the loop are rebound, with one
    variable per loop.
    """
    buffer = pick_buffer(block, "write", index)
    alloc = local_buffer(buffer, block)
    with resumed():
        accesses = list(accesses_in(loop_tree.function_of(block), buffer))
        loop = _innermost_loop(accesses, alloc, block)
        _check_private(accesses, loop, alloc, block)
        footprint = _footprint(accesses, loop, alloc)
        bases = [base for base, _ in footprint]
        users = dict.fromkeys(access.block for access in accesses)
        changed = {user: _variables_shifted(user, buffer, bases) for user in users}
    for user, variables in changed.items():
        if not is_bound_to_loops(user, variables):
            fail(user, f"expected variables of {loop_tree.name_of_block(user)} that are sums of loops")

    sizes = [size for _, size in footprint]
    first = next(op for op in loop.body.block.ops if any(op.is_ancestor(user) for user in changed))
    at = InsertPoint.before(first)
    local = make_buffer(alloc.buffer.type.element_type, sizes, buffer.name_hint or "buffer", at, alloc)
    for user, variables in changed.items():
        _shift(user, variables, buffer, local, bases)
    remove_buffer(alloc)


def _innermost_loop(accesses: Sequence[Access], alloc: AllocBufferOp, block: BlockOp) -> ForOp:
    """Return the innermost loop around all accesses."""
    around = loop_tree.loops_of(block)
    shared = [loop for loop in around if all(loop.is_ancestor(access.block) for access in accesses)]
    if not shared or shared[-1].is_ancestor(alloc):
        fail(block, f"expected all uses of {name_of(alloc.buffer)} in one loop, inside of its scope")
    return shared[-1]


def _check_private(accesses: Sequence[Access], loop: ForOp, alloc: AllocBufferOp, block: BlockOp) -> None:
    """Fail if elements are carried from one iteration to another."""
    around = [outer for outer in loop_tree.loops_of(block) if outer.is_ancestor(loop) and not outer.is_ancestor(alloc)]
    for write in (access for access in accesses if access.is_write):
        for read in (access for access in accesses if not access.is_write):
            carried = carrying(around, write, read)
            if carried and not any(_is_computed_anew(read, again) for again in accesses if again.is_write):
                fail(
                    block,
                    f"{name_of(alloc.buffer)} carries values across iterations of {loop_tree.label_of(carried[-1])}",
                )


def _is_computed_anew(read: Access, write: Access) -> bool:
    """Return whether a write precedes a read in every iteration of the innermost loop around both, and covers all
    elements that are read there."""
    loop = [around for around in loop_tree.loops_of(write.block) if around.is_ancestor(read.block)][-1]
    steps = list(loop_tree.steps_in(loop))
    if steps.index(write.block) >= steps.index(read.block) or not loop_tree.runs_for_all_values(write.block):
        return False
    if write.in_init or write.op.parent_op() is not write.block:
        return False  # It may not happen in every iteration.
    wanted, given = region_of([read.element], loop), region_of([write.element], loop)
    return all(w is not None and g is not None and g.holds(w) for w, g in zip(wanted, given, strict=True))


def _footprint(accesses: Sequence[Access], loop: ForOp, alloc: AllocBufferOp) -> list[tuple[Index, int | SSAValue]]:
    """Return where the footprint of one iteration begins and its size, by dimension; all of a dimension where no bounds
    are known."""
    region = region_of([access.element for access in accesses], loop)
    return [
        (0, size) if interval is None else (interval.base, interval.extent)
        for interval, size in zip(region, allocated_sizes(alloc), strict=True)
    ]


def _variables_shifted(block: BlockOp, buffer: SSAValue, bases: Sequence[Index]) -> list[BlockArgument]:
    """Return the variables of a block that appear in indices to be shifted."""
    found: dict[BlockArgument, None] = {}
    for access in block_accesses(block, buffer):
        for index, base in zip(access.indices, bases, strict=True):
            if terms_of(base):
                found.update(dict.fromkeys(v for v in values_in(index_of(index)) if isinstance(v, BlockArgument)))
    return [v for v in found if v.owner is block.body.block]


def _shift(
    block: BlockOp, variables: Sequence[BlockArgument], old: SSAValue, new: SSAValue, bases: Sequence[Index]
) -> None:
    """Redirect the accesses of a block to the new buffer, with indices relative to `bases`."""
    block, loops = bind_to_loops(block, variables)
    starts = [replace_atoms(base, lambda atom: loops.get(atom)) for base in bases]  # In variables of the block.
    redirect(block, old, new, lambda indices: [index - start for index, start in zip(indices, starts, strict=True)])


@primitive(TransformLayoutOp)
def transform_layout(block: BlockOp, buffer: tuple[str, int], index_map: AffineMap) -> None:
    """
    Change the layout of a local buffer that a block uses: each element moves to where the map sends its indices. The
    new buffer is large enough for all these places. Sizes that are only known at run time must be sizes of dimensions
    that the map puts somewhere as they are. Blocks that address it by quotients or remainders of sums of loops are
    rebound, with one variable per loop, where that eliminates them.
    """
    old = pick_buffer(block, *buffer)
    alloc = local_buffer(old, block)
    order = _order(index_map)
    old_sizes = allocated_sizes(alloc)
    if order is not None and len(order) == len(old_sizes):
        sizes = [old_sizes[dimension] for dimension in order]
    else:
        sizes = _new_sizes(old, old_sizes, block, index_map)
    users = list(dict.fromkeys(access.block for access in accesses_in(loop_tree.function_of(block), old)))
    new = make_buffer(alloc.buffer.type.element_type, sizes, buffer_name(old), InsertPoint.before(alloc), alloc)
    for user in users:
        _use_layout(user, old, new, index_map)
    remove_buffer(alloc)


def _order(index_map: AffineMap) -> list[int] | None:
    """Return the dimensions in the order in which a map puts them; None if it does anything else."""
    found = [expr.position for expr in index_map.results if isinstance(expr, AffineDimExpr)]
    whole = list(range(index_map.num_dims))
    return found if len(found) == len(index_map.results) and sorted(found) == whole else None


def _new_sizes(
    buffer: SSAValue, old: Sequence[int | SSAValue], block: BlockOp, index_map: AffineMap
) -> list[int | SSAValue]:
    """Return the shape of the new layout. Fail if the map sends an element to a negative place, or two to the same
    place."""
    name = name_of(buffer)
    if index_map.num_dims != len(old):
        fail(block, f"expected a map of {len(old)} indices, as {name} has, found {index_map.num_dims}")
    kept = {d: place for d in range(len(old)) if (place := _place_of(d, index_map)) is not None}
    if any(d not in kept for d, size in enumerate(old) if isinstance(size, SSAValue)):
        fail(block, f"expected {name} to have a shape that is known at compile time")
    shape = [size if isinstance(size, int) else 1 for size in old]
    # A dummy block models all indices of the buffer: its variables range over them.
    everything = BlockOp("all", [IterKind.SPATIAL] * len(shape), shape, [])
    variables = everything.body.block.args
    places = _apply_map(index_map, [IndexExpr.of(variable) for variable in variables], block)
    same = equal_atoms([(place, place) for place in places], everything)
    if any(size > 1 and variable not in same for size, variable in zip(shape, variables, strict=True)):
        fail(block, f"expected a map that puts each element of {name} at a different place")
    # These range over all integers, so that no remainder is taken for its dividend.
    extents = dict(zip(Block(arg_types=[IndexType()] * len(shape)).args, shape, strict=True))
    spans = [_room(place, extents) for place in _apply_map(index_map, [*map(IndexExpr.of, extents)], block)]
    if any(span.low < 0 for span in spans):
        fail(block, f"expected a map to places from 0 on, found {int(min(span.low for span in spans))}")
    sizes = list[int | SSAValue](int(span.high) + 1 for span in spans)
    for d, place in kept.items():
        sizes[place] = old[d]
    return sizes


def _place_of(dimension: int, index_map: AffineMap) -> int | None:
    """Return where a map puts a dimension as it is; None if it uses it in another way, or several times."""
    users = [(place, expr) for place, expr in enumerate(index_map.results) if dimension in expr.used_dims()]
    match users:
        case [(place, AffineDimExpr())]:
            return place
        case _:
            return None


def _room(place: Index, extents: Mapping[BlockArgument, int]) -> Range:
    """Return the places that a layout has room for: remainders by a number take all values below it, even if the buffer
    is too small to need them."""
    room = Range(constant_of(place), constant_of(place))
    for atom, factor in terms_of(place).items():
        match atom:
            case Remainder(divisor=divisor):
                room += Range(0, divisor - 1).scaled(factor)
            case Quotient(dividend=dividend, divisor=divisor):
                room += _room(dividend, extents).divided(divisor).scaled(factor)
            case BlockArgument():
                room += Range(0, extents[atom] - 1).scaled(factor)
            case _:
                return ANYTHING
    return room


def _apply_map(index_map: AffineMap, indices: Sequence[Index], op: Operation) -> list[Index]:
    """Apply a map to indices. Fail at `op` if it has anything but sums, quotients and remainders."""

    def apply(expr: AffineExpr) -> Index:
        match expr:
            case AffineConstantExpr(value):
                return value
            case AffineDimExpr(position):
                return indices[position]
            case AffineBinaryOpExpr(kind, lhs, rhs):
                match kind, apply(lhs), apply(rhs):
                    case AffineBinaryOpKind.Add, left, right:
                        return left + right
                    case (AffineBinaryOpKind.Mul, int(factor), other) | (AffineBinaryOpKind.Mul, other, int(factor)):
                        return other * factor
                    case AffineBinaryOpKind.FloorDiv, left, int(divisor) if divisor > 0:
                        return left // divisor
                    case AffineBinaryOpKind.CeilDiv, left, int(divisor) if divisor > 0:
                        return (left + (divisor - 1)) // divisor
                    case AffineBinaryOpKind.Mod, left, int(divisor) if divisor > 0:
                        return left % divisor
                    case _:
                        pass
            case _:
                pass
        fail(op, f"expected a map of sums, quotients and remainders by numbers, found {expr}")

    return [apply(expr) for expr in index_map.results]


def _use_layout(block: BlockOp, old: SSAValue, new: SSAValue, index_map: AffineMap) -> None:
    """Redirect the accesses of a block to the new buffer, at the places where the map sends the old elements."""
    variables = _variables_divided(block, old, index_map)
    if variables and is_bound_to_loops(block, variables):
        block, _ = bind_to_loops(block, variables)
    redirect(block, old, new, lambda indices: _apply_map(index_map, indices, block))


def _variables_divided(block: BlockOp, buffer: SSAValue, index_map: AffineMap) -> list[BlockArgument]:
    """Return the variables in quotients and remainders that disappear when there is one variable per loop."""
    found: dict[SSAValue, None] = {}
    for access in block_accesses(block):
        if access.buffer is not buffer:
            continue
        by_variable = _apply_map(index_map, [index_of(index) for index in access.indices], block)
        by_loop = _apply_map(index_map, access.element, block)
        if len(_divided(by_loop)) < len(_divided(by_variable)):
            found.update(dict.fromkeys(value for atom in _divided(by_variable) for value in values_in(atom.dividend)))
    return [variable for variable in block.body.block.args if variable in found]


def _divided(forms: Sequence[Index]) -> list[Quotient | Remainder]:
    return [atom for form in forms for atom in terms_of(form) if isinstance(atom, Quotient | Remainder)]
