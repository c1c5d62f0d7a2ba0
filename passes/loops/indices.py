"""Index expressions written into a program, and rewritten where loops change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import floor, isfinite

from xdsl.builder import Builder
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsolatedFromAbove

from relex.dialects.tir import BlockOp, ForOp, loops_around
from relex.dialects.tir.ranges import constant_value
from relex.passes.loops.affine import Atom, Form, Quotient, Remainder, form_of


def constant(value: int, user: Operation) -> SSAValue:
    """An index constant at the top of the function around `user`, one for each value."""
    top = function_block(user)
    attr = IntegerAttr(value, IndexType())
    for op in top.ops:
        if not isinstance(op, arith.ConstantOp):
            break
        if op.value == attr:
            return op.result
    op = arith.ConstantOp(attr)
    op.location = user.location
    op.result.name_hint = f"c{value}" if value >= 0 else None
    top.insert_op_before(op, top.first_op) if top.first_op is not None else top.add_op(op)
    return op.result


def function_block(op: Operation) -> Block:
    """The body of the function around `op`."""
    scope: Operation | None = op
    while scope is not None and not scope.has_trait(IsolatedFromAbove):
        scope = scope.parent_op()
    if scope is None:
        raise ValueError(f"expected '{op.name}' to stand in a function")
    return scope.regions[0].block


class Emitter:
    """Writes index arithmetic in front of an op, each part once."""

    def __init__(self, before: Operation):
        self.before = before
        self._builder = Builder(InsertPoint.before(before))
        self._values: dict[Form | Atom, SSAValue] = {}

    def emit(self, form: Form, hint: str | None = None) -> SSAValue:
        """The value of a form; `hint` names it if it is computed here."""
        if form not in self._values:
            self._values[form] = self._form(form)
        value = self._values[form]
        if isinstance(value, OpResult) and value.name_hint is None:
            value.name_hint = hint
        return value

    def add(self, op: Operation) -> SSAValue:
        """Insert an op; returns its result."""
        op.location = self.before.location
        return self._builder.insert(op).results[0]

    def _form(self, form: Form) -> SSAValue:
        total: SSAValue | None = None
        for atom, factor in form.terms.items():
            term = self._atom(atom)
            if factor != 1:
                term = self.add(arith.MuliOp(term, constant(factor, self.before)))
            total = term if total is None else self.add(arith.AddiOp(total, term))
        if total is None:
            return constant(form.constant, self.before)
        return self.add(arith.AddiOp(total, constant(form.constant, self.before))) if form.constant else total

    def _atom(self, atom: Atom) -> SSAValue:
        if isinstance(atom, SSAValue):
            return atom
        if atom not in self._values:
            self._values[atom] = self._divided(atom)
        return self._values[atom]

    def _divided(self, atom: Quotient | Remainder) -> SSAValue:
        """A quotient or a remainder. The ops that are quick round towards 0, which is down for what is not negative."""
        low = atom.form.span.low
        may_be_negative = low < 0
        if may_be_negative and isinstance(atom, Remainder):
            if isfinite(low):
                raised = atom.form + -floor(low / atom.divisor) * atom.divisor
                return self.add(arith.RemSIOp(self.emit(raised), constant(atom.divisor, self.before)))
            return self.emit(atom.form - Form.of(Quotient(atom.form, atom.divisor)) * atom.divisor)
        form, divisor = self.emit(atom.form), constant(atom.divisor, self.before)
        if isinstance(atom, Remainder):
            return self.add(arith.RemSIOp(form, divisor))
        return self.add((arith.FloorDivSIOp if may_be_negative else arith.DivSIOp)(form, divisor))


def is_scalar(op: Operation) -> bool:
    """Whether an op computes an index or a condition from nothing but its operands."""
    return op.dialect_name() == "arith" and not op.regions


_DIVISIONS = (
    arith.DivSIOp,
    arith.DivUIOp,
    arith.RemSIOp,
    arith.RemUIOp,
    arith.FloorDivSIOp,
    arith.CeilDivSIOp,
    arith.CeilDivUIOp,
)


def may_trap(op: Operation) -> bool:
    """Whether an op may stop the program, so that it must not run where it has not run before."""
    return isinstance(op, _DIVISIONS) and (constant_value(op.rhs) or 0) <= 0


def steps_in(scope: Operation) -> Iterator[Operation]:
    """The ops in the loops and conditionals of `scope`, in order; of a block only itself."""
    for region in scope.regions:
        for op in [op for block in region.blocks for op in block.ops]:
            yield op
            if not isinstance(op, BlockOp):
                yield from steps_in(op)


def substitute(loop: ForOp, values: Mapping[SSAValue, Form] | None = None) -> None:
    """
    Replace values in the extents, conditions and bindings in a loop. In the whole nest that the loop is in, index
    arithmetic is written anew in front of each op that needs it, and what no loop changes in front of the nest, so that
    nothing is left between loops. The bodies of blocks use no loop variables and are not touched.
    """
    nest = [loop, *loops_around(loop)][-1]
    loops = [nest, *(op for op in steps_in(nest) if isinstance(op, ForOp))]
    outside: dict[SSAValue, Form] = {inner.variable: Form.of(inner.variable) for inner in loops}
    inside = outside | dict(values or {})
    rebuilders: dict[Operation, _Rebuilder] = {}
    for op in list(steps_in(nest)):
        if not isinstance(op, BlockOp | ForOp | scf.IfOp):
            continue
        place = _place_of(op)
        if place not in rebuilders:
            rebuilders[place] = _Rebuilder(place, inside if loop.is_ancestor(op) else outside)
        for i, operand in enumerate(op.operands):
            op.operands[i] = rebuilders[place].rebuild(operand)
    remove_unused(list(steps_in(nest)))
    for op in list(steps_in(nest)):
        changes = any(nest.is_ancestor(operand.owner) for operand in op.operands)
        if is_scalar(op) and not changes and not may_trap(op):
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(nest))


def _place_of(op: Operation) -> Operation:
    """Where index arithmetic for an op goes: a block and the condition around it share what they compute."""
    around = op.parent_op()
    is_guarded = isinstance(op, BlockOp) and isinstance(around, scf.IfOp)
    return around if is_guarded and around is not None and not any(map(may_trap, steps_in(around))) else op


def remove_unused(ops: Sequence[Operation]) -> None:
    """Remove those of some ops that are arithmetic and that nothing uses any more."""
    for op in reversed(ops):
        if is_scalar(op) and not any(result.uses for result in op.results):
            op.detach()
            op.erase()


class _Rebuilder:
    """Writes what an op needs in front of it, with values replaced by forms."""

    def __init__(self, user: Operation, forms: Mapping[SSAValue, Form]):
        self._forms = forms
        self._emitter = Emitter(user)
        self._done: dict[SSAValue, SSAValue] = {}

    def rebuild(self, value: SSAValue) -> SSAValue:
        """What stands for a value of the program as it was."""
        if not self._changes(value):
            return value
        if value not in self._done:
            if isinstance(value.type, IndexType):
                form = form_of(value, self._lookup, lambda opaque: Form.of(self._clone(opaque)))
                self._done[value] = self._emitter.emit(form, value.name_hint)
            else:
                self._done[value] = self._clone(value)
        return self._done[value]

    def _lookup(self, value: SSAValue) -> Form | None:
        if value in self._forms:
            return self._forms[value]
        return None if self._changes(value) or constant_value(value) is not None else Form.of(value)

    def _clone(self, value: SSAValue) -> SSAValue:
        op = value.owner
        if not isinstance(op, Operation):
            return value
        new = op.clone({operand: self.rebuild(operand) for operand in op.operands})
        return self._emitter.add(new)

    def _changes(self, value: SSAValue) -> bool:
        if value in self._forms:
            return True
        op = value.owner
        return isinstance(op, Operation) and is_scalar(op) and any(map(self._changes, op.operands))
