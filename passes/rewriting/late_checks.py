"""Checks of sizes that are known only in the middle of a run."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import arith, cf, func, tensor
from xdsl.dialects.builtin import ModuleOp, StringAttr, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from relex.dialects.failures import FOUND_SIZE, size_declaration
from relex.dialects.index.atoms import Atom
from relex.dialects.index.expr import IndexExpr, constant_of
from relex.dialects.index.to_ir import IndexBuilder
from relex.dialects.op_edits import replace_by
from relex.dialects.relex import DataflowOp, MatchSizesOp
from relex.dialects.sizes import MAX_SIZE
from relex.dialects.sizes.late import LateCheck, LateSizes
from relex.dialects.sizes.limits import fits_index
from relex.dialects.sizes.modules import ModuleSizes
from relex.dialects.sizes.requirements import Requirement
from relex.dialects.symbols import symbol_of
from relex.dialects.walks import walk_of
from relex.passes.rewriting.size_values import SizeValues


def check_late_sizes(module: ModuleOp, sizes: ModuleSizes) -> None:
    """Insert assertions of what ops require of late sizes where these become known, and of what only a branch requires
    where it begins. Remove `relex.match_sizes`."""
    for function in [op for op in module.ops if isinstance(op, func.FuncOp) and op.body.blocks]:
        late = sizes.late(function)
        if late.sources or late.checks:
            insert_checks(module, function, late)
        for op in walk_of(function, MatchSizesOp):
            forward(op)


def insert_checks(module: ModuleOp, function: func.FuncOp, late: LateSizes) -> None:
    """Insert the assertions of one function."""
    for block in walk_of(function, DataflowOp):
        block.dissolve()  # Assertions stay outside of dataflow blocks.
    checks = _Checks(function, late)
    for check in late.checks:
        checks.insert(check)
    if late.checks and all(symbol_of(op) != FOUND_SIZE for op in module.ops):
        module.body.block.add_op(size_declaration())


def forward(op: MatchSizesOp) -> None:
    """Replace the op by its operand, of the type that it states."""
    if op.operand.type == op.result.type:
        Rewriter.replace_op(op, [], [op.operand])
        return
    replace_by(op, tensor.CastOp(op.operand, op.result.type))


class _Checks:
    """The checks of a function."""

    def __init__(self, function: func.FuncOp, late: LateSizes):
        self._late = late
        self._values = SizeValues(function.body.blocks[0], late.known)
        self._branches: dict[Block, SizeValues] = {}

    def insert(self, check: LateCheck) -> None:
        """Insert a check after the last size that it is about."""
        requirement = check.requirement
        last = self._late.last_in(requirement.lhs, requirement.rhs)
        if isinstance(check.after, Block):
            at = self._branches.setdefault(check.after, SizeValues(check.after, self._late.places))
        else:
            assert last is not None
            at = self._values.after(last, self._late)
        if requirement.relation == "<=" and not fits_index(requirement):
            # What is computed as the largest index may be larger.
            most = min(requirement.rhs, MAX_SIZE - 1) if isinstance(requirement.rhs, int) else requirement.rhs
            self._assert(check, Requirement(requirement.lhs, "<=", most), SaturatingSizes(at))
            # No difference wraps around now, as a sum could. Later analyses read what has been checked.
            limit = constant_of(requirement.rhs)
            requirement = Requirement(requirement.lhs - (requirement.rhs - limit), "<=", limit)
        self._assert(check, requirement, at)

    def _assert(self, check: LateCheck, requirement: Requirement, at: IndexBuilder) -> None:
        lhs, rhs, found = at.emit(requirement.lhs), at.emit(requirement.rhs), at.emit(check.found)
        note = at.add(arith.IndexCastOp(found, i64))
        holds = at.add(arith.CmpiOp(lhs, rhs, "eq" if requirement.relation == "==" else "sle"))
        for op in (func.CallOp(FOUND_SIZE, [note], []), cf.AssertOp(holds, StringAttr(check.message))):
            at.insert(op)
            op.location = check.op.location


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
