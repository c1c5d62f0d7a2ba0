"""
The operators as tensor expressions, for `BlockBuilder.call_te` and `LegalizeOpsPass`: `topi.nn.dense(x, w)` on tensors
of `relex.lowering.te` is the tensor that the operator computes.

The names are those of `relex.frontend.op`, with the same arguments. The expressions are those that `legalize-ops` makes
loops of, from the table in `relex.lowering.legalizations`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.utils.test_value import create_ssa_value

from relex.dialects.errors import RelexError
from relex.dialects.relex import OPERATORS, Operator
from relex.dialects.relex.types import without_names
from relex.dialects.table import find
from relex.dialects.tir import PrimFuncOp
from relex.frontend.call_site import refuse
from relex.lowering.legalizations import LEGALIZATIONS, apply_legalization
from relex.lowering.te import Tensor


def of(kind: type[Operator]) -> Callable[..., Any]:
    """Return the tensor expression of an operator as a function: of the tensors first, then of the properties that the
    operator's class takes. It returns a tensor, or a tuple of several."""

    def expression(*args: Tensor | Sequence[Tensor], **properties: Any) -> Tensor | tuple[Tensor, ...]:
        tensors = [tensor for arg in args for tensor in ([arg] if isinstance(arg, Tensor) else arg)]
        if wrong := [tensor for tensor in tensors if not isinstance(tensor, Tensor)]:  # pyright: ignore[reportUnnecessaryIsInstance]
            refuse(f"'{kind.name}' op expected 'te' tensors, found {wrong[0]!r}")
        types = [TensorType(t.type, without_names(t.shape)) for t in tensors]
        op = kind(*map(create_ssa_value, types), **properties)
        legalize = find(LEGALIZATIONS, op)
        if legalize is None:
            raise RelexError(f"'{kind.name}' op has no entry in the legalization table")
        results = apply_legalization(legalize, op, tensors)
        if isinstance(results, PrimFuncOp):
            raise RelexError(f"'{kind.name}' op is lowered to a finished loop function, not to a tensor expression")
        return results[0] if len(results) == 1 else tuple(results)

    expression.__name__ = kind.name.partition(".")[2]
    expression.__doc__ = inspect.getdoc(kind)
    return expression


nn = sys.modules[__name__]
"""This module itself, for the spelling `topi.nn.relu`."""

_EXPRESSIONS = {name: of(kind) for name, kind in OPERATORS.items()}

__all__ = ["nn", "of"]


# Not module globals: they would shadow Python's `sum` and `max`.
def __getattr__(name: str) -> Callable[..., Any]:
    if name not in _EXPRESSIONS:
        raise AttributeError(f"no operator '{name}'; there are {', '.join(sorted(_EXPRESSIONS))}")
    return _EXPRESSIONS[name]


def __dir__() -> list[str]:
    return sorted([*_EXPRESSIONS, *__all__])
