"""Scalars as NumPy scalars of their exact type, and the functions that compute with them.

The functions also work on arrays of such numbers, elementwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IndexType, IntegerAttr, IntegerType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from relex.dialects.dtypes import array_from_dense, numpy_dtype
from relex.dialects.errors import DTypeError, unsupported
from relex.reference.interpreter.program import Binary, Frame, Preparation, Run, Unary

INDEX = np.dtype(np.int64)


def size(value: int | SSAValue, preparation: Preparation) -> Callable[[Frame], int]:
    """Return a function that reads an extent from a frame."""
    if isinstance(value, int):
        return lambda frame: value
    slot = preparation.slot(value)
    return lambda frame: int(frame[slot])


def dtype_of(op: Operation, t: Attribute) -> np.dtype[Any]:
    """Return the dtype of a scalar type, or of the elements of a vector type, for `op`."""
    if isa(t, VectorType):
        return dtype_of(op, t.element_type)
    if isinstance(t, IndexType):
        return INDEX
    try:
        return numpy_dtype(t)
    except DTypeError:
        unsupported(op, f"NumPy has no {t}")


def constant(op: Operation, attr: Attribute, t: Attribute) -> Any:
    """Return the number or the vector that an attribute of `op` holds."""
    dtype = dtype_of(op, t)
    if isa(t, VectorType) and isa(attr, DenseIntOrFPElementsAttr):
        if isinstance(t.element_type, IndexType):
            return np.array(attr.get_values(), dtype).reshape(t.get_shape())
        return array_from_dense(attr).astype(dtype).reshape(t.get_shape())
    if isinstance(attr, FloatAttr):
        with np.errstate(all="ignore"):
            return dtype.type(attr.value.data)
    if isa(attr, IntegerAttr):
        return wrap(attr.value.data, dtype)
    unsupported(op, f"expected a number, found {attr}")


def value_of(op: Operation, value: Any, t: Attribute) -> Any:
    """Return the value for a result of `op` in xDSL's interpreter, where numbers are attributes or Python's."""
    if isa(value, FloatAttr | IntegerAttr):
        return constant(op, value, t)
    if isinstance(value, float):
        return dtype_of(op, t).type(value)
    return wrap(value, dtype_of(op, t)) if isinstance(value, int) else value


def wrap(value: int, dtype: np.dtype[Any]) -> Any:
    """Return the number of an integer dtype that equals a Python integer modulo its range."""
    if dtype == np.bool_:
        return np.bool_(value & 1)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return unsigned.type(value & (2 ** (8 * dtype.itemsize) - 1)).view(dtype)


@dataclass(frozen=True)
class IntegerValues:
    """Conversion between the values of an integer type and signed or unsigned numbers.

    The values of i1 are booleans. As a signed number, true is -1.
    """

    dtype: np.dtype[Any]

    @property
    def is_bool(self) -> bool:
        """True for i1."""
        return self.dtype == np.bool_

    @property
    def width(self) -> int:
        """The width of the type in bits."""
        return 1 if self.is_bool else 8 * self.dtype.itemsize

    def signed(self, value: Any) -> Any:
        """Return a value as a signed number."""
        return -value.astype(np.int8) if self.is_bool else value

    def unsigned(self, value: Any) -> Any:
        """Return a value as an unsigned number."""
        return value.astype(np.uint8) if self.is_bool else value.view(f"u{self.dtype.itemsize}")

    def value(self, number: Any) -> Any:
        """Return the value that represents a number, modulo the range of the type."""
        if self.is_bool:
            return (number & 1).astype(np.bool_)
        return number.astype(self.dtype)

    def lifted(self, function: Unary | Binary, read: Unary) -> Run:
        """Lift a function of Python integers, which hold any number, to values of the type, read signed or unsigned."""

        def run(*values: Any) -> Any:
            found = np.frompyfunc(function, len(values), 1)(*(read(value).astype(object) for value in values))
            return self.value(np.asarray(found % 2**64).astype(np.uint64)[()])

        return run


def integers(op: Operation, t: Attribute) -> IntegerValues:
    """Return the conversion for an integer type, or for the elements of a vector type. `op` is where errors are
    reported."""
    if isa(t, VectorType):
        return integers(op, t.element_type)
    if not isa(t, IntegerType | IndexType):
        unsupported(op, f"expected an integer or index, found {t}")
    return IntegerValues(dtype_of(op, t))


_where: Any = np.where


def choose(condition: Any, a: Any, b: Any) -> Any:
    """Return `a` where a condition holds, else `b`."""
    if isinstance(condition, np.bool_):
        return a if condition else b
    return _where(condition, a, b)
