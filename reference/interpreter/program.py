"""Preparation of a module for interpretation.

Each op becomes a Python function of the values of its operands, and a step that calls it: operands and results are in
a frame, which holds the values of one call. An op is inspected once, when the function around it is first called; after
that, only steps run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp, SymbolRefAttr, TensorType
from xdsl.interpreter import Interpreter, InterpreterFunctions
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator, SymbolTable
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from relex.dialects.errors import (
    InferenceError,
    PassError,
    RelexError,
    UnsupportedError,
    diagnose,
    fail_sizes,
    one_line,
    stop,
    unsupported,
)
from relex.dialects.sizes import MAX_SIZE, evaluate, names_in
from relex.dialects.sizes.late import LateCheck
from relex.dialects.sizes.modules import ModuleSizes, may_have_late_sizes
from relex.dialects.table import Table
from relex.dialects.upstream.versions import interpreter_value
from relex.reference.interpreter.budget import take
from relex.reference.interpreter.memory import check_size
from relex.reference.interpreter.numbers import Numbers

Values = tuple[Any, ...]

Frame = list[Any]
"""The values of one call of a function, by slot."""

Step = Callable[[Frame], None]
"""Runs one op."""

Run = Callable[..., Any]
"""Maps the values of an op's operands to its result, or to a tuple of its results. The function of an op with regions
gets the frame before the operands, the function of a terminator with successors returns the next block and its
arguments."""

Unary = Callable[[Any], Any]
Binary = Callable[[Any, Any], Any]

SCALARS = Table[type[Operation], Callable[[Any], Run]]("interpreter scalars")
"""Makes the function of each kind of op that computes numbers from numbers, or vectors from vectors."""

STEPS = Table[type[Operation], Callable[[Any, "Preparation"], Run | None]]("interpreter steps")
"""Makes the function of each other kind of op, or returns None if nothing is left to do in a run."""


class Program:
    """The functions of a module. `implementations` are xDSL's, for ops that relex does not know."""

    def __init__(
        self,
        module: ModuleOp,
        *,
        checked: bool = False,
        implementations: Iterable[InterpreterFunctions] = (),
        numbers: Numbers | None = None,
    ):
        self.module = module
        self.checked = checked
        self.numbers = numbers or Numbers(checked=checked)
        self.foreign = Interpreter(module)
        for functions in implementations:
            self.foreign.register_implementations(functions)
        self._functions: dict[Operation, PreparedFunction] = {}
        self.globals: dict[Operation, Any] = {}

    def function(self, op: Operation) -> PreparedFunction:
        """Return the function that `op` defines."""
        if op not in self._functions:
            self._functions[op] = PreparedFunction(op, self)
        return self._functions[op]

    def resolve(self, user: Operation, symbol: SymbolRefAttr) -> PreparedFunction:
        """Return the function that `symbol` names at `user`."""
        callee = SymbolTable.lookup_symbol(user, symbol)
        if callee is None:
            stop(user, f"expected a function named {symbol}, found no such symbol")
        return self.function(callee)


class PreparedFunction:
    """A function that can be called on values. Its ops are prepared in the first call."""

    def __init__(self, op: Operation, program: Program):
        self.op = op
        self._program = program
        self._prepared: tuple[PreparedRegion, Frame] | None = None

    def __call__(self, *args: Any) -> Values:
        region, template = self._prepared or self._prepare()
        return region.run(template.copy(), args)

    def _prepare(self) -> tuple[PreparedRegion, Frame]:
        if not self.op.regions or not self.op.regions[0].blocks:
            raise UnsupportedError(diagnose(self.op, "expected a body, found a declaration"))
        preparation = Preparation(self._program)
        preparation.checks = late_checks(self.op, preparation.slot)
        region = preparation.region(self.op.regions[0])
        self._prepared = region, preparation.template
        return self._prepared


