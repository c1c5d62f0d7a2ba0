"""The sizes in the functions of a module."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from xdsl.dialects import memref, tensor
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp, IfOp, IndexSwitchOp, WhileOp
from xdsl.ir import Attribute, Operation, SSAValue

from relex.dialects.errors import PassError, fail
from relex.dialects.index.from_ir import EXPRESSIONS
from relex.dialects.relex import CallTirOp, MatchSizesOp, Operator

# Imported to register their rules.
from relex.dialects.sizes import accesses as accesses
from relex.dialects.sizes import control as control
from relex.dialects.sizes import rules as rules
from relex.dialects.sizes.attributes import FunctionSizes, has_unknown
from relex.dialects.sizes.expressions import Sizes
from relex.dialects.sizes.function_analysis import FunctionAnalysis
from relex.dialects.sizes.late import LateSizes
from relex.dialects.symbols import lookup
from relex.dialects.tir import PrimFuncOp
from relex.dialects.walks import walk


def has_unknown_sizes(module: ModuleOp) -> bool:
    """Return whether any graph function or loop function of a module has a `?`."""
    return not all(is_static(op) for op in module.ops if isinstance(op, FuncOp | PrimFuncOp))


def is_static(function: Operation) -> bool:
    """Return whether all sizes in a graph function or loop function, and in loop functions that it calls, are
    static."""
    kind = MemRefType if isinstance(function, PrimFuncOp) else TensorType
    return not any(_mentions_unknown(op, kind) for op in function.walk())


def _mentions_unknown(op: Operation, kind: type[Attribute]) -> bool:
    # Each operand is a result or an argument in the same function.
    types = [*op.result_types]
    types += [arg.type for region in op.regions for block in region.blocks for arg in block.args]
    if isinstance(op, FuncOp):
        types += [*op.function_type.inputs, *op.function_type.outputs]
    if any(isinstance(t, kind) and has_unknown(t) for t in types):
        return True
    callee = lookup(op, op.callee) if isinstance(op, CallTirOp) else None
    return isinstance(callee, PrimFuncOp) and any(map(has_unknown, callee.function_type.inputs))


def may_have_late_sizes(function: Operation) -> bool:
    """Return whether sizes in a graph function may be known, or required, only in the middle of a run."""
    return isinstance(function, FuncOp) and any(map(_may_be_late, walk(function)))


def _may_be_late(op: Operation) -> bool:
    if isinstance(op, Operator | MatchSizesOp):
        return not isinstance(op, Operator) or op.COUNTS
    if isinstance(op, ForOp | WhileOp | IfOp | IndexSwitchOp):
        return True  # It counts its trips, or takes a branch.
    return IndexType() in op.result_types and not isinstance(op, (ConstantOp, tensor.DimOp, memref.DimOp, *EXPRESSIONS))


def sizes_at_entry(function: Operation) -> FunctionSizes:
    """Return the sizes of a function's arguments as the program states them, without looking at its body."""
    return FunctionAnalysis(function, sizes_at_entry).run(body=False)


_analysed: ContextVar[dict[Operation, FunctionSizes] | None] = ContextVar("analysed", default=None)


@contextmanager
def keeping_sizes() -> Generator[None]:
    """Let `keep_sizes` keep sizes of functions in the `with` block."""
    token = _analysed.set({})
    try:
        yield
    finally:
        _analysed.reset(token)


def keep_sizes(found: Mapping[Operation, FunctionSizes]) -> None:
    """Keep sizes of functions that stay as they are until the next call of this function, which replaces them."""
    if (kept := _analysed.get()) is not None:
        kept.clear()
        kept.update(found)


class ModuleSizes:
    """The sizes in the functions of a module, each computed on first use.

    Raises `PassError` at an op whose sizes never fit, or do not follow from the sizes of the function's arguments.
    """

    def __init__(self) -> None:
        self._found: dict[Operation, tuple[FunctionSizes, dict[SSAValue, Sizes], LateSizes] | None] = {}

    @classmethod
    def of_all(cls, module: ModuleOp) -> ModuleSizes:
        """Compute the sizes of all graph functions that have a body, in their present state."""
        sizes = cls()
        for op in module.ops:
            if isinstance(op, FuncOp) and op.body.blocks:
                sizes.of(op)
        return sizes

    def of(self, function: Operation) -> FunctionSizes:
        """Return the sizes of the arguments and results of a `func.func` or `tir.prim_func`."""
        kept = (_analysed.get() or {}).get(function)
        return kept if kept is not None else self._analyse(function)[0]

    def inside(self, function: Operation) -> dict[SSAValue, Sizes]:
        """Return the sizes of the values in a function, as far as they are known. An index has one size, its value."""
        return self._analyse(function)[1]

    def late(self, function: Operation) -> LateSizes:
        """Return the sizes in a graph function that are known only in the middle of a run."""
        return self._analyse(function)[2]

    def _analyse(self, function: Operation) -> tuple[FunctionSizes, dict[SSAValue, Sizes], LateSizes]:
        if function not in self._found and is_static(function):
            self._found[function] = sizes_at_entry(function), {}, LateSizes()
        if function not in self._found:
            self._found[function] = None
            analysis = FunctionAnalysis(function, self.of, late=isinstance(function, FuncOp))
            try:
                self._found[function] = analysis.run(), analysis.sizes_by_value(), analysis.late_sizes
            except PassError:
                del self._found[function]
                raise
        found = self._found[function]
        if found is None:
            fail(function, "is recursive: sizes of recursive functions cannot be inferred")
        return found
