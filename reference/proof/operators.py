"""The meaning of graph operators on terms: that of their NumPy functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects import math
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from relex.dialects.dtypes import numpy_dtype, storage_of
from relex.dialects.relex import Exactness, Operator
from relex.dialects.relex.elementwise import Formula
from relex.reference.proof.arrays import Elements, Unknown
from relex.reference.proof.heads import head_of
from relex.reference.proof.terms import Terms

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array


class _Functions:
    """The functions of formulas."""

    maximum: Any = staticmethod(np.maximum)
    minimum: Any = staticmethod(np.minimum)
    select: Any = staticmethod(np.where)

    @staticmethod
    def erf(x: Elements) -> Elements:
        """Apply the error function."""
        return x.applied(head_of(math.ErfOp.name, x.dtype), [x])

    @staticmethod
    def cast(x: Elements, element_type: Attribute) -> Elements:
        """Convert to another type."""
        return x.astype(numpy_dtype(element_type))

    def __getattr__(self, name: str) -> Any:
        if name in ("bitcast", "power", "trunc_divide"):
            raise Unknown(name)
        return getattr(np, name)


def evaluate(
    op: Operator, terms: Terms, operands: Sequence[Array], dtypes: Sequence[np.dtype[Any]]
) -> tuple[tuple[Array, np.dtype[Any]], ...] | None:
    """Return the terms and dtypes of an operator's results by its NumPy meaning; None if that cannot be evaluated on
    symbols."""
    rounded = op.EXACTNESS is Exactness.ROUNDED
    types = (value.type for value in (*op.operands, *op.results))
    if any(isa(t, TensorType) and storage_of(t.element_type) != t.element_type for t in types):
        return None  # Terms do not know which integers are unsigned.
    arrays: list[Any] = [Elements(terms, x, d, is_rounded=rounded) for x, d in zip(operands, dtypes, strict=True)]
    try:
        constants = [found for x in operands if (found := terms.values(x)) is not None]
        if len(constants) == len(operands):
            plain = [np.asarray(x, d) for x, d in zip(constants, dtypes, strict=True)]
            return tuple((terms.constants(x), x.dtype) for x in map(np.asarray, op.evaluate_results(*plain)))
        found = (op.formula(_Functions(), *arrays),) if isinstance(op, Formula) else op.evaluate_results(*arrays)
        results = [x if isinstance(x, Elements) else arrays[0].lifted(np.asarray(x)) for x in found]
    except (Unknown, TypeError, ValueError, IndexError, AttributeError, KeyError):
        return None
    return tuple((x.ids, x.dtype) for x in results)
