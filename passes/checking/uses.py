"""
The uses of elements that are read.

If an element only serves to compute elements of a local buffer, it is needed only where these are read. A read that
merely updates such an element, as a sum does, does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free

from relex.dialects.index.constraints import System, same
from relex.dialects.index.domains import is_same_value
from relex.dialects.tir import AllocBufferOp
from relex.dialects.tir.accesses import Access
from relex.passes.analysis.buffer_accesses import element_in
from relex.passes.analysis.iteration_systems import Instance
from relex.passes.analysis.loop_tree import may_trap


@dataclass(frozen=True)
class Use:
    """Why an element that is read is needed: for certain, or because `reader` reads what `store` computes from it."""

    store: Access | None = None
    reader: Access | None = None

    def require_in(self, run: Instance) -> None:
        """Add to a run of the read the condition that its result is read."""
        if self.store is None or self.reader is None:
            return
        home = self.store.buffer.owner.parent_op()
        assert home is not None
        later = Instance(self.reader.op, run, home)
        pairs = zip(element_in(self.store, run), element_in(self.reader, later), strict=True)
        later.require(System(tuple(same(a, b) for a, b in pairs)))
        run.require(later.system)


def uses_of(read: Access, everything: Sequence[Access]) -> list[Use]:
    """Return the uses of the element that an op reads, given all accesses of the function."""
    stores = _stores_of(read.op, everything)
    if not stores or not all(isinstance(store.buffer.owner, AllocBufferOp) for store in stores):
        return [Use()]
    return [
        Use(store, touch)
        for store in stores
        for touch in everything
        if touch.buffer is store.buffer and not touch.is_write and not _feeds_back(touch, store, everything)
    ]


def _stores_of(load: Operation, everything: Sequence[Access]) -> list[Access]:
    """Return the stores that are the only uses of a loaded element; empty if there are other uses."""
    if not isinstance(load, memref.LoadOp):
        return []
    stores: set[Operation] = set()
    values: list[SSAValue] = [load.res]
    for value in values:
        for use in value.uses:
            op = use.operation
            if isinstance(op, memref.StoreOp) and op.value is value and value not in op.indices:
                stores.add(op)
            elif is_side_effect_free(op) and not op.regions and not may_trap(op):
                values += [result for result in op.results if result not in values]
            else:
                return []
    if any(op.parent_block() is not load.parent_block() for op in stores):
        return []
    return [touch for touch in everything if touch.op in stores]


def _feeds_back(read: Access, store: Access, everything: Sequence[Access]) -> bool:
    """Return whether an element is only read to be updated by a store."""
    if [touch.op for touch in _stores_of(read.op, everything)] != [store.op]:
        return False
    return all(map(is_same_value, read.indices, store.indices))
