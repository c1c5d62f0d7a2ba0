"""The table of legalizations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from relex.dialects.relex import Operator
from relex.dialects.relex.operator import tensor_type
from relex.dialects.relex.types import SizedType
from relex.dialects.sizes import Size, Sizes, named, names_in, substitute
from relex.dialects.sizes.late import is_data_name
from relex.dialects.table import Table
from relex.dialects.tir import PrimFuncOp
from relex.lowering import te


@dataclass(frozen=True)
class CountAndFill:
    """What an operator becomes whose result sizes depend on elements."""

    counts: Mapping[str, te.Tensor]
    """For each `data_size` in the types of the results, by its name, a number of type i64."""
    fill: Callable[..., te.Tensor | Sequence[te.Tensor]]
    """A function from the operands, and the tensors that are kept, to the result or results."""
    kept: Sequence[te.Tensor] = ()
    """Further tensors that are computed together with the counts, of sizes that follow from the operands."""


Legalization = Callable[..., te.Tensor | Sequence[te.Tensor] | PrimFuncOp | CountAndFill]
"""A function from an operator and its operands, as tensors, to its result or results; or to a loop function on buffers
of the same types, with any body; or to two functions, if result sizes depend on elements."""

LEGALIZATIONS = Table[type[Operation], Legalization]("legalizations")
"""The table, by operator class."""


def lowered_by(op: Operator) -> str:
    """Return the package that made the entry by which an operator is lowered; "" if it has none."""
    modules = (LEGALIZATIONS.entered_by.get(kind, "") for kind in type(op).__mro__ if kind in LEGALIZATIONS)
    return next(modules, "").partition(".")[0]


def result_shape(op: Operator, *operands: te.Tensor) -> Sizes:
    """Return the shape of an operator's result for these operands, by its type rule. Sizes that depend on elements have
    their names."""
    return tuple(map(plain_size, op.infer([SizedType(t.type, t.shape) for t in operands], op.properties).get_shape()))


def plain_size(size: Size) -> Size:
    """Return a size with plain names for those that depend on elements."""
    return substitute(size, {name: named(name[1:]) for name in names_in(size) if is_data_name(name)})


def apply_legalization(
    legalize: Legalization, op: Operator, inputs: Sequence[te.Tensor]
) -> Sequence[te.Tensor] | PrimFuncOp | CountAndFill:
    """Return what a legalization makes of an operator on these inputs: its results, with the element types that the op
    says, a loop function, or a count and a fill."""
    computed = legalize(op, *_read(op, inputs))
    if isinstance(computed, PrimFuncOp | CountAndFill):
        return computed
    return _results(op, computed)


def apply_fill(
    part: CountAndFill, op: Operator, inputs: Sequence[te.Tensor], kept: Sequence[te.Tensor]
) -> Sequence[te.Tensor]:
    """Return the results of an operator whose sizes have been counted."""
    return _results(op, part.fill(*_read(op, inputs), *kept))


def _read(op: Operator, inputs: Sequence[te.Tensor]) -> Sequence[te.Tensor]:
    return inputs if op.MOVES else list(map(te.widened, inputs))


def _results(op: Operator, computed: te.Tensor | Sequence[te.Tensor]) -> Sequence[te.Tensor]:
    several = [computed] if isinstance(computed, te.Tensor) else computed
    types = [tensor_type(t).element_type for t in op.result_types]
    return [te.rounded(*of_one) for of_one in zip(several, types, strict=True)]


legalizes = LEGALIZATIONS.rule
"""Register a function in the table. Its parameter names become the names of the buffers."""
