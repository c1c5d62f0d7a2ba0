"""Values that are computed again."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.transforms.common_subexpression_elimination import CSEDriver

from relex.dialects.tir import PrimFuncOp


def share_equal_values(function: PrimFuncOp) -> None:
    """Let a loop function compute each value once, where it was computed before."""
    _Driver().simplify(function)


class _Driver(CSEDriver):
    """Looks at loops and blocks from inside alone: they have no results, and whether one has effects would be found by
    looking through all of it, again in each loop around it."""

    def _simplify_operation(self, op: Operation) -> None:
        if op.results or not op.regions:
            super()._simplify_operation(op)
