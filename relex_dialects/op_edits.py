"""Constants, and changes of ops: insertions and replacements by ops that get the location of one that is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.upstream.attributes import INDEX, index_attr

OpT = TypeVar("OpT", bound=Operation)


def index_constant(value: int) -> arith.ConstantOp:
    """Return a constant of type `index`, without the checks that the attribute has passed when it was made."""
    return arith.ConstantOp.create(properties={"value": index_attr(value)}, result_types=(INDEX,))


def index_value(value: int, insert: Callable[[arith.ConstantOp], object]) -> SSAValue:
    """Insert a constant of type `index`, and return its value."""
    op = index_constant(value)
    insert(op)
    return op.result


def insert_before(place: Operation, *new: OpT) -> OpT:
    """Insert ops before another one, at its source location, and return the last of them."""
    for op in new:
        op.location = place.location
    Rewriter.insert_op(new, InsertPoint.before(place))
    return new[-1]


def replace_by(op: Operation, *new: Operation) -> None:
    """Replace an op by others, at its source location. The last of them has its results, which keep their names."""
    results = insert_before(op, *new).results
    for old, result in zip(op.results, results, strict=True):
        result.name_hint = old.name_hint
    Rewriter.replace_op(op, [], results)


def with_types(op: Operation, operands: Sequence[SSAValue], results: Sequence[Attribute]) -> Operation:
    """Return a copy of an op with other operands and result types, to which its regions are moved."""
    regions = [op.detach_region(region) for region in [*op.regions]]
    new = type(op).create(
        operands=operands,
        result_types=results,
        properties=op.properties,
        attributes=op.attributes,
        successors=op.successors,
        regions=regions,
    )
    new.location = op.location
    return new


def terminator_of(block: Block) -> Operation:
    """Return the last op of a block, which has one."""
    end = block.last_op
    assert end is not None
    return end


def before_end(block: Block) -> Builder:
    """Return a builder before the last op of a block."""
    return Builder(InsertPoint.before(terminator_of(block)))
