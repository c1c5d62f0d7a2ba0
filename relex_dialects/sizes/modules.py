"""The sizes in the functions of a module."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from relex.dialects.errors import fail

# It fills the table of rules when it is imported.
from relex.dialects.sizes import rules as rules
from relex.dialects.sizes.analysis import SizeAnalysis
from relex.dialects.sizes.attributes import FunctionSizes, has_unknown
from relex.dialects.sizes.expressions import Sizes


def has_unknown_sizes(module: ModuleOp) -> bool:
    """Whether any type in a module has a `?`."""
    return any(has_unknown(t) for op in module.walk() for t in _types(op))


def _types(op: Operation) -> Iterator[Attribute]:
    yield from op.result_types
    yield from op.operand_types
    yield from (arg.type for region in op.regions for block in region.blocks for arg in block.args)


class ModuleSizes:
    """The sizes in the functions of a module, each found when it is first asked for.

    Raises `PassError` at an op whose sizes never fit, or do not follow from those of the function's arguments.
    """

    def __init__(self) -> None:
        self._found: dict[Operation, tuple[FunctionSizes, dict[SSAValue, Sizes]] | None] = {}

    def of(self, function: Operation) -> FunctionSizes:
        """The sizes of the arguments and results of a `func.func` or `tir.prim_func`."""
        return self._analyse(function)[0]

    def inside(self, function: Operation) -> dict[SSAValue, Sizes]:
        """The sizes of the values in a function, where they are known. An index has one: itself."""
        return self._analyse(function)[1]

    def _analyse(self, function: Operation) -> tuple[FunctionSizes, dict[SSAValue, Sizes]]:
        if function not in self._found:
            self._found[function] = None
            analysis = SizeAnalysis(function, self.of)
            self._found[function] = analysis.run(), analysis.sizes_by_value()
        found = self._found[function]
        if found is None:
            fail(function, "calls itself, so that its sizes cannot be told")
        return found
