"""Domains of the index variables of loops and blocks."""

from __future__ import annotations

from functools import cache
from math import inf
from typing import cast

from xdsl.dialects import arith, memref, scf, tensor
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import ConstantLike

from relex.dialects.index.atoms import Atom
from relex.dialects.index.ranges import ANYTHING, Range

_SIZES = {memref.DimOp, tensor.DimOp}
_SIZE = Range(0, inf)


class Counting:
    """An op with index variables that count from 0 up to an extent: a loop or a block in a loop nest.

    The analyses of bounds and dependences rely on it, for ops of any dialect.
    """

    def extent_of(self, variable: BlockArgument) -> int | SSAValue:
        """Return the extent of one of its variables."""
        raise NotImplementedError


def constant_value(value: SSAValue) -> int | None:
    """Return the integer value of a constant; None for other values."""
    if type(value) is BlockArgument:
        return None
    owner = value.owner
    if not _may_be_constant(type(owner)):
        return None
    # Most constants are of `arith`: asking the trait takes ten times as long.
    attr = owner.value if type(owner) is arith.ConstantOp else ConstantLike.get_constant_value(value)
    return attr.value.data if type(attr) is IntegerAttr else None


@cache
def _may_be_constant(kind: type[Operation | Block]) -> bool:
    # Ops are of few classes, and most values are no constants.
    return issubclass(kind, Operation) and kind.has_trait(ConstantLike)


def is_same_value(a: SSAValue, b: SSAValue) -> bool:
    """Return whether two integers are the same value, or equal constants."""
    return a is b or ((value := constant_value(a)) is not None and value == constant_value(b))


def extent_of(atom: Atom) -> int | SSAValue | None:
    """Return the extent up to which a loop or block variable counts from 0; None for anything else."""
    if type(atom) is not BlockArgument:
        return None
    # Asked often: accessors of xDSL, and `isinstance` of abstract classes, take several times as long.
    region = atom.block.parent
    op = None if region is None else region.parent
    return cast(Counting, op).extent_of(atom) if op is not None and _counts(type(op)) else None


@cache
def _counts(kind: type[Operation]) -> bool:
    return issubclass(kind, Counting)


def domain_of(value: SSAValue) -> Range:
    """Return bounds of a loop or block variable; a size is not negative, any other value is unbounded."""
    if type(value) is not BlockArgument:
        return _SIZE if type(value.owner) in _SIZES else ANYTHING
    if (extent := extent_of(value)) is not None:
        return Range(0, extent - 1 if isinstance(extent, int) else inf)
    match value.owner.parent_op():
        case scf.ForOp(lb=lb, ub=ub, step=step) as loop if value is loop.body.block.args[0]:
            return _domain_of_for(constant_value(lb), constant_value(ub), constant_value(step))
        case scf.ParallelOp(lowerBound=lower, upperBound=upper, step=step):
            return _domain_of_for(*(constant_value(values[value.index]) for values in (lower, upper, step)))
        case _:
            return ANYTHING


def _domain_of_for(start: int | None, end: int | None, step: int | None) -> Range:
    if start is None or step is None or step <= 0:
        return ANYTHING
    if end is None:
        return Range(start, inf)
    return Range(start, start + (max(end - start, 1) - 1) // step * step)
