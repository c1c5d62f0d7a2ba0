"""Size inference: the sizes of all tensors of a function, as expressions of the sizes of its arguments, and of late
sizes.

What is required of the sizes of arguments alone can be stated, and checked, at function entry; the rest is checked as
soon as the late sizes are known.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, SymbolRefAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import SymbolTable, is_side_effect_free

from relex.dialects.errors import RangeError, fail, name_of
from relex.dialects.function_arguments import arguments
from relex.dialects.index.expr import constant_of, name_of_size, named, names_in
from relex.dialects.index.text import parse_index
from relex.dialects.index.values import substitute
from relex.dialects.names import Names, identifier
from relex.dialects.sizes.attributes import FunctionSizes, sizes_in_type
from relex.dialects.sizes.expressions import MAX_ARGUMENT_SIZE, Size, Sizes
from relex.dialects.sizes.expressions import sources as sources_of
from relex.dialects.sizes.late import LateCheck, LateSize, LateSizes, data_name, is_data_name
from relex.dialects.sizes.requirements import Requirement, Solver
from relex.dialects.table import Table
from relex.dialects.upstream.hints import isa

SIZES = Table[type[Operation], Callable[[Any, "SizeAnalysis"], None]]("sizes")
"""Rules that infer the sizes of each op's results. Other packages add rules for their ops."""

_LARGE = 2**32
"""Only limits of an index have numbers like this."""

_STATE = (dict, set, list, Names, Solver)

DYNAMIC_ONE = named("?")
"""A size that is known to be 1, but dynamic in a type."""


