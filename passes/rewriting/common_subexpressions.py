"""Values that are computed again."""

from __future__ import annotations

from functools import cache

from xdsl.ir import Operation
from xdsl.traits import Pure
from xdsl.transforms.common_subexpression_elimination import CSEDriver

from relex.dialects.tir import PrimFuncOp


def share_equal_values(function: PrimFuncOp) -> None:
    """Let a loop function compute each value once, where it was computed before."""
    _Driver().simplify(function)


class _Driver(CSEDriver):
    """Looks at loops and blocks from inside alone: they have no results, and whether one has effects would be found by
    looking through all of it, again in each loop around it."""

    def _simplify_operation(self, op: Operation) -> None:
        if not _is_arithmetic(type(op)):
            if op.results or not op.regions:
                super()._simplify_operation(op)
        elif not any(result.uses for result in op.results):
            self._mark_erasure(op)
        elif existing := self._known_ops.get(op):
            self._replace_and_delete(op, existing)
        else:
            self._known_ops[op] = op


@cache
def _is_arithmetic(kind: type[Operation]) -> bool:
    # Most ops that may be shared are: xDSL asks for the effects of each op.
    return kind.dialect_name() == "arith" and kind.has_trait(Pure)
