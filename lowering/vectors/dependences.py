"""Whether the iterations of a loop may run side by side."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from relex.dialects.errors import fail, name_of
from relex.dialects.tir.accesses import Access, accesses
from relex.dialects.tir.ranges import linear_form
from relex.lowering.vectors.reductions import Reduction
from relex.lowering.vectors.steps import index_step


def check_independent(loop: scf.ForOp, length: int, found: Iterable[Reduction]) -> None:
    """Fail at a store to a place that another iteration may touch. Different buffers are taken to lie apart."""
    read_by: dict[Operation, Operation] = {r.store: r.load for r in found}
    by_buffer: dict[SSAValue, list[Access]] = {}
    for access in accesses(loop):
        by_buffer.setdefault(access.buffer, []).append(access)
    for group in by_buffer.values():
        for store in (access for access in group if access.is_write):
            for other in group:
                if other is store or other.op is read_by.get(store.op) or _same_lane(loop, length, store, other):
                    continue
                fail(
                    store.op,
                    f"expected iterations of {name_of(loop.body.block.args[0])} that do not depend on each other, "
                    f"found another access to {name_of(store.buffer)} that may meet this one",
                )


def _same_lane(loop: scf.ForOp, length: int, store: Access, other: Access) -> bool:
    """Whether two accesses can meet within one iteration only: an index of both tells the iterations apart."""
    return any(
        linear_form(first) == linear_form(second) and index_step(first, loop, length)
        for first, second in zip(store.indices, other.indices, strict=True)
    )
