"""Legality of vectorization: loop-carried dependences."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from relex.dialects.errors import fail, name_of
from relex.dialects.index.from_ir import index_of
from relex.dialects.tir.accesses import Access, accesses
from relex.lowering.vectors.reductions import Reduction
from relex.lowering.vectors.steps import index_step


def check_independent(loop: scf.ForOp, found: Iterable[Reduction]) -> None:
    """Fail at a store to an element that another iteration may access. Different buffers are assumed not to alias."""
    read_by: dict[Operation, Operation] = {r.store: r.load for r in found}
    by_buffer: dict[SSAValue, list[Access]] = {}
    for access in accesses(loop):
        by_buffer.setdefault(access.buffer, []).append(access)
    for group in by_buffer.values():
        for store in (access for access in group if access.is_write):
            for other in group:
                if other is store or other.op is read_by.get(store.op) or _same_lane(loop, store, other):
                    continue
                fail(
                    store.op,
                    f"expected iterations of {name_of(loop.body.block.args[0])} that do not depend on each other, "
                    f"found another access to {name_of(store.buffer)} that may meet this one",
                )


def _same_lane(loop: scf.ForOp, store: Access, other: Access) -> bool:
    """Return whether two accesses can only meet within one iteration: they share an index that varies with the loop."""
    return any(
        index_of(first) == index_of(second) and index_step(first, loop)
        for first, second in zip(store.indices, other.indices, strict=True)
    )