class Preparation:
    """Makes the steps of one function."""

    def __init__(self, program: Program):
        self.program = program
        self.checked = program.checked
        """True in a checked run."""
        self.numbers = program.numbers
        """The representation of numbers in the run."""
        self.template: Frame = []
        self.checks: Mapping[SSAValue | Block, list[Step]] = {}
        """What is checked as soon as a value is known, or where a block begins."""
        self._slots: dict[SSAValue, int] = {}
        self._states: dict[Operation, int] = {}

    def slot(self, value: SSAValue) -> int:
        """Return the slot of a value in a frame."""
        if value not in self._slots:
            self._slots[value] = self.fresh_slot()
        return self._slots[value]

    def slots(self, values: Iterable[SSAValue]) -> tuple[int, ...]:
        """Return the slots of values."""
        return tuple(self.slot(value) for value in values)

    def fresh_slot(self) -> int:
        """Add a slot that belongs to no value."""
        self.template.append(None)
        return len(self.template) - 1

    def state_slot(self, op: Operation) -> int:
        """Return the slot for what an op has to remember during a call."""
        if op not in self._states:
            self._states[op] = self.fresh_slot()
        return self._states[op]

    def preset(self, value: SSAValue, constant: Any) -> None:
        """Set a value that is the same in every run; its op needs no step."""
        self.template[self.slot(value)] = constant

    def steps(self, ops: Iterable[Operation]) -> tuple[Step, ...]:
        """Return the steps of ops, except those that need none, and checks after them."""
        found: list[Step | None] = []
        for op in ops:
            found += [self.step(op), *self._checks_of(op.results)]
        return tuple(filter(None, found))

    def _checks_of(self, values: Sequence[SSAValue | Block]) -> list[Step]:
        return [check for value in values for check in self.checks.get(value, ())] if self.checks else []

    def step(self, op: Operation) -> Step | None:
        """Return the step of an op; None if it needs none."""
        run = self.function(op)
        return None if run is None else _step(op, run, self.slots(op.operands), self.slots(op.results))

    def function(self, op: Operation) -> Run | None:
        """Return the function of an op on the values of its operands; None if it needs none."""
        if (scalar := SCALARS.find(op)) is not None:
            return self.numbers.function(op, scalar(op))
        rule = STEPS.find(op)
        return rule(op, self) if rule is not None else _foreign_function(op, self.program)

    def body(self, block: Block) -> BlockSteps:
        """Prepare a block, without the effect of its terminator."""
        last = block.last_op
        terminator = last if last is not None and last.has_trait(IsTerminator) else None
        steps = (*self._checks_of([block, *block.args]), *self.steps(op for op in block.ops if op is not terminator))
        return BlockSteps(self.slots(block.args), steps, self.slots(terminator.operands) if terminator else ())

    def region(self, region: Region) -> PreparedRegion:
        """Prepare the blocks of a region and their branches."""
        blocks = list(region.blocks)
        bodies = {block: self.body(block) for block in blocks}
        return PreparedRegion(blocks[0], bodies, {b: branch for b in blocks if (branch := self._branch(b)) is not None})

    def _branch(self, block: Block) -> Run | None:
        last = block.last_op
        if last is None or not last.successors:
            return None
        if STEPS.find(last) is None:
            unsupported(last, "nothing says where it goes on")
        return self.function(last)


def _step(op: Operation, run: Run, operands: tuple[int, ...], results: tuple[int, ...]) -> Step:
    with_frame = bool(op.regions)

    def step(frame: Frame) -> None:
        values = [frame[slot] for slot in operands]
        found = run(frame, *values) if with_frame else run(*values)
        if not isinstance(found, tuple):
            found = (found,) * len(results)
        for slot, value in zip(results, cast("Values", found), strict=True):
            frame[slot] = value

    if SCALARS.find(op) is None or len(results) != 1 or len(operands) not in (1, 2):
        return step
    # The most frequent ops by far.
    first, last, (result,) = operands[0], operands[-1], results

    def unary(frame: Frame) -> None:
        frame[result] = run(frame[first])

    def binary(frame: Frame) -> None:
        frame[result] = run(frame[first], frame[last])

    return unary if len(operands) == 1 else binary


