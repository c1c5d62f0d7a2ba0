"""Tensors that loops carry and that each trip appends to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue, Use

from relex.dialects.dtypes import SUB_BYTE
from relex.dialects.op_edits import terminator_of
from relex.dialects.relex.match_sizes import MatchSizesOp
from relex.dialects.relex.operator import AlongAxis, tensor_type
from relex.dialects.walks import ancestors, reachable

_CONCAT = "relex.concat"


def grows_in_loop(op: AlongAxis) -> bool:
    """Return whether an op joins further rows to a tensor that a loop carries, for the next trip to carry: with memory
    to spare, what is there already needs not be copied. Rows are along the first dimension that is not 1."""
    first, kind = op.operands[0], tensor_type(op.operands[0].type)
    shape = kind.get_shape()
    if shape[op.normal_axis] != DYNAMIC_INDEX or any(size != 1 for size in shape[: op.normal_axis]):
        return False
    loops = [loop for loop in ancestors(op) if isinstance(loop, scf.ForOp | scf.WhileOp)]
    if not loops or kind.element_type in SUB_BYTE:
        return False
    carried = (pair for loop in loops for pair in _carried(loop))
    return any(
        first in reachable(value, grown) and following in reachable(op.results[0], grown)
        for value, following in carried
    )


def _carried(loop: scf.ForOp | scf.WhileOp) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Yield what a trip of a loop carries, and what it passes on in its place: an operand of the end of the trip."""
    if isinstance(loop, scf.ForOp):
        yield from zip(loop.body.block.args[1:], terminator_of(loop.body.block).operands, strict=True)
    else:
        yield from zip(loop.before_region.block.args, terminator_of(loop.after_region.block).operands, strict=True)


def grown(value: SSAValue) -> Iterator[SSAValue]:
    """Yield what begins with the rows of a tensor, up to the end of a trip."""
    for use in value.uses:
        yield from _followed_by(use)


def _followed_by(use: Use) -> Sequence[SSAValue]:
    op: Operation = use.operation
    parent = op.parent_op()
    match op:
        case tensor.CastOp() | MatchSizesOp():
            return op.results
        case AlongAxis() if op.name == _CONCAT:
            return op.results if use.index == 0 else ()
        case scf.YieldOp() if isinstance(parent, scf.IfOp | scf.IndexSwitchOp):
            return [parent.results[use.index]]
        case scf.ConditionOp() if isinstance(parent, scf.WhileOp) and use.index > 0:
            return [parent.after_region.block.args[use.index - 1]]
        case _:
            return ()
