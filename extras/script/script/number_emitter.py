"""Numbers in loop functions: their types, and arithmetic on them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, bf16, f16, f32, i1, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from relex.dialects.dtypes import is_unsigned
from relex.dialects.upstream.attributes import float_attr
from relex.frontend.script.constants import ARITHMETIC, compute
from relex.frontend.script.dtypes import NO_UNSIGNED, name_of_type
from relex.frontend.script.scalar_functions import OPERATORS, NumberFunction
from relex.frontend.script.scope import Scope
from relex.frontend.script.source import ScriptError, shown
from relex.lowering.te.scalars import build_constant, build_conversion

index = IndexType()


@dataclass(frozen=True)
class Literal:
    """A number in a script. Without a type it takes the type of the other operands."""

    value: int | float
    type: Attribute | None = None


@dataclass(frozen=True)
class Size:
    """A dynamic size, by name."""

    name: str


Scalarlike = SSAValue | Literal


class NumberEmitter:
    """Emits ops on numbers.

    All indices have type `index`, whether the script uses 32 or 64 bits for them.
    """

    def __init__(self, scope: Scope):
        self._scope = scope

    def binary(self, node: ast.AST, op: ast.operator, left: Scalarlike, right: Scalarlike) -> Scalarlike:
        """Apply a Python operator."""
        if type(op) not in OPERATORS:
            raise ScriptError(node, "expected one of the operators + - * / // % ** & | ^ << >>")
        function = OPERATORS[type(op)]
        if isinstance(op, ast.FloorDiv | ast.Mod) and isinstance(right, Literal) and right.value == 0:
            raise ScriptError(node, "expected a divisor other than 0")
        return _fold(node, op, left, right) or self.apply(node, function, left, right)

    def apply(self, node: ast.AST, function: NumberFunction, *values: Scalarlike) -> SSAValue:
        """Apply a function to numbers converted to a common type."""
        converted = self.convert_all(node, values)
        try:
            return function.build(lambda op: self._scope.emit(node, op).results[0], converted)
        except ValueError:
            found = name_of_type(converted[0].type)
            raise ScriptError(node, f"'{_called(node)}' is not supported on {found}") from None

    def convert_all(self, node: ast.AST, values: Sequence[Scalarlike]) -> list[SSAValue]:
        """Convert numbers to their common type."""
        type = self.common_type(node, values)
        return [self.convert(node, value, type) for value in values]

    def common_type(self, node: ast.AST, values: Sequence[Scalarlike]) -> Attribute:
        """Return the type to compute in: float if there is one, else index, else integer, and the widest of them."""
        known = {value.type for value in values if value.type is not None}
        floats = {t for t in known if isinstance(t, AnyFloat)}
        if floats:
            if {f16, bf16} <= floats:
                raise ScriptError(node, "expected numbers of one type, found float16 and bfloat16")
            return max(floats, key=lambda t: t.bitwidth)
        if any(isinstance(value, Literal) and isinstance(value.value, float) for value in values):
            return f32
        if any(isinstance(value, SSAValue) and value.type == index for value in values):
            return index
        integers = {t for t in known if isa(t, IntegerType) and t != i1}
        if integers:
            return max(integers, key=lambda t: t.bitwidth)
        return i1 if known else i32

    def as_index(self, node: ast.AST, value: Scalarlike) -> SSAValue:
        """Convert an integer to an index."""
        if isinstance(value, Literal):
            if not isinstance(value.value, int) or value.type == i1 or isinstance(value.type, AnyFloat):
                raise ScriptError(node, f"expected an integer, found {value.value}")
        elif isinstance(value.type, AnyFloat) or value.type == i1:
            raise ScriptError(node, f"expected an integer, found a number of {name_of_type(value.type)}")
        return self.convert(node, value, index)

    def convert(self, node: ast.AST, value: Scalarlike, type: Attribute) -> SSAValue:
        """Convert a number to a type; floats are truncated toward zero to integers."""
        if is_unsigned(type):
            raise ScriptError(node, NO_UNSIGNED.format(name_of_type(type)))
        if isinstance(value, Literal):
            return self._materialize(node, value, type)
        old = value.type
        if old == type:
            return value
        if type == i1:
            zero = self._materialize(node, Literal(0), old)
            return OPERATORS[ast.NotEq].build(lambda op: self._scope.emit(node, op).results[0], [value, zero])
        if (step := _between(old, type)) is not None:
            value = self._scope.emit(node, build_conversion(value, step)).results[0]
        return self._scope.emit(node, build_conversion(value, type)).results[0]

    def _materialize(self, node: ast.AST, literal: Literal, type: Attribute) -> SSAValue:
        try:
            value = float(literal.value) if isinstance(type, AnyFloat) else literal.value
            return self._scope.emit(node, build_constant(value, type)).result
        except (ValueError, OverflowError):
            raise ScriptError(node, f"expected a number of {name_of_type(type)}, found {literal.value}") from None


def rounded(node: ast.AST, value: float, type: AnyFloat) -> float:
    """Return a number rounded to a float type. Raises `ScriptError` if it is too large for the type."""
    try:
        return float_attr(float(value), type).value.data
    except OverflowError:
        raise ScriptError(node, f"expected a number of {name_of_type(type)}, found {value}") from None


def _fold(node: ast.AST, op: ast.operator, left: Scalarlike, right: Scalarlike) -> Literal | None:
    """Return the result for two integer literals, which occur in sizes and indices, else None."""
    match left, right:
        case Literal(value=int(a), type=t), Literal(value=int(b), type=u) if (
            i1 not in (t, u) and type(op) in ARITHMETIC
        ):
            result = compute(node, op, a, b)
            return Literal(result, t or u) if isinstance(result, int) else None
        case _:
            return None


def _between(old: Attribute, new: Attribute) -> Attribute | None:
    """Return the intermediate type of a conversion that no single op does, else None."""
    if {old, new} == {f16, bf16}:
        return f32
    if index in (old, new) and (isinstance(old, AnyFloat) or isinstance(new, AnyFloat) or old == i1):
        return i64
    return None


def _called(node: ast.AST) -> str:
    """Return the name of a function or operator for error messages."""
    match node:
        case ast.Call(func=function):
            return shown(function)
        case ast.BinOp(op=op) | ast.AugAssign(op=op):
            return OPERATORS[type(op)].symbol
        case _:
            return shown(node)
