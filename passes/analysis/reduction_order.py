"""Reductions whose steps may be reordered."""

from __future__ import annotations

from math import inf, nan

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation

from relex.dialects.errors import fail
from relex.dialects.fast_math import may_reassociate
from relex.dialects.index.from_ir import index_of
from relex.dialects.tir import BlockOp, InitOp
from relex.dialects.tir.accesses import accesses
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import walk_of
from relex.passes.analysis.loop_tree import function_of, name_of_block

_EXACT = (
    arith.AddiOp,
    arith.MuliOp,
    arith.AndIOp,
    arith.OrIOp,
    arith.XOrIOp,
    arith.MaxSIOp,
    arith.MinSIOp,
    arith.MaxUIOp,
    arith.MinUIOp,
    arith.MaximumfOp,
    arith.MinimumfOp,
)
"""Ops that give the same result in any order."""

_ROUNDED = (arith.AddfOp, arith.MulfOp)
"""Ops that give the same result in any order up to rounding, which the flag `reassoc` allows."""

_LOWEST, _HIGHEST = "lowest", "highest"

_IDENTITIES: dict[type[Operation], float | str] = {
    arith.AddfOp: -0.0,
    arith.AddiOp: 0,
    arith.AndIOp: -1,
    arith.MaximumfOp: -inf,
    arith.MaxnumfOp: nan,
    arith.MaxSIOp: _LOWEST,
    arith.MaxUIOp: 0,
    arith.MinimumfOp: inf,
    arith.MinnumfOp: nan,
    arith.MinSIOp: _HIGHEST,
    arith.MinUIOp: -1,
    arith.MulfOp: 1.0,
    arith.MuliOp: 1,
    arith.OrIOp: 0,
    arith.XOrIOp: 0,
}


def identity_of(combine: Operation) -> float | None:
    """Return the identity element of the op that combines the steps of a reduction; None for other ops."""
    match _IDENTITIES.get(type(combine)):
        case str(extreme):
            kind = combine.results[0].type
            half = 1 << ((kind.width.data if isa(kind, IntegerType) else 64) - 1)
            return -half if extreme == _LOWEST else half - 1
        case identity:
            return identity


def combiner_of(block: BlockOp) -> Operation:
    """Return the op that combines the result of a block with a new term; fail if the order of its steps matters."""
    combine = update_of(block)
    reason = combine if isinstance(combine, str) else _order_of(combine)
    if reason is not None:
        fail(block, f"expected steps of {name_of_block(block)} that may be done in any order, but {reason}")
    assert isinstance(combine, Operation)
    return combine


def order_matters(block: BlockOp) -> str | None:
    """Return why the steps of a block's reduction must keep their order; None if they may be reordered."""
    combine = update_of(block)
    return combine if isinstance(combine, str) else _order_of(combine)


def update_of(block: BlockOp) -> Operation | str:
    """Return the sum, product, minimum or maximum that combines the result of a block with a new term, if that is all
    the block does; else the reason why its steps must keep their order.

    Such a block reads one element, combines it with a value that does not depend on it, and writes it back.
    """
    body = [op for op in block.body.block.ops if not isinstance(op, InitOp)]
    stores = [op for op in body if isinstance(op, memref.StoreOp)]
    if len(stores) != 1 or sum(access.is_write for op in body for access in accesses(op)) != 1:
        return "it writes more than one element a step"
    (store,) = stores
    combine = store.value.owner
    if not isinstance(combine, _EXACT + _ROUNDED):
        return "it is no sum, product, minimum or maximum"
    loads = [op for op in walk_of(block, memref.LoadOp) if op.memref is store.memref]
    is_same = len(loads) == 1 and [*map(index_of, loads[0].indices)] == [*map(index_of, store.indices)]
    if not is_same or loads[0] not in body:
        return "it reads more than the element that it writes"
    (load,) = loads
    if [use.operation for use in load.res.uses] != [combine]:
        return "it uses the element that it writes more than once"
    return combine


def _order_of(combine: Operation) -> str | None:
    """Return why the steps that an op combines must keep their order; None if they may be reordered."""
    if isinstance(combine, _ROUNDED) and not may_reassociate(combine):
        is_strict = function_of(combine).strict
        why = "as the function is strict" if is_strict else "which 'annotate-fast-math' adds to reductions"
        return f"'{combine.name}' lacks the flag 'reassoc', {why}"
    return None
