"""Properties of graph operators, and their values in Python."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    UnitAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from relex.dialects.errors import InferenceError
from relex.dialects.relex.operator import tensor_type
from relex.dialects.relex.types import SizedType

IntegersConstr = DenseArrayBase.constr(i64)
IntegerConstr = IntegerAttr.constr(i64)
Float64Constr = FloatAttr.constr(f64)
ScalarConstr = FloatAttr.constr() | IntegerAttr.constr()
"""A number of any type, which is printed with its type: `0.5 : f32`."""

Scalar = FloatAttr | IntegerAttr


def integers(values: Sequence[int]) -> DenseArrayBase[IntegerType]:
    """Return a property that holds a list of integers."""
    return DenseArrayBase.from_list(i64, list(values))


def integer(value: int) -> IntegerAttr[IntegerType]:
    """Return a property that holds an integer."""
    return IntegerAttr(value, i64)


def flag(value: bool) -> UnitAttr | None:
    """Return a unit property, or None if it is not set."""
    return UnitAttr() if value else None


def scalar(value: float, like: SSAValue | Operation) -> Scalar:
    """Return a number of a tensor's element type. Raises `InferenceError` if the type cannot represent it."""
    element_type = tensor_type(SSAValue.get(like).type).element_type
    try:
        if isinstance(element_type, AnyFloat):
            return FloatAttr(float(value), element_type)
        if isa(element_type, IntegerType) and value == int(value) and _fits(int(value), element_type):
            return IntegerAttr(int(value), element_type)
    except (OverflowError, ValueError):
        pass  # Too large for the float type, or no finite number for an integer type.
    raise InferenceError(f"expected a number of type {element_type}, found {value}")


def _fits(value: int, element_type: IntegerType) -> bool:
    if element_type == i1:
        return value in (0, 1)
    end = 1 << element_type.bitwidth - 1
    return -end <= value < end


def number(attr: Scalar) -> float:
    """Return the number in an attribute; an i1 is 0 or 1."""
    value = attr.value.data
    return abs(value) if attr.type == i1 else value


def as_integers(attr: Attribute) -> tuple[int, ...]:
    """Return the integers in a property. Raises `InferenceError` for any other attribute."""
    if not isa(attr, DenseArrayBase[IntegerType]):
        raise InferenceError(f"expected an array of integers, found {attr}")
    return tuple(attr.iter_values())


def expect_scalar(attr: Attribute, tensor: SizedType) -> float:
    """Return the number in a property. Raises `InferenceError` unless it has the element type of the tensor."""
    if not isa(attr, Scalar) or attr.type != tensor.element_type:
        raise InferenceError(f"expected a number of type {tensor.element_type}, found {attr}")
    return number(attr)


def as_integer(attr: Attribute) -> int:
    """Return the integer in a property. Raises `InferenceError` for any other attribute."""
    if not isa(attr, IntegerAttr):
        raise InferenceError(f"expected an integer, found {attr}")
    return attr.value.data
