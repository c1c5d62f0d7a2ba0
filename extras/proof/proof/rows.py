"""
Fewer rows of a batch, which stand for all.

The results of a function are a *batch* if their first dimension has one size, and each row of them follows from the
same row of other arrays. A loop over rows counts from 0, and its iteration `i` accesses rows `step * i` up to `step *
(i + 1) - 1`. Rows come in groups of a common multiple of the steps of all such loops, as far as the shortest one goes;
what is left after the last whole group, and after the end of a loop, is the rest.

If all loops over rows begin late, so that they leave out all groups but the last one, the function computes the rows of
this group and of the rest as before. Each other group is computed by as many iterations, which do the same on rows that
are shifted. So what holds for the last group, for all values of its elements, holds for each group.

This is right if a loop over rows does the same in each iteration, on other rows, and nothing else:

* Its variable is used only for indices: for the first index of accesses to buffers with rows, which is `step * i` plus
  a number of 0 or more, less than `step`, with one `step` for all of them. That number, all other indices, conditions
  and other numbers do not depend on it.
* In its body, rows are accessed only that way. It contains no other loop over rows.
* What it writes besides rows is allocated in its body, so that no iteration leaves anything to the next one.
* An init in its body runs for each of its iterations: the loop around the steps of the reduction is inside, or a
  spatial variable of the block tells them apart.

All other accesses to rows are accesses to the rest. In a graph, rows are arguments, or results of functions of which
this is true, and only such functions use them. Before and after a pass, the same arguments have rows: otherwise one
side could read a row of the last group for all groups. A function of another form is proved for all rows, such as one
with operators, or with conditions on rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import lcm
from typing import TypeAlias

from xdsl.dialects import func, scf
from xdsl.dialects.arith import AddiOp, ConstantOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, ShapedType, SymbolRefAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import SymbolTable

from relex.dialects.index.expr import Index, IndexExpr, atoms_in, span_of, terms_of, values_in
from relex.dialects.op_edits import terminator_of
from relex.dialects.relex import CallOp, CallTirOp, DataflowOp, OutputOp
from relex.dialects.symbols import symbols_used
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, InitOp, IterKind, PrimFuncOp
from relex.dialects.tir.accesses import (
    Access,
    accesses,
    in_loops,
    innermost_block,
    is_access,
    is_pure,
    variables_in,
)
from relex.dialects.tir.indices import reduction_loop
from relex.dialects.walks import reachable, walk
from relex.lowering.support.parallel_loops import all_loops_around
from relex.reference.equivalence.interface import find_function

Call: TypeAlias = CallTirOp | CallOp | func.CallOp


class _NotAlike(Exception):
    """The rows are not known to be alike."""


@dataclass
class Groups:
    """Which rows are computed alike."""

    size: int = 1
    """The rows of a group."""
    end: int = 0
    """Where the rest begins, at the latest."""

    @property
    def start(self) -> int:
        """The first row of the last group: it and all later ones stand for all."""
        return max(self.end // self.size - 1, 0) * self.size

    def limit(self, size: int, end: int) -> None:
        """Add a condition: groups are multiples of a size, and end there."""
        self.size, self.end = lcm(self.size, size), min(self.end, end)


class Batch:
    """The functions of a module that compute the batch that a function returns."""

    def __init__(self, module: ModuleOp, name: str, rows: int):
        self._module, self._name, self._rows = module, name, rows
        self.groups = Groups(end=rows)
        self.arguments = frozenset[int]()
        """The arguments of the function that have rows."""
        self._functions: dict[Operation, frozenset[int]] = {}
        """The functions, with the arguments that have rows."""
        self._open: set[Operation] = set()
        """The graphs that are followed already."""
        self._loops: dict[ForOp, int] = {}
        """The loops over rows with their steps."""
        self._calls: set[Operation] = set()
        """The calls whose results have rows."""

    @classmethod
    def of(cls, module: ModuleOp, name: str, rows: int) -> Batch | None:
        """Return the batch of `rows` that a function returns; None if the rows are not known to be alike."""
        batch, function = cls(module, name, rows), find_function(module, name)
        try:
            if function is None:
                return None
            batch.arguments = batch._function(function)
            batch._expect_no_other_calls()
        except _NotAlike:
            return None
        return batch

    def limited(self, start: int) -> ModuleOp:
        """Return the module with a function that computes only the rows from `start` on, the first one of a group."""
        module = self._module.clone()
        copies = dict(zip(walk(self._module), walk(module), strict=True))
        for loop, step in self._loops.items():
            copy = copies[loop]
            assert isinstance(copy, ForOp)
            assert isinstance(loop.extent, int)
            copy.static_extent = IntegerAttr(loop.extent - start // step, i64)
            first = ConstantOp(IntegerAttr.from_index_int_value(start // step))
            later = AddiOp(copy.variable, first)
            copy.variable.replace_uses_with_if(later.result, lambda use, later=later: use.operation is not later)
            Rewriter.insert_op((first, later), InsertPoint.at_start(copy.body.block))
        return module

    def _function(self, function: Operation) -> frozenset[int]:
        """Return the arguments of a function that have rows."""
        if function in self._functions:
            return self._functions[function]
        if isinstance(function, PrimFuncOp):
            loops = _LoopsOverRows(function, self._rows, self.groups)
            self._loops |= loops.steps
            found = loops.arguments
        elif isinstance(function, FuncOp) and function not in self._open:
            self._open.add(function)
            found = self._graph(function)
        else:
            raise _NotAlike
        self._functions[function] = found
        return found

    def _expect_no_other_calls(self) -> None:
        """Expect the functions, which will compute fewer rows, to be called only where these are rows."""
        for function in reachable(self._name, lambda name: symbols_used(_symbol(self._module, name))):
            for op in walk(_symbol(self._module, function)):
                callee = op.properties.get("callee")
                if isinstance(callee, SymbolRefAttr) and op not in self._calls:
                    if _symbol(op, callee) in self._functions:
                        raise _NotAlike

    def _graph(self, function: FuncOp) -> frozenset[int]:
        """Follow the rows of a graph, from its results back to its arguments."""
        last = function.body.block.last_op if len(function.body.blocks) == 1 else None
        if not isinstance(last, func.ReturnOp):
            raise _NotAlike
        having, pending = set[SSAValue](), list[SSAValue](last.operands)
        while pending:
            value = pending.pop()
            if value in having:
                continue
            _expect_rows(value, self._rows)
            having.add(value)
            owner = value.owner
            if isinstance(owner, DataflowOp) and isinstance(value, OpResult):
                output = terminator_of(owner.body.block)
                pending.append(output.operands[value.index])
            elif isinstance(owner, Call):
                arguments = self._function(_callee(owner))
                self._calls.add(owner)
                pending += [*owner.results, *(owner.arguments[i] for i in arguments)]
            elif value not in function.body.block.args:
                raise _NotAlike
        for value in having:
            for use in value.uses:
                self._expect_use_of_rows(use.operation, use.index, having)
        return frozenset(i for i, arg in enumerate(function.body.block.args) if arg in having)

    def _expect_use_of_rows(self, user: Operation, index: int, having: set[SSAValue]) -> None:
        if isinstance(user, OutputOp):
            dataflow = user.parent_op()
            is_known = dataflow is not None and dataflow.results[index] in having
        elif user in self._calls:
            is_known = index in self._functions[_callee(user)]
        else:
            is_known = isinstance(user, func.ReturnOp)
        if not is_known:
            raise _NotAlike


def _expect_rows(value: SSAValue, rows: int) -> None:
    if not isinstance(value.type, ShapedType) or value.type.get_shape()[:1] != (rows,):
        raise _NotAlike


def _callee(call: Operation) -> Operation:
    assert isinstance(call, Call)
    return _symbol(call, call.callee)


def _symbol(user: Operation, name: str | SymbolRefAttr) -> Operation:
    found = SymbolTable.lookup_symbol(user, name)
    if found is None:
        raise _NotAlike
    return found


class _LoopsOverRows:
    """The loops over the rows of a loop function. Raises `_NotAlike` if there is anything else."""

    def __init__(self, function: PrimFuncOp, rows: int, groups: Groups):
        self._function, self._rows, self._groups = function, rows, groups
        self._accesses = list(accesses(function))
        self._having: set[SSAValue] = set(function.outputs)
        """The buffers that have rows."""
        self.steps: dict[ForOp, int] = {}
        self._find()
        self._check()

    @property
    def arguments(self) -> frozenset[int]:
        """The arguments that have rows."""
        return frozenset(i for i, arg in enumerate(self._function.inputs) if arg in self._having)

    def _find(self) -> None:
        """Find the loops over rows, and all buffers that these access by row."""
        count = (-1, -1)
        while count != (count := (len(self._having), len(self.steps))):
            for buffer in self._having:
                _expect_rows(buffer, self._rows)
            for access in self._accesses:
                if access.buffer in self._having:
                    self.steps |= self._loop_of(access)
                elif any(loop.variable in atoms_in(i) for loop in self.steps for i in access.element):
                    self._having.add(access.buffer)

    def _loop_of(self, access: Access) -> dict[ForOp, int]:
        """Return the loop over the rows that an access accesses, with the number of rows of an iteration; nothing if it
        accesses others, which then are part of the rest."""
        first, *others = access.element
        return {
            loop: step
            for loop in all_loops_around(access.op)
            if (step := _step_in(first, loop)) and not any(loop.variable in atoms_in(i) for i in others)
        }

    def _check(self) -> None:
        """Expect loops over rows to do the same on other rows, and nothing else."""
        for op in walk(self._function):
            known = isinstance(op, PrimFuncOp | ForOp | BlockOp | InitOp | AllocBufferOp | scf.IfOp | scf.YieldOp)
            if not known and not is_access(op) and not is_pure(op):
                raise _NotAlike
        buffers = {access.buffer for access in self._accesses}
        if not all(isinstance(b.owner, AllocBufferOp) or b in self._function.args for b in buffers):
            raise _NotAlike
        for access in self._accesses:
            around = {loop: self.steps[loop] for loop in all_loops_around(access.op) if loop in self.steps}
            if access.buffer in self._having:
                if around != self._loop_of(access):
                    raise _NotAlike
                if not around:
                    self._groups.limit(1, int(max(span_of(access.element[0]).low, 0)))
            elif len(around) > 1 or (access.is_write and not _is_inside(access.buffer, around)):
                raise _NotAlike
        for loop, step in self.steps.items():
            assert isinstance(loop.extent, int)
            self._groups.limit(step, step * loop.extent)
        for loop in self.steps:
            self._check_uses(loop)
            for block in (op for op in walk(loop) if isinstance(op, BlockOp) and op.init is not None):
                _expect_init_in(loop, block)

    def _check_uses(self, loop: ForOp) -> None:
        """Expect what depends on a variable to be indices of accesses, in blocks by the variables of these."""
        pending, seen = list[SSAValue]([loop.variable]), set[SSAValue]()
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            for use in value.uses:
                op = use.operation
                if isinstance(op, BlockOp) and use.index < len(op.bindings):
                    variable = op.iter_vars[use.index]
                    if variable.kind is IterKind.REDUCE:
                        raise _NotAlike
                    pending.append(variable.variable)
                elif innermost_block(op) is not _block_of(value):
                    raise _NotAlike
                elif is_access(op):
                    access = Access.of(op)
                    if use.index != len(op.operands) - len(access.indices) or access.buffer not in self._having:
                        raise _NotAlike
                elif _computes_indices(op):
                    pending += op.results
                else:
                    raise _NotAlike


def _step_in(index: Index, loop: ForOp) -> int:
    """Return `step` if an index is `step * i` plus a number of 0 or more, less than `step`, which does not depend on
    the variable `i` of a loop; 0 if it is anything else."""
    step = terms_of(index).get(loop.variable, 0)
    if not isinstance(loop.extent, int) or loop.extent < 2 or step < 1:
        return 0
    rest = index - IndexExpr.of(loop.variable) * step
    span = span_of(rest)
    is_step = span.low >= 0 and span.high < step
    return step if is_step and not any(loop.variable in variables_in(v, loop) for v in values_in(rest)) else 0


def _computes_indices(op: Operation) -> bool:
    """Return whether an op computes indices and nothing else; a `scf.yield` does not, and computes nothing."""
    return (
        bool(op.results) and not op.regions and is_pure(op) and all(isinstance(r.type, IndexType) for r in op.results)
    )


def _expect_init_in(loop: ForOp, block: BlockOp) -> None:
    """Expect an init to run in each iteration of a loop: also if the steps of its reduction are around it."""
    outermost = reduction_loop(block)
    if outermost is None or loop.is_ancestor(outermost):
        return
    if not any(_step_in(i, loop) for i in in_loops(v.binding for v in block.iter_vars if v.kind is IterKind.SPATIAL)):
        raise _NotAlike


def _is_inside(buffer: SSAValue, loops: Iterable[ForOp]) -> bool:
    """Return whether a buffer is allocated inside all of some loops."""
    return all(loop.is_ancestor(buffer.owner) for loop in loops)


def _block_of(value: SSAValue) -> BlockOp | None:
    """Return the innermost block in which a value is computed, or of which it is a variable."""
    if isinstance(value, BlockArgument):
        scope = value.owner.parent_op()
        return scope if isinstance(scope, BlockOp) else innermost_block(scope) if scope is not None else None
    assert isinstance(value.owner, Operation)
    return innermost_block(value.owner)
