"""Checks `T.reads` and `T.writes` against the accesses of a block."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from relex.dialects.index.bounds import range_of
from relex.dialects.index.from_ir import index_of
from relex.dialects.tir import BlockOp, ForOp, InitOp
from relex.dialects.tir.accesses import Access, accesses
from relex.frontend.script.declarations import expected_indices
from relex.frontend.script.expressions import Expressions
from relex.frontend.script.number_emitter import Literal
from relex.frontend.script.source import ScriptError, shown


@dataclass(frozen=True)
class _Region:
    """A region of a buffer: the first and last index in each dimension."""

    node: ast.expr
    buffer: SSAValue
    bounds: Sequence[tuple[SSAValue, SSAValue]]


def check_regions(expressions: Expressions, block: BlockOp, what: str, call: ast.Call) -> None:
    """Raise `ScriptError` if `T.writes` omits something that the block certainly writes, and warn if `T.reads` omits
    something that it reads: TVM prints such scripts, and the body is unambiguous.

    Both may name more than is accessed. As in TVM, a reduction does not read what its init writes.
    """
    scratch = Block()
    with expressions.scope.inside(scratch):
        nodes = [part for arg in call.args for part in (arg.elts if isinstance(arg, ast.List | ast.Tuple) else [arg])]
        regions = [_read_region(expressions, node) for node in nodes]
        missing: set[SSAValue] = set()
        for access in _accesses(block, is_write=what == "T.writes"):
            error = _missing(access, regions, what, call)
            if error is None or access.buffer in missing:
                continue
            if what == "T.writes":
                raise error
            missing.add(access.buffer)
            expressions.scope.unit.warn(error)
    for op in reversed(list(scratch.ops)):
        scratch.erase_op(op)


def _missing(access: Access, regions: Sequence[_Region], what: str, call: ast.Call) -> ScriptError | None:
    """Return an error if an access is certainly in none of the regions."""
    verb = what.removeprefix("T.")
    candidates = [region for region in regions if region.buffer is access.buffer]
    name = access.buffer.name_hint or "a buffer"
    if not candidates:
        return ScriptError(call, f"expected '{name}' in {what}, as the block {verb} it")
    if all(_misses(region, access) for region in candidates):
        found = ", ".join(shown(region.node) for region in candidates)
        return ScriptError(candidates[0].node, f"expected all that the block {verb} of '{name}', found {found}")
    return None


def _accesses(block: BlockOp, *, is_write: bool) -> Iterator[Access]:
    """Yield the reads or writes of a block to buffers from outside."""
    reduced = {a.buffer for a in accesses(block.init)} if block.init is not None else set[SSAValue]()
    for access in accesses(block):
        if access.is_write is not is_write or block.is_ancestor(access.buffer.owner):
            continue
        if is_write or access.buffer not in reduced:
            yield access


def _read_region(expressions: Expressions, node: ast.expr) -> _Region:
    if not isinstance(node, ast.Subscript):
        raise ScriptError(node, f"expected a part of a buffer, as in X[i, 0:8], found '{shown(node)}'")
    buffer, type = expressions.buffer(node.value)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    shape = type.get_shape()
    if len(parts) != len(shape):
        raise ScriptError(node, f"expected {expected_indices(type)}, found {len(parts)}")
    return _Region(node, buffer, [_bounds(expressions, part) for part in parts])


def _bounds(expressions: Expressions, node: ast.expr) -> tuple[SSAValue, SSAValue]:
    if not isinstance(node, ast.Slice):
        place = expressions.index(node)
        return place, place
    if node.upper is None or node.step is not None:
        raise ScriptError(node, "expected a range with an end and without a step, as 0:8")
    low = expressions.index(node.lower) if node.lower is not None else expressions.numbers.as_index(node, Literal(0))
    end = expressions.index(node.upper)
    return low, expressions.numbers.as_index(node, expressions.numbers.binary(node, ast.Sub(), end, Literal(1)))


def _misses(region: _Region, access: Access) -> bool:
    """Return whether an access is certainly outside of a region."""
    if len(region.bounds) != len(access.indices):
        return False
    always = _always_runs(access.op)
    for index, (low, high) in zip(access.indices, region.bounds, strict=True):
        for left, right in ((index, low), (high, index)):
            room = range_of(index_of(left) - index_of(right))
            if room is not None and (room.high < 0 or (always and room.exact and room.low < 0)):
                return True
    return False


def _always_runs(op: Operation) -> bool:
    """Return whether there are only loops between an access and its block."""
    scope = op.parent_op()
    while isinstance(scope, ForOp | InitOp):
        scope = scope.parent_op()
    return isinstance(scope, BlockOp)