class SizeAnalysis:
    """The analysis of one function. `callees` finds the sizes of the functions that it calls. With `late`, sizes may be
    known only in the middle of a run."""

    def __init__(self, function: Operation, callees: Callable[[Operation], FunctionSizes], *, late: bool = False):
        self._function = function
        self._callees = callees
        self._names = Names()
        self._entered: list[Sizes] = []
        """The sizes of the arguments, each dynamic one by its own name."""
        self._allows_late = late
        self._places: dict[Operation, int] = {}
        self._late: dict[str, LateSize] = {}
        self._checks: dict[object, LateCheck] = {}
        self._facts: dict[object, Requirement] = {}
        self._asserted: dict[tuple[Block | None, object], Operation] = {}
        """The first assertion of each requirement in a block."""
        self._at_end: set[tuple[Block, object]] = set()
        """What holds at the end of branches."""
        self._aliases: dict[str, Size] = {}
        """What a program calls sizes."""
        self._values: dict[SSAValue, Sizes] = {}
        self._branch: Block | None = None
        """The branch, or the loop that may have no trips, that the current op is in."""
        self._around = _Around()
        """What is known around these."""
        self._solver = Solver()
        self._solver.require(Requirement(DYNAMIC_ONE, "==", 1))
        self._own_memory: list[tuple[Attribute, Sizes]] = []
        self._memory_of_callees: dict[Size, None] = {0: None}
        self._op = function
        self.unchecked: list[Operation] = []
        """Accesses that no requirement keeps inside their buffer."""

    # Interface for rules

    def sizes(self, value: SSAValue) -> Sizes:
        """Return the sizes of a tensor or buffer. Fails at the current op if they are unknown."""
        if value in self._values:
            return self._solver.solved(self._values[value])
        known = sizes_in_type(value.type)
        if DYNAMIC_INDEX in known:
            fail(self._op, f"expected sizes that follow from the sizes of the arguments, found {name_of(value)}")
        return known

    def sizes_as_typed(self, value: SSAValue) -> Sizes:
        """Return the sizes of a tensor for the type rule of an operator: only a 1 that the type states broadcasts."""
        pairs = zip(self.sizes(value), sizes_in_type(value.type), strict=True)
        return tuple(DYNAMIC_ONE if size == 1 and known == DYNAMIC_INDEX else size for size, known in pairs)

    def number(self, value: SSAValue) -> Size:
        """Return the expression of an index. One that does not follow from the sizes of the arguments is late."""
        if self._allows_late and value.type == IndexType() and not self.knows(value):
            self._name_index(value)
        return self.sizes(value)[0]

    def knows(self, value: SSAValue) -> bool:
        """Return whether the sizes of a tensor, or the expression of an index, are known so far."""
        return value in self._values or DYNAMIC_INDEX not in sizes_in_type(value.type)

    def set(self, value: SSAValue, sizes: Sequence[Size]) -> None:
        """Set the sizes of a value. Those that its type states are required to be the same."""
        for size, known in zip(sizes, sizes_in_type(value.type), strict=True):
            if known != DYNAMIC_INDEX:
                self.require(Requirement(size, "==", known))
        self._values[value] = tuple(sizes)

    def require(self, requirement: Requirement) -> None:
        """Add a requirement of the current op. Fails if it can never hold."""
        if self._around and self._around[-1].is_loop and requirement.relation == "==":
            self._require_around(requirement)
        elif self._branch is not None:
            self._check_in_branch(Requirement(*self._solved(requirement)).reduced(), self._branch)
        elif self._late:
            self._check(Requirement(*self._solved(requirement)).reduced(), self._op)
        if self._solver.require(requirement):
            return
        refused = self._solver.refused or requirement
        lhs, _, rhs = self._solved(refused)
        fail(self._op, f"expected sizes with {refused}, found {lhs} and {rhs}")

    def _require_around(self, requirement: Requirement) -> None:
        """Add a requirement to what a loop is in."""
        inside, around = (self._branch, self._solver), self._around.pop()
        self._branch, self._solver = around.branch, around.solver
        self.require(requirement)
        self._branch, self._solver = inside
        self._around.append(around)

    def assume(self, requirement: Requirement) -> None:
        """Note that the current op makes sure of a requirement, wherever the late sizes in it are known, or in the rest
        of its branch."""
        now = Requirement(*self._solved(requirement)).reduced()
        self._asserted.setdefault((self._op.parent, now.meaning), self._op)
        if self._branch is not None and self._op.parent is self._branch:
            self._note_in(self._branch, now)
            self._solver.require(requirement)
            return
        last = LateSizes(self._late).last_in(now.lhs, now.rhs)
        if last is not None and last.block is self._op.parent:
            self._facts[now.meaning] = now

    def _is_assumed(self, requirement: Requirement) -> bool:
        """Return whether a requirement follows from one that the program makes sure of."""
        lhs, rhs = requirement.lhs, requirement.rhs
        if requirement.meaning in self._facts or Requirement(lhs, "==", rhs).meaning in self._facts:
            return True
        limits = [f for f in self._facts.values() if f.relation == "<="]
        return requirement.relation == "<=" and any(Requirement(f.rhs - f.lhs, "<=", rhs - lhs).holds for f in limits)

    def _solved(self, requirement: Requirement) -> tuple[Size, Literal["==", "<="], Size]:
        lhs, rhs = self._solver.solved([requirement.lhs, requirement.rhs])
        return lhs, requirement.relation, rhs

    def _check(self, requirement: Requirement, op: Operation) -> None:
        """Let a requirement be checked if it depends on late sizes."""
        last = LateSizes(self._late).last_in(requirement.lhs, requirement.rhs)
        lhs, relation, rhs = requirement.lhs, requirement.relation, requirement.rhs
        if last is None or requirement.holds is not None or self._is_assumed(requirement):
            return
        if relation == "==" and not self.is_late(lhs):
            requirement = Requirement(lhs := rhs, relation, requirement.lhs)
        check = LateCheck(requirement, last.value, lhs if self.is_late(lhs) else rhs, op)
        self._checks.setdefault(requirement.meaning, check)

    # Branches and loops

    def state(self) -> dict[str, Any]:
        """Return what is known so far, which `restore` takes."""
        copies: dict[str, Any] = {name: value.copy() for name, value in vars(self).items() if isinstance(value, _STATE)}
        return {**copies, "_branch": self._branch}

    def restore(self, state: dict[str, Any]) -> None:
        """Forget what became known after a state."""
        vars(self).update(state)

    @contextmanager
    def branch(self, block: Block, *, is_loop: bool = False) -> Generator[None]:
        """Infer sizes in a branch, or in a loop that may have no trips. What it requires is checked, and known, only
        where it runs; but sizes that have to be equal in a loop are so in every run. And no size of a branch may ever
        exceed an index: memory is planned for all branches. Loop functions have nothing that could check it."""
        if not self._allows_late:
            yield
            return
        before, facts = set(self._values), dict(self._facts)
        self._around.append(_Outside(self._branch, self._solver, is_loop))
        self._branch, self._solver = block, self._solver.copy()
        yield
        inside, around = self._solver, self._around.pop()
        self._branch, self._solver, self._facts = around.branch, around.solver, facts
        always = [requirement for requirement in inside.left if _is_limit(requirement)]
        for value in [value for value in self._values if value not in before]:
            self._values[value] = inside.solved(self._values[value])
        for requirement in always:
            if not self.is_late(requirement.lhs, requirement.rhs):
                around.solver.require(requirement)

    def _check_in_branch(self, requirement: Requirement, branch: Block) -> None:
        """Let a requirement be checked where a branch begins, or as soon as late sizes in it are known."""
        is_planned = _is_limit(requirement) and not self.is_late(requirement.lhs, requirement.rhs)
        if requirement.holds is not None or is_planned or self._is_assumed(requirement):
            return
        self._note_in(branch, requirement)
        last = LateSizes(self._late).last_in(requirement.lhs, requirement.rhs)
        found = requirement.rhs if isinstance(requirement.lhs, int) else requirement.lhs
        place = last.value if last is not None and _is_in(last.block, branch) else branch
        self._checks.setdefault((branch, requirement.meaning), LateCheck(requirement, place, found, self._op))

    def _note_in(self, branch: Block, requirement: Requirement) -> None:
        """Note that a requirement holds from here to the end of a branch."""
        self._facts[requirement.meaning] = requirement
        self._at_end.add((branch, requirement.meaning))

    def equal_in(self, branch: Block, lhs: Size, rhs: Size) -> bool:
        """Return whether sizes are equal wherever a branch ends."""
        requirement = Requirement(*self._solved(Requirement(lhs, "==", rhs))).reduced()
        return requirement.holds is True or (branch, requirement.meaning) in self._at_end

    # Late sizes

    @property
    def late_sizes(self) -> LateSizes:
        """The late sizes so far, and what has to be checked of them."""
        sources = sources_of(self._entered)
        is_used = self._late or self._checks
        known = {name: (arguments(self._function)[i], d) for name, (i, d) in sources.items()} if is_used else {}
        checks = [check for check in self._checks.values() if not self._is_asserted(check)]
        # Limits of products first: other checks compute with numbers that have not wrapped around.
        checks.sort(key=lambda check: not _is_limit(check.requirement) or name_of_size(check.found) is not None)
        return LateSizes(self._late, checks, known)

    def _is_asserted(self, check: LateCheck) -> bool:
        """Return whether the program asserts a limit of a late size before there is a tensor that may have it."""
        late = LateSizes(self._late).last_in(check.found)
        if late is None or not _is_limit(check.requirement):
            return False
        op = self._asserted.get((late.block, check.requirement.meaning))
        if op is None:
            return False
        while (op := op.prev_op) is not None and op is not late.value.owner:
            if op.regions or any(isa(value.type, TensorType) for value in op.results):
                return False
            if not is_side_effect_free(op) and any(type(value.type) is IndexType for value in op.operands):
                return False
        return True

    def name_late(self, value: SSAValue, dimension: int, base: str) -> Size:
        """Return a new late size: a dimension of a tensor, or the value of an index. Fails where there may be none."""
        if not self._allows_late:
            fail(self._op, f"expected sizes that follow from the sizes of the arguments, found {name_of(value)}")
        name, place = self._names.fresh(identifier(base)), self._place(value) + dimension / 2**20
        self._late[name] = LateSize(value, dimension, place)
        return self._solver.name(name, late=place)

    def _name_index(self, value: SSAValue) -> Size:
        size = self.name_late(value, 0, value.name_hint or "size")
        self._values[value] = (size,)
        least = Requirement(0, "<=", size)
        self._checks[least.meaning] = LateCheck(least, value, size, self._op)
        self.check_limit(value, size, self._op)
        return size

    def check_limit(self, value: SSAValue, size: Size, op: Operation) -> None:
        """Let a late size that a value has, or is, be checked against what arguments may have. `op` asks for it."""
        most = Requirement(size, "<=", MAX_ARGUMENT_SIZE)
        self._checks[most.meaning] = LateCheck(most, value, size, op)

    def name_checked(self, value: SSAValue, most: Size) -> None:
        """Name an index that the current op makes sure is a size of at most this."""
        owner = value.owner
        if not self._allows_late or self._op.parent is not (owner.parent if isinstance(owner, Operation) else owner):
            return
        size = self._name_index(value)
        self.assume(Requirement(size, "<=", most))
        del self._checks[Requirement(0, "<=", size).meaning]
        if most == MAX_ARGUMENT_SIZE:
            del self._checks[Requirement(size, "<=", MAX_ARGUMENT_SIZE).meaning]

    def named_size(self, text: str, size: Size) -> Size:
        """Return what the current op calls a size: an expression of sizes that have names, which it is required to be,
        or a new name for it."""
        try:
            said = parse_index(text)
        except ValueError as e:
            fail(self._op, f"cannot read a size: {e}")
        unknown = [n for n in names_in(said) if n not in self._aliases and not self._solver.knows(n)]
        if unknown and name_of_size(said) is None:
            fail(self._op, f"expected names of sizes that are known before, found '{unknown[0]}'")
        if unknown:
            self._names.fresh(unknown[0])
            self._aliases[unknown[0]] = size
            return size
        said = substitute(said, self._aliases)
        self.require(Requirement(size, "==", said))
        return size

    def name_data_sizes(self, op: Operation, results: Sequence[Sizes]) -> list[Sizes]:
        """Return the sizes of an op's results, with new late sizes for those that depend on elements."""
        found: dict[Size, Size] = {}
        places = [(v, d, size) for v, sizes in zip(op.results, results, strict=True) for d, size in enumerate(sizes)]
        for value, dimension, size in sorted(places, key=lambda place: name_of_size(place[2]) is None):
            known = {str(other): late for other, late in found.items()}
            if size not in found and any(is_data_name(name) and name not in known for name in names_in(size)):
                base = data_name(size) or f"d{dimension}"
                found[size] = self.name_late(
                    value, dimension, f"{value.name_hint or op.name.rpartition('.')[2]}_{base}"
                )
        known = {str(other): late for other, late in found.items()}
        return [tuple(found.get(size, substitute(size, known)) for size in sizes) for sizes in results]

    def _place(self, value: SSAValue) -> float:
        """Return the place of a value in the order in which values are computed."""
        if not self._places:
            self._places = {op: i for i, op in enumerate(self._function.walk())}
        if isinstance(owner := value.owner, Operation):
            return self._places[owner]
        return self._places[owner.first_op] - 0.5 if owner.first_op is not None else 0.0

    def is_late(self, *sizes: Size) -> bool:
        """Return whether expressions depend on late sizes."""
        return bool(self._late) and LateSizes(self._late).last_in(*sizes) is not None

    def is_found_in(self, block: Block, *sizes: Size) -> bool:
        """Return whether expressions depend on late sizes of a block."""
        late = LateSizes(self._late).last_in(*sizes)
        return late is not None and _is_in(late.block, block)

    @property
    def required(self) -> tuple[Requirement, ...]:
        """The requirements so far that depend on the run."""
        return tuple(self._solver.left)

    def callee(self, symbol: SymbolRefAttr) -> FunctionSizes:
        """Return the sizes of a function that the current op calls."""
        found = SymbolTable.lookup_symbol(self._op, symbol)
        if found is None:
            fail(self._op, f"expected a function named {symbol}, found no such symbol")
        return self._callees(found)

    def enter(self, callee: FunctionSizes, sizes: Sequence[Sizes]) -> dict[str, Size]:
        """Require what a function requires of its arguments, given their sizes. Returns the sizes that its names stand
        for."""
        pairs = [pair for both in zip(callee.arguments, sizes, strict=True) for pair in zip(*both, strict=True)]
        values: dict[str, Size] = {}
        for expected, size in pairs:
            if (name := name_of_size(expected)) is not None:
                values.setdefault(name, size)
        for expected, size in pairs:
            self.require(Requirement(size, "==", substitute(expected, values)))
        for requirement in callee.requirements:
            self.require(requirement.substitute(values))
        self._memory_of_callees |= dict.fromkeys(substitute(size, values) for size in callee.temporaries)
        return values

    def allocate(self, value: SSAValue) -> None:
        """Add the bytes of a value to the memory that the function needs."""
        self._own_memory.append((value.type, self.sizes(value)))

    def visit(self, block: Block) -> None:
        """Apply the rules to the ops of a block, and to those nested in ops without a rule."""
        for op in block.ops:
            self._op = op
            rule = SIZES.find(op)
            if rule is not None:
                try:
                    rule(op, self)
                except RangeError as e:
                    fail(self._op, str(e))
                continue
            for inner in (inner for region in op.regions for inner in region.blocks):
                self.visit(inner)


class _Outside(NamedTuple):
    """What is known around a branch or a loop, and the branch that this is in."""

    branch: Block | None
    solver: Solver
    is_loop: bool


class _Around(list[_Outside]):
    def copy(self) -> _Around:
        return _Around(outside._replace(solver=outside.solver.copy()) for outside in self)


def _is_limit(requirement: Requirement) -> bool:
    """Return whether a requirement keeps a size, or a number of bytes, within an index."""
    sides = (requirement.lhs, requirement.rhs)
    return requirement.relation == "<=" and any(abs(constant_of(side)) >= _LARGE for side in sides)


def _is_in(block: Block | None, branch: Block) -> bool:
    """Return whether a block is a branch, or in one."""
    around = None if block is None else block.parent_op()
    return block is branch or (around is not None and branch.find_ancestor_op_in_block(around) is not None)
