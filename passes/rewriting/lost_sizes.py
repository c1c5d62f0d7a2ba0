"""Conditions on sizes that the removal of unused ops would lose, stated at the functions that have them."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import memref, tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from relex.dialects.errors import PassError
from relex.dialects.relex import DataflowOp
from relex.dialects.sizes.analysis import SIZES
from relex.dialects.sizes.attributes import FunctionSizes, annotate, has_unknown
from relex.dialects.sizes.modules import ModuleSizes, is_static, may_have_late_sizes
from relex.dialects.symbols import is_private
from relex.dialects.tir import PrimFuncOp
from relex.passes.rewriting.late_checks import insert_checks


@dataclass
class LostSizes:
    """The sizes of the public functions of a module before the first op is removed that may have a condition on sizes.

    A program requires what its ops require as they are written, used or not.
    """

    module: ModuleOp
    _before: dict[Operation, FunctionSizes] | None = field(default=None, init=False)

    def check_late(self) -> None:
        """Let graph functions check what ops require of late sizes, or in a branch, before any op is removed: they
        cannot state it."""
        sizes = ModuleSizes()
        for function in [op for op in self.module.ops if isinstance(op, FuncOp) and op.body.blocks]:
            if not may_have_late_sizes(function) or is_static(function):
                continue
            try:
                late = sizes.late(function)
            except PassError:
                continue
            if late.checks:
                insert_checks(self.module, function, late)

    def note_removal(self, op: Operation) -> None:
        """Note that an op is about to be removed. The sizes are inferred once, if it has a dynamic size."""
        if self._before is None and any(map(_may_require, op.walk())):
            self.note_any()

    def note_any(self) -> None:
        """Note that any op may be removed."""
        if self._before is None:
            self._before = sizes_of_public_functions(self.module)

    def state(self) -> None:
        """State the sizes and conditions of functions that lost any."""
        if not self._before:
            return
        after = sizes_of_public_functions(self.module)
        for function, before in self._before.items():
            if _conditions(before) != _conditions(after.get(function)):
                annotate(function, before)


def _may_require(op: Operation) -> bool:
    if isinstance(op, tensor.DimOp | memref.DimOp) or SIZES.find(op) is None:
        return False
    if isinstance(op, DataflowOp):
        return False  # What is in it counts. One that is replaced has no region any more.
    return any(map(has_unknown, (*op.operand_types, *op.result_types)))


def sizes_of_public_functions(module: ModuleOp) -> dict[Operation, FunctionSizes]:
    """Return the sizes of the public functions; without those whose sizes do not follow from their arguments."""
    sizes, found = ModuleSizes(), dict[Operation, FunctionSizes]()
    for function in module.ops:
        if isinstance(function, FuncOp | PrimFuncOp) and not is_private(function) and function.body.blocks:
            try:
                found[function] = sizes.of(function)
            except PassError:
                continue
    return found


def _conditions(sizes: FunctionSizes | None) -> object:
    return sizes and (sizes.arguments, frozenset(sizes.requirements))
