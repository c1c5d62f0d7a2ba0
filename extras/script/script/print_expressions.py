"""Prints scalar values as TVMScript expressions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, IndexType, IntegerAttr, MemRefType, TensorType, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from relex.dialects.errors import fail
from relex.dialects.function_arguments import arguments, stated_dims
from relex.dialects.index.domains import constant_value
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp
from relex.frontend.script.scalar_functions import (
    AND,
    ATOM,
    COMPARISON,
    INFIX_OF_OPS,
    NAMES_OF_OPS,
    NOT,
    OR,
    UNARY,
    NumberFunction,
    operator_of,
)
from relex.frontend.script.writing import CANNOT, Writer, dtype_name, python_number, special

index = IndexType()

_CONVERSIONS = (
    arith.ExtSIOp,
    arith.ExtUIOp,
    arith.TruncIOp,
    arith.SIToFPOp,
    arith.UIToFPOp,
    arith.FPToSIOp,
    arith.ExtFOp,
    arith.TruncFOp,
    arith.IndexCastOp,
)

_EFFECTS = (memref.StoreOp, AllocBufferOp, BlockOp, ForOp)


@dataclass(frozen=True)
class ExpressionText:
    """An expression and its precedence."""

    text: str
    precedence: int = ATOM

    def within(self, precedence: int) -> str:
        """Return the text, in parentheses if the context binds more tightly."""
        return self.text if self.precedence >= precedence else f"({self.text})"


@dataclass(frozen=True)
class IndexOrigin:
    """The origin of an index: variables and sizes, which are indices in scripts, or elements of buffers."""

    variables: bool = False
    elements: bool = False


class ExpressionPrinter:
    """Prints values as expressions: a named value as its name, others as the computation that produces them."""

    def __init__(self, writer: Writer):
        self.writer = writer
        self.sizes: dict[tuple[SSAValue, int], str] = {}
        """The names of the arguments' dynamic sizes."""
        self._origins: dict[SSAValue, IndexOrigin] = {}

    def argument_sizes(self, function: Operation, position: int, t: MemRefType | TensorType) -> list[str]:
        """Return the sizes of an argument. Each dynamic one takes a name; those declared equal share it."""
        given = stated_dims(function, position) or [""] * len(t.get_shape())
        sizes = list(map(str, t.get_shape()))
        for place, size in enumerate(t.get_shape()):
            if size == DYNAMIC_INDEX:
                known = given[place] in self.sizes.values()
                sizes[place] = given[place] if known else self.writer.name(given[place], "n")
                self.sizes[arguments(function)[position], place] = sizes[place]
        return sizes

    def sizes_of(self, t: MemRefType | TensorType, dynamic: Iterator[SSAValue]) -> list[str]:
        """Return the sizes of a type, of which the values of dynamic ones are given in order."""
        return [self.text(next(dynamic)) if size == DYNAMIC_INDEX else str(size) for size in t.get_shape()]

    def text(self, value: SSAValue) -> str:
        """Return the text of a value."""
        return self.expression(value).text

    def expression(self, value: SSAValue) -> ExpressionText:
        """Return a value as an expression."""
        if value in self.writer.texts:
            return ExpressionText(self.writer.texts[value])
        op = value.owner
        if not isinstance(op, Operation):
            raise ValueError("expected arguments of blocks to have names")
        return self.operation(op)

    def operation(self, op: Operation) -> ExpressionText:
        """Return an op with one result as an expression."""
        match op:
            case arith.ConstantOp(value=IntegerAttr() | FloatAttr() as value):
                return self._constant(op, value)
            case memref.LoadOp():
                return ExpressionText(self.place(op.memref, op.indices))
            case memref.DimOp(source=source, index=place) | tensor.DimOp(source=source, index=place):
                return self._size(op, source, constant_value(place))
            case arith.NegfOp(operand=operand):
                return ExpressionText(f"-{self.expression(operand).within(UNARY)}", UNARY)
            case arith.CmpfOp() | arith.CmpiOp():
                return self._comparison(op)
            case arith.SelectOp(cond=condition, lhs=value, rhs=other):
                return self._call("T.Select", condition, value, other)
            case scf.IfOp() if op.results:
                return self._if_then_else(op)
            case arith.BitcastOp(input=value, result=result) if i1 not in (value.type, result.type):
                return ExpressionText(f'T.reinterpret("{dtype_name(op, result.type)}", {self.text(value)})')
            case _ if isinstance(op, _CONVERSIONS):
                return self._conversion(op, op.operands[0], op.results[0].type)
            case _ if type(op) in INFIX_OF_OPS:
                return self._infix(op, *op.operands)
            case _ if type(op) in NAMES_OF_OPS and i1 not in op.operand_types:
                return self._call(NAMES_OF_OPS[type(op)], *op.operands)
            case _:
                fail(op, CANNOT)

    def place(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> str:
        """Return the text of an element of a buffer."""
        places = ", ".join(self.text(place) for place in indices)
        return f"{self.text(buffer)}[{places or '()'}]"

    def _call(self, name: str, *arguments: SSAValue) -> ExpressionText:
        return ExpressionText(f"{name}({', '.join(part.text for part in self._operands(arguments))})")

    def _operands(self, values: Sequence[SSAValue]) -> Sequence[ExpressionText]:
        """Return the operands of a function of numbers of one type. Indices computed from elements alone are read back
        as 64-bit integers, so constants beside them are printed as 64-bit integers."""
        parts = [self.expression(value) for value in values]
        if not any(self._origin(value).elements for value in values) or any(self._origin(v).variables for v in values):
            return parts
        return [
            ExpressionText(f"T.int64({part.text})") if value.type == index and is_constant(value) else part
            for value, part in zip(values, parts, strict=True)
        ]

    def _origin(self, value: SSAValue) -> IndexOrigin:
        if value not in self._origins:
            self._origins[value] = self._find_origin(value)
        return self._origins[value]

    def _find_origin(self, value: SSAValue) -> IndexOrigin:
        op = value.owner
        if value.type != index or isinstance(op, arith.ConstantOp):
            return IndexOrigin()
        if isinstance(op, arith.IndexCastOp):
            return IndexOrigin(elements=True)
        if not isinstance(op, Operation) or op.dialect_name() != "arith":
            return IndexOrigin(variables=True)
        parts = [self._origin(operand) for operand in op.operands]
        return IndexOrigin(any(part.variables for part in parts), any(part.elements for part in parts))

    def _constant(self, op: Operation, value: IntegerAttr | FloatAttr) -> ExpressionText:
        number = python_number(value.value.data, value.type)
        if value.type == index:
            return ExpressionText(number, UNARY if number.startswith("-") else ATOM)
        name = dtype_name(op, value.type)
        if value.type == i1:
            return ExpressionText(f"T.bool({bool(value.value.data)})")
        if number.startswith("float"):
            number = f'"{special(float(value.value.data))}"'
        return ExpressionText(f"T.{name}({number})")

    def _size(self, op: Operation, source: SSAValue, place: int | None) -> ExpressionText:
        """Print a dynamic size; sizes of arguments have names."""
        t = source.type
        if place is None or not (isa(t, MemRefType) or isa(t, TensorType)) or not 0 <= place < len(t.get_shape()):
            fail(op, f"{CANNOT}: expected the number of a dimension")
        shape = t.get_shape()
        if shape[place] != DYNAMIC_INDEX:
            return ExpressionText(str(shape[place]))
        if isinstance(source.owner, AllocBufferOp):
            return self.expression(source.owner.sizes[shape[:place].count(DYNAMIC_INDEX)])
        if (source, place) not in self.sizes:
            fail(op, f"{CANNOT}: expected a size of an argument")
        return ExpressionText(self.sizes[source, place])

    def _infix(self, op: Operation, lhs: SSAValue, rhs: SSAValue) -> ExpressionText:
        t = lhs.type
        if t == i1:
            return self._logical(op, lhs, rhs)
        if isinstance(op, arith.DivUIOp | arith.RemUIOp) and t != index:
            fail(op, f"{CANNOT}: expected signed division")
        function = INFIX_OF_OPS[type(op)]
        return self._joined(function, lhs, rhs, function.precedence)

    def _joined(self, function: NumberFunction, lhs: SSAValue, rhs: SSAValue, left_precedence: int) -> ExpressionText:
        """Print an operator. Comparisons do not associate: both of their operands bind more tightly."""
        left, right = self._operands([lhs, rhs])
        text = f"{left.within(left_precedence)} {function.symbol} {right.within(function.precedence + 1)}"
        return ExpressionText(text, function.precedence)

    def _logical(self, op: Operation, lhs: SSAValue, rhs: SSAValue) -> ExpressionText:
        """Print a boolean op. Python's `and` and `or` would guard the loads of the second operand; T.And and T.Or do
        not."""
        left, right = self.expression(lhs), self.expression(rhs)
        match op:
            case arith.XOrIOp() if constant_value(rhs) in (1, -1):
                return ExpressionText(f"not {left.within(NOT)}", NOT)
            case arith.AndIOp() | arith.OrIOp() if "[" in right.text:
                return self._call("T.And" if isinstance(op, arith.AndIOp) else "T.Or", lhs, rhs)
            case arith.AndIOp():
                return ExpressionText(f"{left.within(AND)} and {right.within(AND + 1)}", AND)
            case arith.OrIOp():
                return ExpressionText(f"{left.within(OR)} or {right.within(OR + 1)}", OR)
            case arith.XOrIOp():
                return ExpressionText(f"{left.within(6)} ^ {right.within(7)}", 6)
            case _:
                fail(op, f"{CANNOT}: expected numbers, found booleans")

    def _comparison(self, op: arith.CmpfOp | arith.CmpiOp) -> ExpressionText:
        function = operator_of(op)
        if function is None:
            fail(op, f"{CANNOT}: Python has no such comparison")
        return self._joined(function, op.lhs, op.rhs, COMPARISON + 1)

    def _conversion(self, op: Operation, value: SSAValue, t: Attribute) -> ExpressionText:
        old = value.type
        unsigned, signed = (arith.ExtUIOp, arith.UIToFPOp), (arith.ExtSIOp, arith.SIToFPOp)
        if t == i1 or isinstance(op, signed if old == i1 else unsigned):
            fail(op, f"{CANNOT}: expected a conversion of signed numbers or from booleans")
        if t != index:
            return ExpressionText(f'T.Cast("{dtype_name(op, t)}", {self.text(value)})')
        # In scripts, indices are ordinary integers.
        return self.expression(value) if old == i64 else ExpressionText(f'T.Cast("int64", {self.text(value)})')

    def _if_then_else(self, op: scf.IfOp) -> ExpressionText:
        values: list[SSAValue] = []
        for region in op.regions:
            last = region.block.last_op if region.blocks else None
            if not isinstance(last, scf.YieldOp) or len(last.operands) != 1:
                fail(op, f"{CANNOT}: expected one value for each case")
            if any(isinstance(inner, _EFFECTS) for inner in region.walk()):
                fail(op, f"{CANNOT}: expected cases that only compute a value")
            values.append(last.operands[0])
        return self._call("T.if_then_else", op.cond, *values)


def is_constant(value: SSAValue) -> bool:
    """Return whether a value is a constant."""
    return isinstance(value.owner, arith.ConstantOp)
