"""Sums and the like over the iterations of a loop: places that every iteration updates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, nan

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerType
from xdsl.dialects.utils import FastMathFlag
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa


@dataclass(frozen=True)
class Combiner:
    """How a reduction combines two values: the kind of `vector.reduction`, and what changes no value."""

    kind: CombiningKindFlag
    identity: float


COMBINERS: dict[type[Operation], Combiner] = {
    arith.AddfOp: Combiner(CombiningKindFlag.ADD, -0.0),
    arith.AddiOp: Combiner(CombiningKindFlag.ADD, 0),
    arith.AndIOp: Combiner(CombiningKindFlag.AND, -1),
    arith.MaximumfOp: Combiner(CombiningKindFlag.MAXIMUMF, -inf),
    arith.MaxnumfOp: Combiner(CombiningKindFlag.MAXNUMF, nan),
    arith.MinimumfOp: Combiner(CombiningKindFlag.MINIMUMF, inf),
    arith.MinnumfOp: Combiner(CombiningKindFlag.MINNUMF, nan),
    arith.MulfOp: Combiner(CombiningKindFlag.MUL, 1.0),
    arith.MuliOp: Combiner(CombiningKindFlag.MUL, 1),
    arith.OrIOp: Combiner(CombiningKindFlag.OR, 0),
    arith.XOrIOp: Combiner(CombiningKindFlag.XOR, 0),
}
"""Sums and products of floats among them: without `reassoc` they are computed in order."""

LIMITS: dict[type[Operation], tuple[CombiningKindFlag, bool]] = {
    arith.MaxSIOp: (CombiningKindFlag.MAXSI, True),
    arith.MinSIOp: (CombiningKindFlag.MINSI, True),
    arith.MaxUIOp: (CombiningKindFlag.MAXUI, False),
    arith.MinUIOp: (CombiningKindFlag.MINUI, False),
}
"""Largest and smallest integers, and whether they have signs; what changes no value depends on the type."""


@dataclass(frozen=True)
class Reduction:
    """`buffer[indices] = combine(buffer[indices], term)`, where nothing else uses what is read and combined."""

    load: memref.LoadOp
    combine: Operation
    term: SSAValue
    store: memref.StoreOp
    combiner: Combiner

    @property
    def flags(self) -> arith.FastMathFlagsAttr | None:
        flags = self.combine.get_attr_or_prop("fastmath")
        return flags if isinstance(flags, arith.FastMathFlagsAttr) else None

    @property
    def ordered(self) -> bool:
        """Whether the terms must be combined in the order of the program."""
        return isinstance(self.combine, arith.AddfOp | arith.MulfOp) and (
            self.flags is None or FastMathFlag.REASSOC not in self.flags.data
        )


def reductions(loop: scf.ForOp) -> Iterator[Reduction]:
    """The reductions in a loop, those in loops inside of it included."""
    for op in loop.walk():
        if isinstance(op, memref.StoreOp) and (found := _reduction(op)) is not None:
            yield found


def _reduction(store: memref.StoreOp) -> Reduction | None:
    combine = store.value.owner
    if not isinstance(combine, Operation) or combine.parent is not store.parent:
        return None
    combiner = _combiner(combine)
    if combiner is None or not store.value.has_one_use():
        return None
    for old, term in (combine.operands, reversed(combine.operands)):
        load = old.owner
        if isinstance(load, memref.LoadOp) and _reads_what_is_written(load, store) and old.has_one_use():
            return Reduction(load, combine, term, store, combiner)
    return None


def _combiner(op: Operation) -> Combiner | None:
    if type(op) not in LIMITS:
        return COMBINERS.get(type(op))
    kind, signed = LIMITS[type(op)]
    largest = kind in (CombiningKindFlag.MAXSI, CombiningKindFlag.MAXUI)
    low, high = _range(op.results[0].type, signed=signed)
    return Combiner(kind, low if largest else high)


def _range(kind: Attribute, *, signed: bool) -> tuple[int, int]:
    """The smallest and the largest number of a type, as a signed number."""
    bits = kind.width.data if isa(kind, IntegerType) else 64
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, -1)


def _reads_what_is_written(load: memref.LoadOp, store: memref.StoreOp) -> bool:
    return load.memref is store.memref and tuple(load.indices) == tuple(store.indices) and load.parent is store.parent
