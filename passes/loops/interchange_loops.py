"""Put the loops of hand-written nests into the order of the dimensions of the buffers."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain
from math import inf

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from relex.dialects.errors import PassError
from relex.dialects.function_arguments import SCHEDULED_ATTR
from relex.dialects.index.domains import constant_value
from relex.dialects.index.expr import values_in
from relex.dialects.tir import BlockOp, ForOp, IterKind
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.hand_written import hand_written
from relex.passes.analysis.loop_tree import blocks_in, variables_of_kind
from relex.passes.cpu.reduction_nest import loops_alone
from relex.passes.driver.base import RelexPass
from relex.passes.schedule.nests import reorder


class InterchangeLoopsPass(RelexPass):
    """
    Puts the loops around a block into the order of the dimensions that they index: first the dimensions of the element
    that the block writes, then the dimensions of the elements that it reads alone, as the loops of graph operators are.
    The default schedule starts from this order, and memory is accessed side by side in the innermost loop, as far as it
    can be.

    This is for serial loops that hold one block and nothing else, each of which is a variable of the block. Loops that
    may not change places stay, such as two that carry a sum without `reassoc`; so do split loops, whose order somebody
    has chosen.

    ```mlir
    tir.for %k, %i, %j in (64, 8, 16) {
      tir.block @Y (%vi: spatial<8> = %i, %vj: spatial<16> = %j, %vk: reduce<64> = %k) {
        ... // y[i, j] += x[i, k] * w[j, k]
      }
    }
    // interchange-loops
    tir.for %i, %j, %k in (8, 16, 64) {
      tir.block @Y (%vi: spatial<8> = %i, %vj: spatial<16> = %j, %vk: reduce<64> = %k) {
        ... // y[i, j] += x[i, k] * w[j, k]
      }
    }
    ```
    """

    name = "interchange-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in hand_written(op):
            for block in [] if SCHEDULED_ATTR in function.attributes else [*blocks_in(function)]:
                with suppress(PassError):
                    _interchange(block)


def _interchange(block: BlockOp) -> None:
    """Put the loops around a block into order. Raises `PassError` if they have to stay."""
    loops = loops_alone(block)
    variables = [loop.variable for loop in loops]
    bindings = [binding for binding in block.bindings if constant_value(binding) is None]
    if len(bindings) != len(variables) or {*bindings} != {*variables}:
        return
    reduced = variables_of_kind(block, IterKind.REDUCE)
    order = _in_order_of_dimensions(block, loops)
    in_steps = [loop for loop in order if loop.variable not in reduced]
    try:
        _put(loops, order)
    except PassError:
        _put(loops, in_steps + [loop for loop in loops if loop.variable in reduced])


def _in_order_of_dimensions(block: BlockOp, loops: list[ForOp]) -> list[ForOp]:
    """Return the loops around a block in the order of the indices that use them: first indices of what the block
    writes, then of what it reads."""
    accesses = sorted(block_accesses(block), key=lambda access: not access.is_write)
    first: dict[SSAValue, int] = {}
    for i, index in enumerate(chain.from_iterable(access.element for access in accesses)):
        for value in values_in(index):
            first.setdefault(value, i)
    return sorted(loops, key=lambda loop: first.get(loop.variable, inf))


def _put(loops: list[ForOp], order: list[ForOp]) -> None:
    if order != loops:
        reorder(*order)
