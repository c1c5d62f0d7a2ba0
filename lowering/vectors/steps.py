"""By how much an index grows from one iteration of a loop to the next."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Dialect, Operation, SSAValue

from relex.dialects.tir.ranges import Linear, constant_value, linear_form


def index_step(value: SSAValue, loop: scf.ForOp, length: int) -> int | None:
    """The step of an index in a loop, where it is a constant and nothing else in the loop changes the index."""
    if value is loop.body.block.args[0]:
        return 1
    op = value.owner
    if not loop.is_ancestor(op):
        return 0
    if not isinstance(op, Operation) or Dialect.split_name(op.name)[0] != "arith":
        return None
    steps = [index_step(operand, loop, length) for operand in op.operands]
    return step_of(op, steps, loop, length) if any(step != 0 for step in steps) else 0


def step_of(op: Operation, steps: Sequence[int | None], loop: scf.ForOp, length: int) -> int | None:
    """The step of the index that an op computes from operands with these steps."""
    if len(steps) != 2 or op.results[0].type != IndexType():
        return None
    left, right = steps
    if left is None or right is None:
        return None
    match op:
        case arith.AddiOp():
            return left + right
        case arith.SubiOp():
            return left - right
        case arith.MuliOp(lhs=lhs, rhs=rhs):
            factor = constant_value(rhs) if right == 0 else constant_value(lhs) if left == 0 else None
            return factor * (left or right) if factor is not None else None
        case arith.FloorDivSIOp() | arith.DivSIOp() | arith.DivUIOp():
            return 0 if _stays_in_one_multiple(op, loop, length) else None
        case arith.RemSIOp() | arith.RemUIOp():
            return left if _stays_in_one_multiple(op, loop, length) else None
        case _:
            return None


def _stays_in_one_multiple(
    op: arith.FloorDivSIOp | arith.DivSIOp | arith.DivUIOp | arith.RemSIOp | arith.RemUIOp, loop: scf.ForOp, length: int
) -> bool:
    """Whether the dividend lies between the same two multiples of the divisor in all iterations.

    So `(16 * i + j) / 32` is the same for all `j` below 16, and `(16 * i + j) % 32` grows with `j`.
    """
    divisor, start = constant_value(op.rhs), constant_value(loop.lb)
    if divisor is None or divisor <= 0 or start is None:
        return False
    form = linear_form(op.lhs)
    variable = loop.body.block.args[0]
    step = form.factors.get(variable, 0)
    others = [factor for term, factor in form.factors.items() if term is not variable]
    room = gcd(divisor, form.constant + step * start, *others)
    in_room = step > 0 and step * (length - 1) < room
    return in_room and (isinstance(op, arith.FloorDivSIOp) or _is_natural(form))


def _is_natural(form: Linear) -> bool:
    """Whether a sum of loop variables is never negative."""
    terms = [term for term, factor in form.factors.items() if factor]
    return form.constant >= 0 and all(form.factors[term] > 0 and _counts_from_zero(term) for term in terms)


def _counts_from_zero(value: SSAValue) -> bool:
    block = value.owner
    loop = block.parent_op() if isinstance(block, Block) else None
    if not isinstance(loop, scf.ForOp) or value is not loop.body.block.args[0]:
        return False
    start, step = constant_value(loop.lb), constant_value(loop.step)
    return start is not None and start >= 0 and step is not None and step > 0
