"""`tvm.relax.analysis`."""

from __future__ import annotations

from typing import overload

from xdsl.dialects.func import FuncOp

from relex.passes.driver.base import ModuleT
from relex.passes.graph.remove_unused import RemoveUnusedPass


@overload
def remove_all_unused(func: FuncOp) -> FuncOp: ...


@overload
def remove_all_unused(func: ModuleT) -> ModuleT: ...


def remove_all_unused(func: FuncOp | ModuleT) -> FuncOp | ModuleT:
    """Return a copy of a graph function, or of a module, without ops whose results are unused."""
    return RemoveUnusedPass()(func)
