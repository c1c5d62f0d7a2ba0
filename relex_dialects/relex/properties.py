"""Properties of graph operators, and their values in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from operator import index
from typing import Any, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint, BaseAttr, OptPropertyDef, PropertyDef

from relex.dialects.dtypes import ELEMENT_TYPES, ElementConstr, dense_integers, integer_limits
from relex.dialects.errors import DTypeError, InferenceError, RangeError, kind_of
from relex.dialects.relex.types import SizedType, tensor_type
from relex.dialects.upstream.attributes import float_attr
from relex.dialects.upstream.hints import isa

IntegersConstr = DenseArrayBase.constr(i64)
IntegerConstr = IntegerAttr.constr(i64)
Float64Constr = FloatAttr.constr(f64)
FlagConstr = BaseAttr(UnitAttr)
StringConstr = BaseAttr(StringAttr)
TextsConstr = BaseAttr(ArrayAttr)
ScalarConstr = FloatAttr.constr() | IntegerAttr.constr()
"""A number of any type, which is printed with its type: `0.5 : f32`."""

Scalar = FloatAttr | IntegerAttr


def integers(values: Sequence[int]) -> DenseArrayBase[IntegerType]:
    """Return a property that holds a list of integers."""
    return DenseArrayBase.from_list(i64, [_int64(value) for value in values])


def texts(values: Sequence[str]) -> ArrayAttr[StringAttr]:
    """Return a property that holds a list of texts."""
    return ArrayAttr(map(StringAttr, values))


def integer(value: int) -> IntegerAttr[IntegerType]:
    """Return a property that holds an integer."""
    return IntegerAttr(_int64(value), i64)


def _int64(value: int) -> int:
    if not -(1 << 63) <= (number := index(value)) < 1 << 63:
        raise RangeError(f"expected an integer of 64 bits, found {number}")
    return number


def flag(value: bool) -> UnitAttr | None:
    """Return a unit property, or None if it is not set."""
    if value not in (True, False):
        raise TypeError
    return UnitAttr() if value else None


def string(value: object) -> StringAttr:
    """Return a property that holds a text."""
    if not isinstance(value, str):
        raise TypeError
    return StringAttr(value)


def as_list(axis: int | Sequence[int] | None) -> Sequence[int] | None:
    """Return the dimensions in an argument that is one of them, or several."""
    if axis is None or isinstance(axis, Sequence):
        return axis
    try:
        return [index(axis)]
    except TypeError:  # Something else, which has its own error as a property.
        return cast("Sequence[int]", axis)


def scalar(value: float, element_type: Attribute) -> Scalar:
    """Return a number of an element type. Raises `InferenceError` if the type cannot represent it."""
    if isinstance(value, str | bytes):
        raise TypeError  # Python reads them as numbers.
    try:
        if isinstance(element_type, AnyFloat):
            return float_attr(float(value), element_type)
        low, high = integer_limits(element_type)
        if isa(element_type, IntegerType) and low <= value <= high and value == int(value):
            return IntegerAttr(int(value), element_type)
    except (OverflowError, ValueError):
        pass  # Too large for the float type, or no finite number for an integer type.
    raise InferenceError(f"expected a number of type {element_type}, found {value}")


_KINDS: Mapping[AttrConstraint, tuple[str, Callable[[Any, Attribute], Attribute | None] | None]] = {
    IntegersConstr: ("a list of integers", lambda value, _: integers(value)),
    IntegerConstr: ("an integer", lambda value, _: integer(value)),
    Float64Constr: ("a number", lambda value, _: scalar(value, f64)),
    StringConstr: ("a text", lambda value, _: string(value)),
    TextsConstr: ("a list of texts", lambda value, _: texts(value)),
    FlagConstr: ("True or False", lambda value, _: flag(value)),
    ScalarConstr: ("a number", lambda value, like: scalar(value, tensor_type(like).element_type)),
    ElementConstr: (f"one of {', '.join(map(str, ELEMENT_TYPES))}", None),
}
"""The description of the values of each kind of property, and their conversion to attributes, given the type of the
first operand; None if they are attributes in Python, too. Values of another kind raise `TypeError`."""


def as_property(name: str, value: object, constraint: AttrConstraint, like: Attribute) -> Attribute | None:
    """Return the attribute for the value of a property in Python; attributes, and None, stay as they are. `like` is the
    type of the first operand. Raises `DTypeError` for a value of the wrong kind."""
    if value is None or (isinstance(value, Attribute) and constraint.verifies(value)):
        return value
    expected, convert = _kind_of(constraint)
    if convert is not None and not isinstance(value, Attribute):
        with suppress(TypeError):
            return convert(value, like)
    raise DTypeError(f"expected {name} to be {expected}, found {_shown(value)}")


def check_given(declared: Mapping[str, PropertyDef], properties: Mapping[str, Attribute]) -> None:
    """Raise `DTypeError` if a property is missing that must be given."""
    for name, definition in declared.items():
        if name not in properties and not isinstance(definition, OptPropertyDef):
            raise DTypeError(f"expected {name} to be {_kind_of(definition.constr)[0]}, found None")


def _kind_of(constraint: AttrConstraint) -> tuple[str, Callable[[Any, Attribute], Attribute | None] | None]:
    return _KINDS.get(constraint, ("an attribute of the declared kind", None))


def _shown(value: object) -> str:
    if isinstance(value, Attribute):
        return str(value)
    if not isa(value, list[Any] | tuple[Any, ...]) or not value:
        return kind_of(value)
    return f"{kind_of(value)} of {' and '.join(dict.fromkeys(map(kind_of, value)))}"


def number(attr: Scalar) -> float:
    """Return the number in an attribute; an i1 is 0 or 1."""
    value = attr.value.data
    return abs(value) if attr.type == i1 else value


def as_integers(attr: Attribute) -> tuple[int, ...]:
    """Return the integers in a property, which may be only one. Raises `InferenceError` for any other attribute."""
    if isinstance(attr, IntegerAttr):
        return (attr.value.data,)
    found = dense_integers(attr)
    if found is None:
        raise InferenceError(f"expected an array of integers, found {attr}")
    return found


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


def python_value(attr: Attribute | None) -> Any:
    """Return a property as a value that the builders of operators take: a number, a text, a tuple, or the attribute
    itself."""
    match attr:
        case UnitAttr():
            return True
        case IntegerAttr() | FloatAttr():
            return number(attr)
        case StringAttr():
            return attr.data
        case DenseArrayBase() if (integers := dense_integers(attr)) is not None:
            return integers
        case _:
            return attr
