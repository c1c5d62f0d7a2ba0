"""The description of a function that `relex-run` prints if the function gets no arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import SSAValue
from xdsl.traits import SymbolTable

from relex.dialects.exceptions import ShapeError
from relex.dialects.index.values import evaluate
from relex.dialects.relex import CallTirOp
from relex.dialects.sizes import names_in
from relex.dialects.sizes.analysis import SizeAnalysis
from relex.dialects.sizes.attributes import sizes_in_type
from relex.dialects.sizes.modules import sizes_at_entry
from relex.dialects.tir import PrimFuncOp
from relex.lowering.legalize_ops import LegalizeOpsPass
from relex.passes.analysis.work import work_of
from relex.tools.random_inputs import with_default_sizes

if TYPE_CHECKING:
    from relex.dialects.signature import Signature, TensorSpec


def describe_function(signature: Signature, module: ModuleOp | None) -> str:
    """Return lines about a function: its signature, what a call costs, and how to call it. `module` is the program, if
    it is known."""
    values = with_default_sizes(signature, {})
    costs = list(_costs(signature, module, values))
    sizes = ",".join(f"{name}={value}" for name, value in values.items())
    call = f"a call with {sizes}" if sizes else "a call"
    made_up = f"--random {sizes}" if sizes else "--random"
    return "\n".join(
        [
            str(signature),
            *([f"{call}: {', '.join(costs)}"] if costs else []),
            f"arguments are given by --input, or made up by {made_up}",
        ]
    )


def _costs(signature: Signature, module: ModuleOp | None, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield what a call with these sizes costs; nothing if they cannot be called."""
    try:
        signature.check(sizes)
    except ShapeError:
        return
    shapes = [spec.shape_with(sizes) for spec in signature.inputs]
    if module is not None and (flops := count_flops(module, signature.name, shapes)) is not None:
        yield _short(flops, " floating-point operations")
    for what, specs in (("arguments", signature.inputs), ("results", signature.outputs)):
        yield _short(sum(_bytes(spec, sizes) for spec in specs), f"B of {what}")
    if memory := max((evaluate(size, sizes) for size in signature.temporaries), default=0):
        yield _short(memory, "B of memory in between")


def _bytes(spec: TensorSpec, sizes: Mapping[str, int]) -> int:
    return spec.dtype.itemsize * (1 if spec.is_scalar else prod(spec.shape_with(sizes)))


def count_flops(module: ModuleOp, name: str, arguments: Sequence[Sequence[int]] = ()) -> int | None:
    """Return the number of floating-point operations of a call of a graph function, before any of them are fused; None
    if that depends on data, or on sizes that the shapes of `arguments` do not tell, or is not known."""
    lowered = LegalizeOpsPass()(module)
    function = SymbolTable.lookup_symbol(lowered, name)
    if not isinstance(function, func.FuncOp):
        return None
    shape_of = _shapes_in(function, arguments)
    total = 0
    for op in function.walk():
        if isinstance(op, func.CallOp) or (op.name.startswith("relex.call") and not isinstance(op, CallTirOp)):
            return None
        if isinstance(op, CallTirOp):
            callee = SymbolTable.lookup_symbol(op, op.callee)
            shapes = [shape_of(value) for value in (*op.arguments, *op.results)]
            if not isinstance(callee, PrimFuncOp) or any(DYNAMIC_INDEX in shape for shape in shapes):
                return None
            if (flops := work_of(callee, shapes).flops) is None:
                return None
            total += flops
    return total


def _shapes_in(function: func.FuncOp, arguments: Sequence[Sequence[int]]) -> Callable[[SSAValue], Sequence[int]]:
    """Return a function to the shapes of values in a call on arguments of these shapes, -1 where a size is unknown."""
    analysis = SizeAnalysis(function, sizes_at_entry)
    sources = analysis.run().sources
    known = {name: arguments[i][d] for name, (i, d) in sources.items() if i < len(arguments) and d < len(arguments[i])}
    sizes = analysis.sizes_by_value()

    def shape_of(value: SSAValue) -> Sequence[int]:
        found = sizes.get(value, sizes_in_type(value.type))
        return [evaluate(s, known) if known.keys() >= set(names_in(s)) else DYNAMIC_INDEX for s in found]

    return shape_of


def _short(number: int, what: str) -> str:
    """Format a number of things with three digits and a prefix: `401 kB`."""
    for prefix, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.3g} {prefix}{what}"
    return f"{number} {what.lstrip()}"
