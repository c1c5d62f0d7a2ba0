"""Loops that nests may share."""

from __future__ import annotations

from relex.dialects.tir import ForOp, PrimFuncOp
from relex.dialects.tir.accesses import accesses
from relex.dialects.tir.indices import known_size
from relex.passes.analysis.alias import may_alias
from relex.passes.analysis.dependence import LoopAccess, may_conflict
from relex.passes.analysis.sharing import is_spatial


def may_be_one(first: ForOp, second: ForOp, function: PrimFuncOp) -> bool:
    """Return whether two loops may run iteration by iteration: those with different numbers do not conflict."""
    if (first.kind, first.attributes) != (second.kind, second.attributes):
        return False
    if known_size(first.extent) != known_size(second.extent) or not (is_spatial(first) and is_spatial(second)):
        return False
    apart = [(first.variable, second.variable)]
    return not any(
        may_conflict(LoopAccess.of(a), LoopAccess.of(b), function, apart)
        for a in accesses(first)
        for b in accesses(second)
        if (a.is_write or b.is_write) and may_alias(a.buffer, b.buffer, function)
    )
