"""Sizes that may be larger than an index."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from relex.dialects.index.atoms import Atom
from relex.dialects.index.expr import IndexExpr
from relex.dialects.index.to_ir import IndexBuilder
from relex.dialects.sizes import MAX_SIZE
from relex.passes.rewriting.size_values import SizeValues


class SaturatingSizes(IndexBuilder):
    """Emits sizes where another builder does. A sum or a product that exceeds an index is the largest number of it,
    where arithmetic wraps around."""

    divide = arith.DivUIOp

    def __init__(self, at: SizeValues):
        super().__init__()
        self._at = at

    def insert(self, op: Operation) -> None:
        self._at.insert(op)

    def constant(self, value: int) -> SSAValue:
        return self._at.constant(value)

    def size(self, name: str) -> SSAValue:
        return self._at.size(name)

    def terms(self, index: IndexExpr) -> Iterable[tuple[Atom, int]]:
        return self._at.terms(index)

    def arithmetic(self, kind: type[arith.AddiOp | arith.MuliOp], lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        value, zero, most = super().arithmetic(kind, lhs, rhs), self.constant(0), self.constant(MAX_SIZE)
        if kind is arith.AddiOp:
            grows, shrinks = self.add(arith.CmpiOp(rhs, zero, "sge")), self.add(arith.CmpiOp(value, lhs, "slt"))
            return self.add(arith.SelectOp(self.add(arith.AndIOp(grows, shrinks)), most, value))
        one, other = (self.add(arith.MaxSIOp(x, self.add(arith.SubiOp(zero, x)))) for x in (lhs, rhs))
        limit = self.add(arith.DivUIOp(most, self.add(arith.MaxSIOp(other, self.constant(1)))))
        return self.add(arith.SelectOp(self.add(arith.CmpiOp(one, limit, "ule")), value, most))
