"""The meaning of graph operators in a domain: the meaning of their NumPy functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.utils.hints import isa
from xdsl.utils.test_value import create_ssa_value

from relex.dialects.arrays import Array
from relex.dialects.dtypes import SUB_BYTE, element_type_of, integer_limits, is_emulated, is_float_dtype, numpy_dtype
from relex.dialects.relex import Exactness, Operator
from relex.dialects.relex.elementwise import Formula
from relex.dialects.relex.operator import tensor_type
from relex.dialects.tir import TableLookUpOp, table_of
from relex.reference.domains.domain import Domain
from relex.reference.domains.elements import Elements, Unknown
from relex.reference.domains.symbols import head_for, head_of
from relex.reference.interpreter.arith import interpret_look_up
from relex.reference.interpreter.memory import signless

_where: Any = np.where


class _Functions:
    """The functions of formulas."""

    select: Any = staticmethod(np.where)

    @staticmethod
    def erf(x: Elements) -> Elements:
        """Apply the error function."""
        return x.applied(head_of(math.ErfOp.name, x.dtype), [x])

    @staticmethod
    def cast(x: Any, element_type: Attribute) -> Any:
        """Convert to another type: floats to integers towards zero, those out of range to the nearest, NaN to 0."""
        dtype = numpy_dtype(element_type)
        if dtype == x.dtype:
            return x
        if dtype.kind == "b":
            return np.not_equal(x, 0)
        if not is_float_dtype(x.dtype) or is_float_dtype(dtype):
            return x.astype(dtype)
        small, large = integer_limits(element_type)
        low, end = float(small), float(large) + 1
        inside: Any = _where((x >= low) & (x < end), x, 0)
        op = arith.FPToUIOp if dtype.kind == "u" else arith.FPToSIOp

        def convert(value: Any) -> Any:
            return np.asarray(value).astype(dtype).view(signless(dtype))

        converted = inside.converted(op.name, dtype, convert)
        below, above = (x.lifted(np.asarray(n, dtype)) for n in (small, large))
        return _where(x < low, below, _where(x >= end, above, converted))

    @staticmethod
    def bitcast(x: Elements, element_type: Attribute) -> Elements:
        """Reinterpret the bits."""
        return x.reinterpreted(numpy_dtype(element_type))

    @staticmethod
    def look_up(x: Elements, table: Sequence[float], element_type: Attribute) -> Elements:
        """Look numbers up in a table."""
        op = TableLookUpOp(create_ssa_value(element_type_of(signless(x.dtype))), table_of(table, element_type))
        return x.derived(x.applied(head_for(op, interpret_look_up(op)), [x]).cells, numpy_dtype(element_type))

    @staticmethod
    def trunc_divide(x: Elements, y: Elements) -> Elements:
        """Divide integers, rounding towards zero."""
        return x.called("trunc_divide", y)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def evaluate(op: Operator, domain: Domain, operands: Sequence[Array]) -> tuple[tuple[Array, np.dtype[Any]], ...] | None:
    """Return the cells and dtypes of an operator's results by its NumPy meaning, given the cells of its operands; None
    if that cannot be evaluated in the domain."""
    rounded = op.EXACTNESS is Exactness.ROUNDED
    types = [value.type.element_type for value in (*op.operands, *op.results) if isa(value.type, TensorType)]
    if any(t in SUB_BYTE for t in types):
        return None
    dtypes = [numpy_dtype(t) for t in types[: len(operands)]]
    arrays: list[Any] = [Elements(domain, x, d, is_rounded=rounded) for x, d in zip(operands, dtypes, strict=True)]
    try:
        if (domain.folds or not arrays) and (numbers := _numbers(arrays)) is not None:
            found = [x.view(signless(x.dtype)) for x in map(np.asarray, op.evaluate_results(*numbers))]
            return tuple((domain.constants(x), x.dtype) for x in found)
        found = _formula(op, arrays) if isinstance(op, Formula) else op.evaluate_results(*arrays)
        results = [x if isinstance(x, Elements) else arrays[0].lifted(np.asarray(x)) for x in found]
    except (Unknown, TypeError, ValueError, IndexError, AttributeError, KeyError, OverflowError):
        return None
    return tuple((x.cells, signless(x.dtype)) for x in results)


def _numbers(arrays: Sequence[Elements]) -> list[Array] | None:
    """Return the numbers of arrays, if all are known."""
    try:
        return [x.known() for x in arrays]
    except Unknown:
        return None


def _formula(op: Formula, arrays: Sequence[Elements]) -> tuple[Any]:
    """Return the result of a formula, computed with f32 in place of floats without arithmetic."""
    narrow = [is_emulated(element_type_of(x.dtype)) for x in arrays]
    if op.MOVES or not any(narrow):
        return (op.formula(_Functions(), *arrays),)
    wide = [x.astype(np.float32) if n else x for x, n in zip(arrays, narrow, strict=True)]
    found, element_type = op.formula(_Functions(), *wide), tensor_type(op.result.type).element_type
    return (found.astype(numpy_dtype(element_type)) if is_emulated(element_type) else found,)
