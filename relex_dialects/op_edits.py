"""Changes of ops: insertion, and replacement by others, which get the source location of an op that is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

OpT = TypeVar("OpT", bound=Operation)


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
