"""The loop tree of a function: its loops and blocks by name, and the structure around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from relex.dialects.errors import fail
from relex.dialects.function_arguments import SCHEDULED_ATTR
from relex.dialects.index.domains import constant_value
from relex.dialects.index.expr import Index, IndexExpr
from relex.dialects.index.from_ir import index_of
from relex.dialects.sizes.attributes import has_unknown
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, IterKind, IterVar, LoopKind, PrimFuncOp, loops_around
from relex.dialects.tir.accesses import is_pure
from relex.dialects.tir.indices import driving_variables
from relex.dialects.walks import ancestors, holds, ops_directly_in


def structures_in(func: Operation) -> list[Operation]:
    """Return the ops in a function that have regions, in pre-order."""
    found: list[Operation] = []
    pending = ops_directly_in(func)
    while pending:
        op = pending.pop()
        if op.regions:
            found.append(op)
            pending += ops_directly_in(op)
    return found


def unscheduled_of_dynamic_sizes(module: ModuleOp) -> list[PrimFuncOp]:
    """Return the loop functions with dynamic sizes that rules may change: no buffers overlap, and nobody has given them
    a schedule."""
    functions = [f for f in module.ops if isinstance(f, PrimFuncOp) and f.noalias]
    unscheduled = [f for f in functions if SCHEDULED_ATTR not in f.attributes]
    return [f for f in unscheduled if any(map(has_unknown, f.function_type.inputs))]


def find_loop(func: PrimFuncOp, label: str) -> ForOp:
    """Return the loop labelled `label`; fail if there is none."""
    return _find(func, ForOp, label) or fail(func, f"expected a loop @{label}, found {_names(func, ForOp)}")


def find_block(func: PrimFuncOp, name: str) -> BlockOp:
    """Return the block called `name`; fail if there is none."""
    return _find(func, BlockOp, name) or fail(func, f"expected a block @{name}, found {_names(func, BlockOp)}")


StructureT = TypeVar("StructureT", ForOp, BlockOp)

_FOUND = "_relex_structures"
"""The attribute of the object of a function with its loops and blocks by kind and name, as they were found last."""


def note_structures(func: PrimFuncOp, made: object) -> None:
    """Let the loops and blocks that a step has made, alone or in lists, be found without a search."""
    if isinstance(made, list):
        for part in cast("list[object]", made):
            note_structures(func, part)
    elif isinstance(made, ForOp | BlockOp):
        vars(func).setdefault(_FOUND, {})[type(made), _name_in(made)] = made


def _find(func: PrimFuncOp, kind: type[StructureT], name: str) -> StructureT | None:
    known: dict[Any, Any] = vars(func).setdefault(_FOUND, {})
    found = known.get((kind, name))
    # It may have been moved out of the function or renamed since.
    if found is None or _name_in(found) != name or not holds(func, found):
        known.clear()
        known.update({(type(op), _name_in(op)): op for op in structures_in(func)})
        found = known.get((kind, name))
    return found


def _names(func: PrimFuncOp, kind: type[Operation]) -> str:
    names = [_name_in(op) for op in structures_in(func) if type(op) is kind]
    return ", ".join(f"@{name}" for name in names if name is not None) or "none"


def _name_in(op: Operation) -> str | None:
    """Return the label of a loop, or the name of a block."""
    name = op.properties.get("label" if type(op) is ForOp else "block_name")
    return name.data if isinstance(name, StringAttr) else None


def label_of(loop: ForOp) -> str:
    """Return the name of a loop in messages."""
    return f"@{loop.label.data}" if loop.label is not None else "a loop without a label"


def _name(op: Operation) -> str:
    match op:
        case BlockOp():
            return f"block {name_of_block(op)}"
        case ForOp():
            return f"loop {label_of(op)}"
        case _:
            return f"'{op.name}'"


def base_name(loop: ForOp) -> str:
    """Return the prefix for the labels of loops that are derived from a loop."""
    return loop.label.data if loop.label is not None else "loop"


def name_of_block(block: BlockOp) -> str:
    """Return the name of a block in messages."""
    return f"@{block.block_name.data}"


def function_of(op: Operation) -> PrimFuncOp:
    """Return the loop function around `op`."""
    found = next((scope for scope in (op, *ancestors(op)) if type(scope) is PrimFuncOp), None)
    return found or fail(op, "expected to be inside a 'tir.prim_func'")


def loops_of(block: BlockOp) -> list[ForOp]:
    """Return the loops around a block, outermost first."""
    return list(loops_around(block))[::-1]


def variables_of_kind(block: BlockOp, kind: IterKind) -> set[SSAValue]:
    """Return the loop variables that drive the block variables of a kind."""
    return set(driving_variables(block, kind, function_of(block)))


def is_reduction(block: BlockOp) -> bool:
    """Return whether a block has variables that it reduces over."""
    return any(kind.data is IterKind.REDUCE for kind in block.kinds)


def blocks_in(scope: Operation) -> Iterator[BlockOp]:
    """Yield the blocks in `scope`, except those nested in other blocks."""
    return (op for op in steps_in(scope) if type(op) is BlockOp)


def loops_in(scope: Operation) -> Iterator[ForOp]:
    """Yield the loops in `scope`, starting with `scope` itself if it is one, except those inside of blocks."""
    if isinstance(scope, ForOp):
        yield scope
    yield from (op for op in steps_in(scope) if type(op) is ForOp)


def only_step(loop: ForOp) -> Operation | None:
    """Return the last op in a loop, if all others are pure; None if there are others."""
    last = loop.body.block.last_op
    return last if all(is_pure(op) and not op.regions for op in loop.body.block.ops if op is not last) else None


def following(op: Operation) -> Iterator[Operation]:
    """Yield the ops after an op in its block."""
    while op.next_op is not None:
        op = op.next_op
        yield op


_OF_STRUCTURE = {ForOp, BlockOp, AllocBufferOp, scf.IfOp, scf.YieldOp}


def check_structure(scope: Operation) -> None:
    """Fail unless `scope` consists of loops around blocks, local buffers and index arithmetic. Each block may have a
    separate guard."""
    for op in steps_in(scope):
        if isinstance(op, scf.IfOp) and not _is_guard(op):
            fail(op, "expected one block in a condition, no else and no results")
        if type(op) not in _OF_STRUCTURE and not is_scalar(op):
            fail(op, f"expected only blocks in scheduled loops, found '{op.name}'")


def _is_guard(op: scf.IfOp) -> bool:
    """Return whether a condition holds a single block, and nothing else but index arithmetic."""
    steps = [step for step in steps_in(op) if not is_scalar(step) and not isinstance(step, scf.YieldOp)]
    return not op.output and not op.false_region.blocks and len(steps) == 1 and isinstance(steps[0], BlockOp)


def check_conditions(block: BlockOp) -> None:
    """Fail if a block has anything around it but loops and its own guard."""
    guard = guard_of(block)
    if guard is not None and not _is_guard(guard):
        fail(guard, "expected one block in a condition, no else and no results")
    scope = next((scope for scope in ancestors(guard or block) if not isinstance(scope, ForOp)), None)
    if not isinstance(scope, PrimFuncOp | BlockOp | None):
        fail(scope, f"expected loops only around {name_of_block(block)} and its own condition, found '{scope.name}'")


def check_serial(loop: ForOp) -> None:
    """Fail unless a loop is serial."""
    if loop.kind.data is not LoopKind.SERIAL:
        fail(loop, f"expected {label_of(loop)} to be a serial loop, found {loop.kind.data}")


def check_nested(loops: Sequence[ForOp]) -> None:
    """Fail unless each loop, outermost first, holds only the next one and index arithmetic."""
    for outer, inner in pairwise(loops):
        others = [op for op in outer.body.block.ops if op is not inner and not is_scalar(op)]
        if others:
            fail(outer, f"expected {label_of(inner)} to be all that {label_of(outer)} holds, found {_name(others[0])}")


def check_extents(nest: Sequence[ForOp]) -> None:
    """Fail if the extent of a loop is computed in the outermost one."""
    for loop in nest:
        if isinstance(loop.extent, SSAValue) and nest[0].is_ancestor(loop.extent.owner):
            fail(loop, f"expected the extent of {label_of(loop)} not to change in {label_of(nest[0])}")


def guard_of(block: BlockOp) -> scf.IfOp | None:
    """Return the guard of a block, the condition directly around it, if there is one."""
    parent = block.parent_op()
    return parent if isinstance(parent, scf.IfOp) else None


def conditions_of(block: BlockOp) -> list[SSAValue]:
    """Return the conjuncts of the guard of a block."""
    guard = guard_of(block)
    return conjuncts_of(guard.cond) if guard is not None else []


def conjuncts_of(condition: SSAValue) -> list[SSAValue]:
    """Return the conditions of which all hold where a condition holds."""
    match condition.owner:
        case arith.AndIOp(lhs=lhs, rhs=rhs):
            return conjuncts_of(lhs) + conjuncts_of(rhs)
        case _:
            return [condition]


def runs_for_all_values(block: BlockOp) -> bool:
    """Return whether the guard of a block, if any, only keeps its variables in range."""
    return all(any(_keeps_in_range(part, v) for v in block.iter_vars) for part in conditions_of(block))


def _keeps_in_range(condition: SSAValue, v: IterVar) -> bool:
    extent = v.extent if isinstance(v.extent, int) else IndexExpr.of(v.extent)
    return comparison_of(condition) in (("slt", index_of(v.binding) - extent), ("sge", index_of(v.binding)))


def comparison_of(condition: SSAValue) -> tuple[str, Index] | None:
    """Return a comparison by its predicate and the difference of its operands, which it compares with 0; None for other
    conditions."""
    op = condition.owner
    if not isinstance(op, arith.CmpiOp):
        return None
    return arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data], index_of(op.lhs) - index_of(op.rhs)


def steps_in(scope: Operation) -> Iterator[Operation]:
    """Yield the ops in the loops and conditionals of `scope`, in program order, without entering blocks."""
    pending = ops_directly_in(scope)
    while pending:
        op = pending.pop()
        yield op  # The ops next to it may change meanwhile.
        if op.regions and type(op) is not BlockOp:
            pending += ops_directly_in(op)


def is_scalar(op: Operation) -> bool:
    """Return whether an op computes an index or a condition from its operands alone."""
    return _is_arith(type(op)) and not op.regions


@cache
def _is_arith(kind: type[Operation]) -> bool:
    return kind.dialect_name() == "arith"


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
    """Return whether an op may trap, so that it must not be executed speculatively."""
    return isinstance(op, _DIVISIONS) and (constant_value(op.rhs) or 0) <= 0
