"""
The program as systems of constraints.

An *instance* is one run of an op: a variable for each loop around it, the constraints that the loops and conditions put
on these variables, and the values that the program computes, as linear forms in them. Two instances can *share*
everything outside of some scope: then they are two runs within one run of that scope. Questions about pairs of
iterations thus become questions about systems: "can two iterations of a loop write one element" is "can two instances
of the store that share everything outside of the loop, but differ in its variable, have equal indices".
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, i1
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove

from relex.dialects.errors import name_of
from relex.dialects.index.atoms import Atom, Product, Symbol, VariableOrigin
from relex.dialects.index.constraints import System, less, limits_of, within
from relex.dialects.index.domains import constant_value
from relex.dialects.index.expr import Index
from relex.dialects.index.from_ir import EXPRESSIONS
from relex.dialects.index.linear_forms import LinearForms
from relex.dialects.index.text import parse_index, text_of_atom
from relex.dialects.index.values import replace_atoms
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, InitOp, IterKind, PrimFuncOp, loops_around
from relex.dialects.tir.indices import dimension_of, known_size
from relex.dialects.upstream.hints import isa
from relex.passes.analysis.conditional_values import CHOICES, condition_of, type_limits
from relex.passes.analysis.loop_tree import variables_of_kind

LARGEST_SIZE = 2**47
"""An upper bound on the elements of a buffer; index arithmetic on sizes does not wrap around."""


class Instance(LinearForms):
    """One run of `op`, which is in `scope`, within the run of that scope that `outer` belongs to."""

    def __init__(
        self, op: Operation, outer: Instance | None = None, scope: Operation | None = None, *, conditions: bool = True
    ):
        super().__init__()
        self.op = op
        self._outer = outer
        self._scope = scope
        self._forms: dict[SSAValue, Index] = {}
        self._sizes: dict[object, Index] = {}
        idle = idle_loops(op)
        child = op
        for around in [s for s in scopes_around(op) if scope is None or not s.is_ancestor(scope)]:
            if around not in idle and (conditions or not isinstance(around, scf.IfOp)):
                self._enter(around, child, bool(idle))
            child = around

    @property
    def whole_system(self) -> System:
        """The system together with the conditions of the shared scope."""
        return self.system if self._outer is None else self._outer.whole_system & self.system

    def form(self, value: SSAValue) -> Index:
        """Return the linear form of an integer value of the program."""
        home = value.owner.parent_op()
        if self._outer is not None and self._scope is not None and home is not None and home.is_ancestor(self._scope):
            return self._outer.form(value)
        if value not in self._forms:
            self._forms[value] = self._make_form(value)
        return self._forms[value]

    def size(self, buffer: SSAValue, dimension: int) -> Index:
        """Return the size of a buffer in a dimension."""
        assert isa(buffer.type, MemRefType)
        shape = buffer.type.get_shape()
        if shape[dimension] != DYNAMIC_INDEX:
            return shape[dimension]
        owner = buffer.owner
        if isinstance(owner, AllocBufferOp | memref.AllocOp | memref.AllocaOp):
            sizes = owner.sizes if isinstance(owner, AllocBufferOp) else owner.dynamic_sizes
            return self.form(sizes[shape[:dimension].count(DYNAMIC_INDEX)])
        return self._argument_size(buffer, dimension)

    def element(self, buffer: SSAValue) -> list[Index]:
        """Return the indices of an arbitrary element of a buffer."""
        assert isa(buffer.type, MemRefType)
        found: list[Index] = []
        for dimension in range(buffer.type.get_num_dims()):
            size = self.size(buffer, dimension)
            found.append(self.new("element", (0, max(limits_of(size)[1] - 1, 0))))
            self.require(within(found[-1], size))
        return found

    def _argument_size(self, buffer: SSAValue, dimension: int) -> Index:
        if self._outer is not None:
            return self._outer._argument_size(buffer, dimension)
        stated = dimension_of(buffer, dimension)
        if not isinstance(stated, str):
            return self._named_size((buffer, dimension), f"size({name_of(buffer)}, {dimension})")
        return self._stated(parse_index(stated))

    def _stated(self, size: Index) -> Index:
        """Return the linear form of an expression of names. A product of sizes is a separate unknown."""
        return self.linear(replace_atoms(size, self._size_of))

    def _size_of(self, atom: Atom) -> Index | None:
        return self._named_size(text := text_of_atom(atom), text) if isinstance(atom, Symbol | Product) else None

    def _named_size(self, key: object, text: str) -> Index:
        if key not in self._sizes:
            self._sizes[key] = self.new(text, (0, LARGEST_SIZE), origin=VariableOrigin.SIZE)
        return self._sizes[key]

    def _make_form(self, value: SSAValue) -> Index:
        if (constant := constant_value(value)) is not None:
            return constant if value.type != i1 else abs(constant)  # The attribute of `true` holds -1.
        if isinstance(value, BlockArgument):
            return self._argument_form(value)
        op = value.owner
        assert isinstance(op, Operation)
        if isinstance(op, memref.DimOp) and (d := constant_value(op.index)) is not None:
            if isa(op.source.type, MemRefType) and 0 <= d < op.source.type.get_num_dims():
                return self.size(op.source, d)
        if isinstance(op, arith.MuliOp) and isinstance(size := known_size(value), str):
            return self._stated(parse_index(size))
        if (found := self._computed(op)) is not None:
            (low, high), (smallest, largest) = limits_of(found), type_limits(value.type)
            if smallest <= low and high <= largest:  # It does not wrap around.
                return self.linear(found)
        return self._unknown(value)

    def _computed(self, op: Operation) -> Index | None:
        """Return an expression of the result of an op, from the forms of its operands; None if no rule understands
        it."""
        expression, choice = EXPRESSIONS.find(op), CHOICES.find(op)
        if op.results[0].type == i1:  # Where the rules for signed integers are wrong: as one of them, `true` is -1.
            expression = None
        found = expression(op, self.form) if expression is not None else None
        return choice(op, self) if found is None and choice is not None else found

    def _argument_form(self, value: BlockArgument) -> Index:
        match value.owner.parent_op():
            case BlockOp() as block:
                return self.form(block.binding_of(value))
            case ForOp() as loop:
                return self._named(
                    value, (0, max(limits_of(self._extent(loop.extent))[1] - 1, 0)), VariableOrigin.COUNTER
                )
            case scf.ForOp() as loop if value.index == 0 and (step := constant_value(loop.step) or 0) > 0:
                lower = self.form(loop.lb)
                count = self.new("count", (0, 2 * LARGEST_SIZE))
                return lower + count * step
            case PrimFuncOp() if isinstance(value.type, IndexType):
                return self._named(value, (-LARGEST_SIZE, LARGEST_SIZE), VariableOrigin.SIZE)
            case _:
                return self._unknown(value)

    def _unknown(self, value: SSAValue) -> Index:
        return self._named(value, type_limits(value.type), VariableOrigin.DATA)

    def _named(self, value: SSAValue, limits: tuple[int, int], origin: VariableOrigin) -> Index:
        return self.new(name_of(value), limits, origin=origin)

    def _enter(self, scope: Operation, child: Operation, in_idle_init: bool) -> None:
        """Require the conditions of the region of `scope` that `child` is in."""
        match scope:
            case ForOp():
                self.require(within(self.form(scope.variable), self._extent(scope.extent)))
            case scf.ForOp():
                self.require(System.of(less(self.form(scope.body.block.args[0]), self.form(scope.ub))))
            case BlockOp():
                is_idle = in_idle_init and child is scope.init
                for v in scope.iter_vars:
                    if not (is_idle and v.kind is IterKind.REDUCE):
                        self.require(within(self.form(v.binding), self._extent(v.extent)))
            case scf.IfOp():
                self.require(condition_of(scope.cond, child.parent_region() is scope.true_region, self))
            case PrimFuncOp() | InitOp():
                pass
            case _:  # It is unknown whether and how often it runs its region.
                self.new(f"'{scope.name}'", (0, 1), origin=VariableOrigin.DATA)

    def _extent(self, extent: int | SSAValue) -> Index:
        return extent if isinstance(extent, int) else self.form(extent)


def scopes_around(op: Operation) -> Iterator[Operation]:
    """Yield the ops around `op`, innermost first, up to the function."""
    scope: Operation | None = op
    while scope is not None and not scope.has_trait(IsolatedFromAbove):
        scope = scope.parent_op()
        if scope is not None:
            yield scope


def comes_first(first: Operation, second: Operation, scope: Operation) -> bool:
    """Return whether an op precedes another in one run of the innermost scope around both."""
    if first is second:
        return False
    a, b = (next(o for o in (op, *scopes_around(op)) if o.parent_op() is scope) for op in (first, second))
    return a.parent_block() is b.parent_block() and a.is_before_in_block(b)


def idle_loops(op: Operation) -> set[Operation]:
    """Return the loops around an init that only drive its block's reduction: the init runs even if they do not."""
    init = next((scope for scope in scopes_around(op) if isinstance(scope, InitOp)), None)
    block = init.parent_op() if init is not None else None
    if not isinstance(block, BlockOp):
        return set()
    around = list(loops_around(block))
    if not all(isinstance(scope, ForOp) for scope, _ in zip(scopes_around(block), around, strict=False)):
        return set()  # A condition in between may depend on them.
    reduce, spatial = (variables_of_kind(block, kind) for kind in (IterKind.REDUCE, IterKind.SPATIAL))
    return {loop for loop in around if loop.variable in reduce - spatial}
