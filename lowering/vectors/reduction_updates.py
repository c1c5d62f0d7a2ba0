"""Reductions over the iterations of a loop: elements that every iteration updates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.ir import Operation, SSAValue

from relex.dialects.fast_math import may_reassociate
from relex.dialects.index.from_ir import index_of
from relex.passes.analysis.reduction_order import identity_of

KINDS: dict[type[Operation], CombiningKindFlag] = {
    arith.AddfOp: CombiningKindFlag.ADD,
    arith.AddiOp: CombiningKindFlag.ADD,
    arith.AndIOp: CombiningKindFlag.AND,
    arith.MaximumfOp: CombiningKindFlag.MAXIMUMF,
    arith.MaxnumfOp: CombiningKindFlag.MAXNUMF,
    arith.MaxSIOp: CombiningKindFlag.MAXSI,
    arith.MaxUIOp: CombiningKindFlag.MAXUI,
    arith.MinimumfOp: CombiningKindFlag.MINIMUMF,
    arith.MinnumfOp: CombiningKindFlag.MINNUMF,
    arith.MinSIOp: CombiningKindFlag.MINSI,
    arith.MinUIOp: CombiningKindFlag.MINUI,
    arith.MulfOp: CombiningKindFlag.MUL,
    arith.MuliOp: CombiningKindFlag.MUL,
    arith.OrIOp: CombiningKindFlag.OR,
    arith.XOrIOp: CombiningKindFlag.XOR,
}
"""Combining kinds by op, including sums and products of floats: without `reassoc` those are computed in order."""


@dataclass(frozen=True)
class ReductionUpdate:
    """An update `buffer[indices] = combine(buffer[indices], term)` whose load and combined value have no other uses."""

    load: memref.LoadOp
    combine: Operation
    term: SSAValue
    store: memref.StoreOp

    @property
    def kind(self) -> CombiningKindFlag:
        """The combining kind of the update."""
        return KINDS[type(self.combine)]

    @property
    def identity(self) -> float:
        """The neutral element of the combining op."""
        identity = identity_of(self.combine)
        assert identity is not None
        return identity

    @property
    def flags(self) -> arith.FastMathFlagsAttr | None:
        """The fast-math flags of the combining op, if it has any."""
        flags = self.combine.get_attr_or_prop("fastmath")
        return flags if isinstance(flags, arith.FastMathFlagsAttr) else None

    @property
    def ordered(self) -> bool:
        """True if the terms must be combined in program order."""
        return isinstance(self.combine, arith.AddfOp | arith.MulfOp) and not may_reassociate(self.combine)


def reductions(loop: scf.ForOp) -> Iterator[ReductionUpdate]:
    """Yield the reductions in a loop, including those in nested loops."""
    for op in loop.walk():
        if isinstance(op, memref.StoreOp) and (found := _reduction(op)) is not None:
            yield found


def _reduction(store: memref.StoreOp) -> ReductionUpdate | None:
    combine = store.value.owner
    if not isinstance(combine, Operation) or combine.parent is not store.parent:
        return None
    if type(combine) not in KINDS or not store.value.has_one_use():
        return None
    for old, term in (combine.operands, reversed(combine.operands)):
        load = old.owner
        if isinstance(load, memref.LoadOp) and _reads_what_is_written(load, store) and old.has_one_use():
            return ReductionUpdate(load, combine, term, store)
    return None


def _reads_what_is_written(load: memref.LoadOp, store: memref.StoreOp) -> bool:
    """Return whether both access the same element. Their indices may have been computed one by one."""
    if load.memref is not store.memref or load.parent is not store.parent:
        return False
    return all(index_of(old) == index_of(new) for old, new in zip(load.indices, store.indices, strict=True))
