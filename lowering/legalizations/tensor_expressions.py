"""Operators as tensor expressions: functions on tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block

from relex.dialects.errors import DTypeError, UnknownNameError, kind_of
from relex.dialects.relex import Operator
from relex.dialects.relex.types import without_names
from relex.dialects.table import find
from relex.dialects.tir import PrimFuncOp
from relex.lowering import te
from relex.lowering.legalizations.legalization_table import LEGALIZATIONS, CountAndFill, apply_legalization


@dataclass(frozen=True)
class TensorExpression:
    """An operator as a function: of tensors, and of the properties that the operator's class takes. It computes what
    the table of legalizations says."""

    kind: type[Operator]

    @property
    def __name__(self) -> str:
        return self.kind.name.partition(".")[2]

    def __call__(self, *args: te.Tensor | Sequence[te.Tensor], **properties: Any) -> te.Tensor | tuple[te.Tensor, ...]:
        """Return the result, or a tuple of several. Raises `InferenceError` for tensors that the operator does not
        accept."""
        tensors = [tensor for arg in args for tensor in _tensors(self.kind, arg)]
        types = [TensorType(t.type, without_names(t.shape)) for t in tensors]
        op = self.kind(*Block(arg_types=types).args, **properties)
        legalize = find(LEGALIZATIONS, op)
        if legalize is None:
            raise UnknownNameError(f"'{op.name}' op has no entry in the legalization table; add one with '@legalizes'")
        results = apply_legalization(legalize, op, tensors)
        if isinstance(results, CountAndFill):
            raise DTypeError(f"'{op.name}' op has a size that depends on elements, as no tensor expression has")
        if isinstance(results, PrimFuncOp):
            raise DTypeError(f"'{op.name}' op is lowered to a finished loop function, which is no tensor expression")
        return results[0] if len(results) == 1 else tuple(results)


def _tensors(kind: type[Operator], arg: object) -> Iterator[te.Tensor]:
    """Yield a tensor, or all tensors of a list."""
    for tensor in cast("Sequence[object]", arg) if isinstance(arg, list | tuple) else [arg]:
        if not isinstance(tensor, te.Tensor):
            raise DTypeError(f"'{kind.name}' op expected 'te' tensors, found {kind_of(tensor)}")
        yield tensor
