"""Values that are computed again."""

from __future__ import annotations

from functools import cache

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue
from xdsl.traits import Pure
from xdsl.transforms.common_subexpression_elimination import CSEDriver

from relex.dialects.tir import PrimFuncOp
from relex.dialects.tir.indices import known_size


def share_equal_values(function: PrimFuncOp) -> None:
    """Let a loop function compute each value once, where it was computed before. Sizes that it states to be equal are
    one value."""
    _Driver().simplify(function)


class _Driver(CSEDriver):
    """Looks at loops and blocks from inside alone: they have no results, and whether one has effects would be found by
    looking through all of it, again in each loop around it."""

    def __init__(self) -> None:
        super().__init__()
        self._sizes: dict[str, SSAValue] = {}

    def _simplify_operation(self, op: Operation) -> None:
        if isinstance(op, memref.DimOp) and op.result.uses and self._share_size(op):
            return
        if not _is_arithmetic(type(op)):
            if op.results or not op.regions:
                super()._simplify_operation(op)
        elif not any(result.uses for result in op.results):
            self._mark_erasure(op)
        elif existing := self._known_ops.get(op):
            self._replace_and_delete(op, existing)
        else:
            self._known_ops[op] = op

    def _share_size(self, op: memref.DimOp) -> bool:
        """Replace a size by the first one of the same name, if there is one before. Return whether there is."""
        name = known_size(op.result)
        if not isinstance(name, str):
            return False
        if (known := self._sizes.get(name)) is None:
            if isinstance(op.parent_op(), PrimFuncOp):  # What follows, loops included, may use it.
                self._sizes[name] = op.result
            return False
        op.result.replace_all_uses_with(known)
        self._mark_erasure(op)
        return True


@cache
def _is_arithmetic(kind: type[Operation]) -> bool:
    # Most ops that may be shared are: xDSL asks for the effects of each op.
    return kind.dialect_name() == "arith" and kind.has_trait(Pure)
