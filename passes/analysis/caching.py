"""
Analyses that are computed once and asked often.

    @analysis
    def stores(function: PrimFuncOp) -> int:
        return sum(access.is_write for access in accesses(function))

    stores(function)  # computed
    stores(function)  # the same result, unless the function has changed
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any, Generic, TypeVar

from xdsl.ir import Operation

OpT = TypeVar("OpT", bound=Operation)
ResultT = TypeVar("ResultT")

_RESULTS = "_relex_analyses"
"""The attribute of an op object with the results of its analyses."""


class Analysis(Generic[OpT, ResultT]):
    """A function of an op that is computed again only after the op has changed; made by `analysis`."""

    def __init__(self, compute: Callable[[OpT], ResultT]):
        self._compute = compute
        update_wrapper(self, compute)

    def __call__(self, op: OpT) -> ResultT:
        state = _state_of(op)
        kept = self.kept(op, state)
        if kept is None:
            kept = Kept(state, self._compute(op))
            # They live as long as the op does, and are not copied with it.
            vars(op)[_RESULTS] = {**_results_of(op), self: kept}
        return kept.result

    def kept(self, op: Operation, state: list[object]) -> Kept | None:
        """Return the result for an op, if there is one for this state."""
        kept = _results_of(op).get(self)
        return kept if kept is not None and kept.state == state else None


@dataclass
class Kept:
    """The result of an analysis, with the state of the op that it is for."""

    state: list[object]
    result: Any


def analysis(compute: Callable[[OpT], ResultT]) -> Analysis[OpT, ResultT]:
    """
    Turn a function of an op into an analysis.

    It may read the op and everything in it, but nothing else: an analysis that looks at the callees of a function is
    one of the module. Its result, which is handed out again, should not be changed. The comparison that finds changes
    takes a walk over the op; a loop that asks often does so once, before it begins.
    """
    return Analysis(compute)


@contextmanager
def keeping(scope: Operation, *analyses: Analysis[Any, Any]) -> Generator[None]:
    """Declare that the changes made in a `with` statement to `scope`, and to ops in it, do not affect what these
    analyses say of it and of the ops that remain in it. Results that were outdated before stay so."""
    asked = [op for op in scope.walk() if not _results_of(op).keys().isdisjoint(analyses)]
    states = {op: _state_of(op) for op in asked}
    found = [(op, kept) for op in asked for one in analyses if (kept := one.kept(op, states[op])) is not None]
    yield
    for op, kept in found:
        kept.state = _state_of(op)


def _results_of(op: Operation) -> Mapping[Analysis[Any, Any], Kept]:
    return vars(op).get(_RESULTS, {})


def _state_of(root: Operation) -> list[object]:
    """Return what makes up an op: everything in it but names and locations. Ops and values are compared by identity,
    types and attributes by their contents."""
    state: list[object] = []
    pending = [root]
    while pending:
        op = pending.pop()
        state += (op, tuple(op.operands), op.result_types, op.properties.copy(), op.attributes.copy(), op.successors[:])
        for region in op.regions:
            for block in region.blocks:
                inner = list(block.ops)
                state += (block, block.arg_types, len(inner))
                pending += reversed(inner)
    return state
