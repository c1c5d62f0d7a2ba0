"""`transform_layout`: change the layout of a local buffer."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.errors import fail, name_of
from relex.dialects.index.expr import Index, IndexExpr, Quotient, Remainder, constant_of, terms_of, values_in
from relex.dialects.index.from_ir import index_of
from relex.dialects.index.span import ANYTHING, Span
from relex.dialects.schedule.blocks import TransformLayoutOp
from relex.dialects.tir import BlockOp, IterKind
from relex.passes.analysis.buffers import accesses_in, buffer_name, local_buffer, pick_buffer
from relex.passes.analysis.dependence import block_accesses, equal_atoms
from relex.passes.analysis.loop_tree import function_of
from relex.passes.schedule.rebind import bind_to_loops, is_bound_to_loops, set_indices
from relex.passes.schedule.table import primitive
from relex.passes.support.buffer_edits import make_buffer
from relex.passes.support.index_arithmetic import remove_unused


@primitive(TransformLayoutOp)
def transform_layout(block: BlockOp, buffer: tuple[str, int], index_map: AffineMap) -> None:
    """
    Change the layout of a local buffer that a block uses: each element moves to where the map sends its indices. The
    new buffer is large enough for all these places. Blocks that address it by quotients or remainders of sums of loops
    are rebound, with one variable per loop, where that eliminates them.
    """
    old = pick_buffer(block, *buffer)
    alloc = local_buffer(old, block)
    sizes = _new_sizes(old, list(alloc.buffer.type.get_shape()), block, index_map)
    users = list(dict.fromkeys(access.block for access in accesses_in(function_of(block), old)))
    new = make_buffer(alloc.buffer.type.element_type, sizes, buffer_name(old), InsertPoint.before(alloc), alloc)
    for user in users:
        _use_layout(user, old, new, index_map)
    Rewriter.erase_op(alloc)


def _new_sizes(buffer: SSAValue, shape: Sequence[int], block: BlockOp, index_map: AffineMap) -> list[int]:
    """Return the shape of the new layout. Fail if the map sends an element to a negative place, or two to the same
    place."""
    name = name_of(buffer)
    if index_map.num_dims != len(shape):
        fail(block, f"expected a map of {len(shape)} indices, as {name} has, found {index_map.num_dims}")
    if DYNAMIC_INDEX in shape:
        fail(block, f"expected {name} to have a shape that is known at compile time")
    # A dummy block models all indices of the buffer: its variables range over them.
    everything = BlockOp("all", [IterKind.SPATIAL] * len(shape), shape, [])
    variables = everything.body.block.args
    places = apply_map(index_map, [IndexExpr.of(variable) for variable in variables], block)
    same = equal_atoms([(place, place) for place in places], everything)
    if any(size > 1 and variable not in same for size, variable in zip(shape, variables, strict=True)):
        fail(block, f"expected a map that puts each element of {name} at a place of its own")
    spans = [_room(expr, shape) for expr in index_map.results]
    if any(span.low < 0 for span in spans):
        fail(block, f"expected a map to places from 0 on, found {int(min(span.low for span in spans))}")
    return [int(span.high) + 1 for span in spans]


def _room(expr: AffineExpr, shape: Sequence[int]) -> Span:
    """Return the places that a layout has room for: remainders by a number take all values below it, even if the buffer
    is too small to need them."""
    match expr:
        case AffineConstantExpr(value):
            return Span(value, value)
        case AffineDimExpr(position):
            return Span(0, shape[position] - 1)
        case AffineBinaryOpExpr(AffineBinaryOpKind.Add, lhs, rhs):
            return _room(lhs, shape) + _room(rhs, shape)
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mul, AffineConstantExpr(factor), other):
            return _room(other, shape).scaled(factor)
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mul, other, AffineConstantExpr(factor)):
            return _room(other, shape).scaled(factor)
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mod, _, AffineConstantExpr(divisor)):
            return Span(0, divisor - 1)
        case AffineBinaryOpExpr(AffineBinaryOpKind.FloorDiv, lhs, AffineConstantExpr(divisor)):
            span = _room(lhs, shape)
            return Span(span.low // divisor, span.high // divisor)
        case AffineBinaryOpExpr(AffineBinaryOpKind.CeilDiv, lhs, AffineConstantExpr(divisor)):
            span = _room(lhs, shape)
            return Span(-(-span.low // divisor), -(-span.high // divisor))
        case _:
            return ANYTHING


def apply_map(index_map: AffineMap, indices: Sequence[Index], op: Operation) -> list[Index]:
    """Apply a map to indices. Fail at `op` if it has anything but sums, quotients and remainders."""

    def evaluate(expr: AffineExpr) -> Index:
        match expr:
            case AffineConstantExpr(value):
                return value
            case AffineDimExpr(position):
                return indices[position]
            case AffineBinaryOpExpr(kind, lhs, rhs):
                return combine(kind, evaluate(lhs), evaluate(rhs))
            case _:
                fail(op, f"expected a map of sums, quotients and remainders, found {expr}")

    def combine(kind: AffineBinaryOpKind, left: Index, right: Index) -> Index:
        if kind is AffineBinaryOpKind.Add:
            return left + right
        if kind is AffineBinaryOpKind.Mul and not terms_of(left):
            return right * constant_of(left)
        if terms_of(right) or (kind is not AffineBinaryOpKind.Mul and constant_of(right) < 1):
            fail(op, "expected a map of sums, quotients and remainders, found an operation on two indices")
        match kind:
            case AffineBinaryOpKind.Mul:
                return left * constant_of(right)
            case AffineBinaryOpKind.FloorDiv:
                return left // constant_of(right)
            case AffineBinaryOpKind.CeilDiv:
                return (left + (constant_of(right) - 1)) // constant_of(right)
            case AffineBinaryOpKind.Mod:
                return left % constant_of(right)

    return [evaluate(expr) for expr in index_map.results]


def _use_layout(block: BlockOp, old: SSAValue, new: SSAValue, index_map: AffineMap) -> None:
    """Redirect the accesses of a block to the new buffer, at the places where the map sends the old elements."""
    variables = _variables_to_bind(block, old, index_map)
    if variables and is_bound_to_loops(block, variables):
        block, _ = bind_to_loops(block, variables)
    for access in block_accesses(block):
        if access.buffer is old:
            indices = [index_of(index) for index in access.access.indices]
            set_indices(access.access.op, new, apply_map(index_map, indices, block))
    remove_unused(list(block.walk()))


def _variables_to_bind(block: BlockOp, buffer: SSAValue, index_map: AffineMap) -> list[BlockArgument]:
    """Return the variables in quotients and remainders that disappear when there is one variable per loop."""
    found: dict[SSAValue, None] = {}
    for access in block_accesses(block):
        if access.buffer is not buffer:
            continue
        by_variable = apply_map(index_map, [index_of(index) for index in access.access.indices], block)
        by_loop = apply_map(index_map, access.element, block)
        if len(_divided(by_loop)) < len(_divided(by_variable)):
            found.update(dict.fromkeys(value for atom in _divided(by_variable) for value in values_in(atom.dividend)))
    return [variable for variable in block.body.block.args if variable in found]


def _divided(forms: Sequence[Index]) -> list[Quotient | Remainder]:
    return [atom for form in forms for atom in terms_of(form) if isinstance(atom, Quotient | Remainder)]
