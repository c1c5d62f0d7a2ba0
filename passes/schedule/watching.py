"""Record of the steps of schedules, for those who check them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.traits import SymbolTable

from relex.dialects.schedule import PrimitiveOp
from relex.dialects.symbols import symbols_used
from relex.dialects.tir import PrimFuncOp


@dataclass(frozen=True)
class AppliedPrimitive:
    """A primitive that was applied."""

    primitive: PrimitiveOp
    function: str
    before: ModuleOp
    """The function before it, with all functions that it calls."""
    after: ModuleOp


_TAKEN: ContextVar[list[AppliedPrimitive] | None] = ContextVar("steps taken", default=None)


@contextmanager
def recorded_steps() -> Generator[list[AppliedPrimitive]]:
    """Record the primitives that are applied in the body, including primitives of schedules that are given up."""
    token = _TAKEN.set(taken := [])
    try:
        yield taken
    finally:
        _TAKEN.reset(token)


@contextmanager
def recording(primitive: PrimitiveOp, func: PrimFuncOp) -> Generator[None]:
    """Record the body, which applies a primitive, if anyone wants to know."""
    taken = _TAKEN.get()
    if taken is None:
        yield
        return
    before = _alone(func)
    yield
    taken.append(AppliedPrimitive(primitive.clone(), func.sym_name.data, before, _alone(func)))


def _alone(func: PrimFuncOp) -> ModuleOp:
    """Return a module of a function and those that it calls."""
    found: dict[str, Operation] = {func.sym_name.data: func}
    pending = [*symbols_used(func)]
    while pending:
        name = pending.pop()
        called = SymbolTable.lookup_symbol(func, name) if name not in found else None
        if called is not None:
            found[name] = called
            pending.extend(symbols_used(called))
    copies = [op.clone() for op in found.values()]
    first = copies[0]
    assert isinstance(first, PrimFuncOp)
    first.sym_visibility = None
    return ModuleOp(copies)
