"""Scalar expressions in loop functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from math import isfinite

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, MemRefType, i1, i32
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.utils.hints import isa

from relex.dialects.dtypes import DTYPES, size_in_bytes
from relex.frontend.script.declarations import expected_indices
from relex.frontend.script.dtypes import element_type_of, name_of_type
from relex.frontend.script.number_emitter import Literal, NumberEmitter, Scalarlike, Size, rounded
from relex.frontend.script.parameters import Parameters
from relex.frontend.script.scalar_functions import FUNCTIONS, OPERATORS
from relex.frontend.script.scope import Scope, arguments
from relex.frontend.script.source import ScriptError, shown
from relex.frontend.script.vocabulary import unknown
from relex.lowering.te import highest, lowest
from relex.lowering.te.scalars import build_constant


class Expressions:
    """Reads scalar expressions into ops at the end of the current block."""

    def __init__(self, scope: Scope, parameters: Parameters):
        self.scope = scope
        self.numbers = NumberEmitter(scope)
        self._parameters = parameters
        self._constants = scope.unit.constants

    def expression(self, node: ast.expr) -> Scalarlike:
        """Read an expression as a literal or an SSA value."""
        match node:
            case ast.Constant(value=bool(value)):
                return Literal(int(value), i1)
            case ast.Constant(value=int(value) | float(value)):
                return Literal(value)
            case ast.Name():
                return self._name(node)
            case ast.Subscript():
                return self.load(node)
            case ast.BinOp(left=left, op=op, right=right):
                return self.numbers.binary(node, op, self.expression(left), self.expression(right))
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(node, op, operand)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self._comparisons(node, [left, *comparators], ops)
            case ast.BoolOp(op=op, values=values):
                return self._logical(node, isinstance(op, ast.And), values)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._if_then_else(node, test, body, orelse)
            case ast.Call():
                return self._call(node)
            case _:
                raise ScriptError(node, f"expected a scalar expression, found '{shown(node)}'")

    def index(self, node: ast.expr) -> SSAValue:
        """Read an integer expression as an index."""
        return self.numbers.as_index(node, self.expression(node))

    def index_or_size(self, node: ast.expr) -> int | SSAValue:
        """Read an index; an integer literal stays an int."""
        value = self.expression(node)
        if isinstance(value, Literal) and isinstance(value.value, int):
            return value.value
        return self.numbers.as_index(node, value)

    def condition(self, node: ast.expr) -> SSAValue:
        """Read a boolean expression; an integer is compared with 0."""
        value = self.expression(node)
        type = i32 if isinstance(value, Literal) and value.type is None else value.type
        if type == i1:
            return self.numbers.convert(node, value, i1)
        if isinstance(type, AnyFloat):
            raise ScriptError(node, f"expected a boolean, found a number of {name_of_type(type)}")
        return self._compare(node, ast.NotEq(), value, Literal(0))

    def buffer(self, node: ast.expr) -> tuple[SSAValue, MemRefType]:
        """Read a name that must refer to a buffer."""
        value = self.scope.lookup(node) if isinstance(node, ast.Name) else None
        if not isa(value, SSAValue[MemRefType]):
            raise ScriptError(node, f"expected a buffer, found '{shown(node)}'")
        return value, value.type

    def place(self, node: ast.Subscript) -> tuple[SSAValue, Sequence[SSAValue], Attribute]:
        """Read an element of a buffer: the buffer, its indices, and its element type."""
        buffer, type = self.buffer(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        rank = len(type.get_shape())
        if len(parts) != rank:
            raise ScriptError(node, f"expected {expected_indices(type)}, found {len(parts)}")
        for part in parts:
            if isinstance(part, ast.Slice):
                raise ScriptError(part, "expected an index, found a range; only T.reads and T.writes take ranges")
        return buffer, [self.index(part) for part in parts], type.element_type

    def load(self, node: ast.Subscript) -> SSAValue:
        """Emit the load of an element of a buffer."""
        buffer, indices, _ = self.place(node)
        return self.scope.emit(node, memref.LoadOp.get(buffer, indices)).res

    def _name(self, node: ast.Name) -> Scalarlike:
        if node.id not in self.scope.names and self._constants.is_constant(node):
            return self._number(node, self._constants.value(node), None)
        match self.scope.lookup(node):
            case Size(name=name):
                return self._parameters.size(node, name)
            case Literal() as literal:
                return literal
            case SSAValue() as value if isinstance(value.type, AnyFloat | IntegerType | IndexType):
                return value
            case SSAValue(type=MemRefType()):
                raise ScriptError(node, f"expected a scalar, found buffer '{node.id}'; write '{node.id}[...]'")
            case _:
                raise ScriptError(node, f"expected a scalar, found '{node.id}'")

    def _unary(self, node: ast.expr, op: ast.unaryop, operand: ast.expr) -> Scalarlike:
        if isinstance(op, ast.Not):
            true = self.scope.emit(node, build_constant(1, i1)).result
            return self.scope.emit(node, arith.XOrIOp(self.condition(operand), true)).result
        value = self.expression(operand)
        match op, value:
            case ast.UAdd(), _:
                return value
            case ast.USub(), Literal(value=number, type=type) if type != i1:
                return Literal(-number, type)
            case ast.USub(), SSAValue() if isinstance(value.type, AnyFloat):
                return self.scope.emit(node, arith.NegfOp(value)).result
            case ast.USub(), _:
                return self.numbers.binary(node, ast.Sub(), Literal(0), value)
            case _:
                raise ScriptError(node, "'~' is not supported; write 'not', or T.bitwise_xor(x, -1)")

    def _comparisons(self, node: ast.expr, parts: Sequence[ast.expr], ops: Sequence[ast.cmpop]) -> SSAValue:
        values = [self.expression(part) for part in parts]
        result = self._compare(node, ops[0], *values[:2])
        for op, left, right in zip(ops[1:], values[1:], values[2:], strict=False):
            result = self.scope.emit(node, arith.AndIOp(result, self._compare(node, op, left, right))).result
        return result

    def _compare(self, node: ast.expr, op: ast.cmpop, left: Scalarlike, right: Scalarlike) -> SSAValue:
        if type(op) not in OPERATORS:
            raise ScriptError(node, "expected ==, !=, <, <=, > or >=")
        return self.numbers.apply(node, OPERATORS[type(op)], left, right)

    def _logical(self, node: ast.expr, is_and: bool, parts: Sequence[ast.expr]) -> SSAValue:
        first, *rest = parts
        result = self.condition(first)
        for part in rest:
            if any(isinstance(inner, ast.Subscript) for inner in ast.walk(part)):
                # Short-circuit: the first operand may guard the loads of the second.
                result = self._guarded(node, result, part, is_and)
            else:
                op = arith.AndIOp if is_and else arith.OrIOp
                result = self.scope.emit(node, op(result, self.condition(part))).result
        return result

    def _guarded(self, node: ast.expr, first: SSAValue, second: ast.expr, is_and: bool) -> SSAValue:
        cases = (lambda: self.condition(second), lambda: Literal(int(not is_and), i1))
        return self._choice(node, first, *(cases if is_and else reversed(cases)))

    def _if_then_else(self, node: ast.expr, test: ast.expr, value: ast.expr, other: ast.expr) -> SSAValue:
        return self._choice(node, self.condition(test), lambda: self.expression(value), lambda: self.expression(other))

    def _choice(
        self, node: ast.expr, condition: SSAValue, value: Callable[[], Scalarlike], other: Callable[[], Scalarlike]
    ) -> SSAValue:
        """Emit a conditional expression that evaluates only the chosen operand."""
        blocks = [Block(), Block()]
        values: list[Scalarlike] = []
        for block, read in zip(blocks, (value, other), strict=True):
            with self.scope.inside(block):
                values.append(read())
        type = self.numbers.common_type(node, values)
        for block, found in zip(blocks, values, strict=True):
            with self.scope.inside(block):
                self.scope.emit(node, scf.YieldOp(self.numbers.convert(node, found, type)))
        return self.scope.emit(node, scf.IfOp(condition, [type], Region(blocks[0]), Region(blocks[1]))).results[0]

    # Calls.

    def _call(self, node: ast.Call) -> Scalarlike:
        meaning = self.scope.meaning(node.func)
        match meaning:
            case None:
                return self._other_call(node)
            case "T.if_then_else" | "T.Select":
                return self._selection(node, meaning)
            case "T.Cast" | "T.cast":
                names = ("dtype", "value") if meaning == "T.Cast" else ("value", "dtype")
                bound = arguments(node, meaning, names)
                return self._cast(node, bound["value"], self._dtype(bound["dtype"]))
            case "T.reinterpret":
                return self._reinterpret(node, **arguments(node, meaning, ("dtype", "value")))
            case "T.Not":
                return self._unary(node, ast.Not(), arguments(node, meaning, ("a",))["a"])
            case "T.likely":
                return self.expression(arguments(node, meaning, ("cond",), neutral=("dtype",))["cond"])
            case "T.assume":
                self.condition(arguments(node, meaning, ("cond",))["cond"])
                return Literal(0)  # What is assumed is not checked.
            case "T.bind":
                return self.expression(arguments(node, meaning, ("value",))["value"])
            case "T.infinity" | "T.min_value" | "T.max_value":
                type = self._dtype(arguments(node, meaning, ("dtype",))["dtype"])
                if meaning == "T.infinity" and not isinstance(type, AnyFloat):
                    raise ScriptError(node, f"expected a float dtype for 'T.infinity', found {name_of_type(type)}")
                return Literal(lowest(type) if meaning == "T.min_value" else highest(type), type)
            case _ if meaning.removeprefix("T.") in DTYPES:
                type = DTYPES[meaning.removeprefix("T.")]
                return self._cast(node, arguments(node, meaning, ("value",))["value"], type)
            case _ if meaning in FUNCTIONS:
                function = FUNCTIONS[meaning]
                bound = arguments(node, meaning, function.parameters, neutral=("dtype", "span"))
                values = [self.expression(bound[name]) for name in function.parameters]
                return self._stated(bound, self.numbers.apply(node, function, *values))
            case _:
                raise unknown(node.func, meaning, FUNCTIONS, "expected a function of numbers")

    def _other_call(self, node: ast.Call) -> Scalarlike:
        match node.func:
            case ast.Attribute(value=value, attr="astype"):
                return self._cast(node, value, self._dtype(arguments(node, "astype", ("dtype",))["dtype"]))
            case ast.Name(id="min" | "max" | "abs" | "int" | "float" | "bool" as name):
                raise ScriptError(node, f"Python's '{name}' is not supported; write 'T.{name}'")
            case _ if self._constants.is_constant(node):
                return self._number(node, self._constants.value(node), None)
            case _:
                raise ScriptError(node, f"expected a function of T, found '{shown(node.func)}'")

    def _selection(self, node: ast.Call, meaning: str) -> SSAValue:
        names = ("cond", "t", "f") if meaning == "T.if_then_else" else ("condition", "true_value", "false_value")
        bound = arguments(node, meaning, names, neutral=("dtype", "span"))
        condition, value, other = (bound[name] for name in names)
        if meaning == "T.if_then_else":
            return self._stated(bound, self._if_then_else(node, condition, value, other))
        holds, values = self.condition(condition), [self.expression(value), self.expression(other)]
        return self.scope.emit(node, arith.SelectOp(holds, *self.numbers.convert_all(node, values))).result

    def _stated(self, bound: Mapping[str, ast.expr], value: SSAValue) -> SSAValue:
        """Return the value of a call, whose dtype older scripts state."""
        if "dtype" in bound and value.type != IndexType() and self._dtype(bound["dtype"]) != value.type:
            found = f"expected a value of {shown(bound['dtype'])}, found {name_of_type(value.type)}"
            raise ScriptError(bound["dtype"], f"{found}; write T.Cast")
        return value

    def _dtype(self, node: ast.expr) -> Attribute:
        return element_type_of(node, self._constants.value(node))

    def _cast(self, node: ast.expr, value: ast.expr, type: Attribute) -> Scalarlike:
        if isinstance(value, ast.Constant) and isinstance(value.value, str) and isinstance(type, AnyFloat):
            try:
                return self._number(node, float(value.value), type)
            except ValueError:
                raise ScriptError(value, f"expected a number, found {value.value!r}") from None
        found = self.expression(value)
        if isinstance(found, Literal):
            return self._number(node, found.value, type)
        return self.numbers.convert(node, found, type)

    def _reinterpret(self, node: ast.Call, dtype: ast.expr, value: ast.expr) -> SSAValue:
        """Return the number of another type that has the same bits."""
        type = self._dtype(dtype)
        found = self.numbers.convert_all(node, [self.expression(value)])[0]
        if i1 in (type, found.type) or size_in_bytes(type) != size_in_bytes(found.type) or found.type == IndexType():
            raise ScriptError(node, f"expected types of one width, found {name_of_type(found.type)} and {shown(dtype)}")
        return self.scope.emit(node, arith.BitcastOp(found, type)).result

    def _number(self, node: ast.expr, value: object, type: Attribute | None) -> Literal:
        """Return a literal of a type, which must be able to represent it; floats are truncated to integers, as by a
        cast."""
        if not isinstance(value, int | float):
            raise ScriptError(node, f"expected a number, found {value!r}")
        if type == i1:
            return Literal(int(bool(value)), i1)
        if isinstance(type, AnyFloat):
            return Literal(rounded(node, value, type), type)
        if type is None:
            return Literal(int(value), i1) if isinstance(value, bool) else Literal(value)
        if not isfinite(value) or not lowest(type) <= int(value) <= highest(type):
            raise ScriptError(node, f"expected a number of {name_of_type(type)}, found {value}")
        return Literal(int(value), type)