@dataclass(frozen=True)
class BlockSteps:
    """The steps of a block, the slots of its arguments, and the slots of its terminator's operands."""

    arguments: tuple[int, ...]
    steps: tuple[Step, ...]
    results: tuple[int, ...]

    def run(self, frame: Frame, args: Sequence[Any] = ()) -> Values:
        """Run the block with these arguments and return its terminator's operands."""
        take(len(self.steps) + 1)
        for slot, value in zip(self.arguments, args, strict=True):
            frame[slot] = value
        for step in self.steps:
            step(frame)
        return tuple([frame[slot] for slot in self.results])


@dataclass(frozen=True)
class PreparedRegion:
    """Blocks that branch to each other."""

    entry: Block
    bodies: dict[Block, BlockSteps]
    branches: dict[Block, Run]

    def run(self, frame: Frame, args: Sequence[Any] = ()) -> Values:
        """Run from the entry block to a terminator without successors and return its operands."""
        block = self.entry
        while True:
            results = self.bodies[block].run(frame, args)
            if block not in self.branches:
                return results
            block, args = self.branches[block](*results)


def _foreign_function(op: Operation, program: Program) -> Run:
    """Return the function of another package's op, by an implementation for xDSL's interpreter."""
    # That module imports this one.
    from relex.reference.interpreter.scalars import value_of

    def run(*args: Any) -> Values:
        given = map(interpreter_value, args, op.operand_types)
        try:
            found = program.foreign.run_op(op, tuple(given))
        except InterpretationError as e:
            unsupported(op, one_line(e))
        return tuple(value_of(op, value, kind) for value, kind in zip(found, op.result_types, strict=True))

    return guarded(op, run)


def guarded(op: Operation, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `function`, which another package may define: its exceptions are reported at `op`."""

    def run(*args: Any) -> Any:
        try:
            return function(*args)
        except InferenceError as e:
            # The sizes of a run do not fit an operator.
            stop(op, one_line(e))
        except RelexError:
            raise
        except Exception as e:
            stop(op, f"failed: {type(e).__name__}: {one_line(e)}")

    return run


def shape_of(op: Operation, t: Attribute, sizes: Iterable[Any]) -> tuple[int, ...]:
    """Return the shape of a tensor or buffer type with a size for each `?`; stops at `op` if one is negative."""
    assert isa(t, MemRefType | TensorType)
    given = iter(sizes)
    shape = tuple(int(next(given)) if size == DYNAMIC_INDEX else size for size in t.get_shape())
    check_size(op, shape)
    return shape


Check = Callable[[list[Any]], None]
"""Checks the values in a frame."""


def late_checks(function: Operation, slot: Callable[[SSAValue], int]) -> Mapping[SSAValue | Block, list[Check]]:
    """Return what is to be checked in a function as soon as a value is known, or where a branch begins. `slot` says
    where values are in a frame."""
    found: dict[SSAValue | Block, list[Check]] = {}
    if not may_have_late_sizes(function):
        return found
    with suppress(PassError):  # A program whose sizes cannot be inferred has no such checks; its ops check themselves.
        late = ModuleSizes().late(function)
        places = {name: (slot(value), dimension) for name, (value, dimension) in late.places.items()}
        for check in late.checks:
            found.setdefault(check.after, []).append(_checking(check, places))
    return found


def _checking(check: LateCheck, places: Mapping[str, tuple[int, int]]) -> Check:
    requirement = check.requirement
    used = {name: places[name] for size in (requirement.lhs, requirement.rhs) for name in names_in(size)}

    def run(frame: list[Any]) -> None:
        values = {name: _size(frame[slot], dimension) for name, (slot, dimension) in used.items()}
        if not requirement.substitute(values).holds:
            fail_sizes(check.op, check.message, min(evaluate(check.found, values), MAX_SIZE))

    return run


def _size(value: Any, dimension: int) -> int:
    """Return a size of a tensor, or the value of an index."""
    shape: tuple[int, ...] = getattr(value, "shape", ())
    return shape[dimension] if shape else int(value)
