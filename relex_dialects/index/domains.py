"""Which values the index variables of loops and blocks take."""

from __future__ import annotations

from math import inf

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import BlockArgument, SSAValue
from xdsl.traits import ConstantLike

from relex.dialects.index.expr import Atom
from relex.dialects.index.span import ANYTHING, Span


class Counting:
    """An op with index variables that count from 0 up to an extent: a loop or a block of loops.

    Bounds of expressions and dependences between accesses are found by it, of ops of any dialect.
    """

    def extent_of(self, variable: BlockArgument) -> int | SSAValue:
        """How far one of its variables counts."""
        raise NotImplementedError


def constant_value(value: SSAValue) -> int | None:
    """The integer that a constant is; None for other values."""
    attr = ConstantLike.get_constant_value(value)
    return attr.value.data if isinstance(attr, IntegerAttr) else None


def is_same_value(a: SSAValue, b: SSAValue) -> bool:
    """Whether two integers are one value, or equal constants."""
    return a is b or ((value := constant_value(a)) is not None and value == constant_value(b))


def extent_of(atom: Atom) -> int | SSAValue | None:
    """How far the variable of a loop or block counts from 0; None for all else."""
    if not isinstance(atom, BlockArgument):
        return None
    op = atom.owner.parent_op()
    return op.extent_of(atom) if isinstance(op, Counting) else None


def domain_of(value: SSAValue) -> Span:
    """Bounds of the values that a variable of a loop or block takes; any other value may be anything."""
    if not isinstance(value, BlockArgument):
        return ANYTHING
    if (extent := extent_of(value)) is not None:
        return Span(0, extent - 1 if isinstance(extent, int) else inf)
    match value.owner.parent_op():
        case scf.ForOp(lb=lb, ub=ub, step=step) as loop if value is loop.body.block.args[0]:
            return _domain_of_for(constant_value(lb), constant_value(ub), constant_value(step))
        case _:
            return ANYTHING


def _domain_of_for(start: int | None, end: int | None, step: int | None) -> Span:
    if start is None or step is None or step <= 0:
        return ANYTHING
    if end is None:
        return Span(start, inf)
    return Span(start, start + (max(end - start, 1) - 1) // step * step)
