"""Legality of vectorization: loop-carried dependences."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import scf
from xdsl.ir import Operation

from relex.dialects.errors import fail, name_of
from relex.dialects.tir.accesses import accesses
from relex.dialects.walks import ancestors
from relex.lowering.vectors.reduction_updates import ReductionUpdate
from relex.passes.analysis.dependence import may_conflict


def check_independent(loop: scf.ForOp, found: Iterable[ReductionUpdate]) -> None:
    """Fail at a store to an element that another iteration may access. Different buffers are assumed not to alias."""
    variable, scope = loop.body.block.args[0], loop.parent_op()
    assert scope is not None
    read_by: dict[Operation, Operation] = {r.store: r.load for r in found}
    written = {access.buffer for access in accesses(loop) if access.is_write}
    everything = [access for access in accesses(loop) if access.buffer in written]
    for store in (access for access in everything if access.is_write):
        for other in (access for access in everything if access.buffer is store.buffer):
            if other.op is read_by.get(store.op):
                continue
            if other is store and (store.op in read_by or not in_loop(store.op, loop)):
                continue  # The lanes of one store keep their order.
            if may_conflict(store, other, scope, [(variable, variable)]):
                fail(
                    store.op,
                    f"expected iterations of {name_of(variable)} that do not depend on each other, "
                    f"found another access to {name_of(store.buffer)} that may conflict with this one",
                )


def in_loop(op: Operation, scope: scf.ForOp) -> bool:
    """Return whether another loop is between an op and the loop `scope`."""
    return next((around for around in ancestors(op) if isinstance(around, scf.ForOp)), scope) is not scope
