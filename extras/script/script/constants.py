"""Compile-time constants: sizes, dtypes and options."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from relex.dialects.dtypes import DTYPES
from relex.frontend.script.source import ScriptError, shown
from relex.frontend.script.vocabulary import Vocabulary

MAX_BITS = 128
"""Larger integers fit no dtype, and may take long to compute."""


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and exponent * base.bit_length() > 2 * MAX_BITS:
        raise OverflowError(f"an integer of more than {MAX_BITS} bits")
    return base**exponent


def _shifted_left(value: int, bits: int) -> int:
    if not 0 <= bits <= MAX_BITS:
        raise OverflowError(f"a shift by {bits} bits")
    return value << bits


def _shifted_right(value: int, bits: int) -> int:
    if bits < 0:
        raise OverflowError(f"a shift by {bits} bits")
    return value >> bits


ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: operator.mod,
    ast.Div: lambda a, b: a / b,
    ast.Pow: _power,
    ast.LShift: _shifted_left,
    ast.RShift: _shifted_right,
}
"""Python's operators on numbers that are known when a script is read."""

_WRAPPERS = ("R.prim_value", "R.str", "R.dtype", "R.shape", "T.bool", *(f"T.{dtype}" for dtype in DTYPES))
"""TVMScript functions that give a constant a type; relex infers the type from context."""

_UNKNOWN = object()
"""The value of a name that is not constant."""

_PLAIN = (bool, int, float, str, tuple)


def compute(node: ast.AST, op: ast.operator, left: float, right: float) -> int | float:
    """Return the result of an operator in `ARITHMETIC`. Raises `ScriptError` if it is no number, or too large."""
    try:
        value = ARITHMETIC[type(op)](left, right)
    except ArithmeticError as e:
        raise ScriptError(node, f"expected a number, found {e}") from e
    if isinstance(value, complex):
        raise ScriptError(node, f"expected a number, found {value}")
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        found = value.bit_length()
        raise ScriptError(node, f"expected an integer of at most {MAX_BITS} bits, found one of {found}")
    return value


class _NotConstantError(ScriptError):
    """An expression that is not constant."""


class Constants:
    """Evaluates constant expressions: literals, lists and dictionaries of them, arithmetic, and named constants of the
    file."""

    def __init__(self, vocabulary: Vocabulary, tree: ast.Module, given: Mapping[str, object]):
        self._vocabulary = vocabulary
        self._named: dict[str, list[tuple[int, object]]] = {}
        """The values of each name, with the lines of the assignments."""
        for statement in tree.body:
            for name, value in self._assigned(statement):
                self._named.setdefault(name, []).append((statement.lineno, value))
        self._named |= {name: [(0, value)] for name, value in given.items() if isinstance(value, _PLAIN)}

    def _assigned(self, statement: ast.stmt) -> Iterator[tuple[str, object]]:
        """Yield the names that a statement of the file assigns, with their values."""
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=node)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as node)
            ):
                yield name, self.value(node) if self.is_constant(node) else _UNKNOWN
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                pass  # Its assignments are its own.
            case _:
                names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
                yield from ((node.id, _UNKNOWN) for node in names if isinstance(node.ctx, ast.Store | ast.Del))

    def _value_of(self, node: ast.Name) -> object:
        """Return the value that a name has at its place in the file."""
        values = [value for line, value in self._named.get(node.id, ()) if line <= node.lineno]
        return values[-1] if values else _UNKNOWN

    def value(self, node: ast.expr) -> object:
        """Return the value of an expression, with lists as tuples. Raises `ScriptError` if it is not constant."""
        match node:
            case ast.Constant(value=value) if not isinstance(value, bytes | complex) and value is not ...:
                return value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.value(part) for part in parts)
            case ast.Dict(keys=keys) if all(keys):
                return self.dictionary(node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._number(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
                return compute(node, op, self._number(left), self._number(right))
            case ast.Name() if (found := self._value_of(node)) is not _UNKNOWN:
                return found
            case ast.Call(args=[argument], keywords=[]) if self._vocabulary.calls(node, *_WRAPPERS):
                return self.value(argument)
            case ast.Call(args=[_, number], keywords=[]) if self._vocabulary.calls(node, "T.FloatImm", "T.IntImm"):
                return self.value(number)
            case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))], keywords=[]):
                try:
                    return float(text)
                except ValueError as e:
                    raise ScriptError(node, f"expected a number, found '{text}'") from e
            case _:
                raise _NotConstantError(node, f"expected a constant, found '{shown(node)}'")

    def is_constant(self, node: ast.expr) -> bool:
        """Return whether an expression is constant. Raises `ScriptError` if it is, but has no value, as `1 // 0`."""
        try:
            self.value(node)
        except _NotConstantError:
            return False
        return True

    def integer(self, node: ast.expr, what: str = "an integer") -> int:
        """Return the value of an expression that must be an integer."""
        value = self.value(node)
        if not isinstance(value, int) or isinstance(value, bool):
            raise ScriptError(node, f"expected {what}, found {value!r}")
        return value

    def string(self, node: ast.expr, what: str = "a string") -> str:
        """Return the value of an expression that must be a string."""
        value = self.value(node)
        if not isinstance(value, str):
            raise ScriptError(node, f"expected {what}, found {value!r}")
        return value

    def dictionary(self, node: ast.expr) -> Mapping[str, object]:
        """Return the value of an expression that must be a dictionary with string keys."""
        if not isinstance(node, ast.Dict):
            raise ScriptError(node, f"expected a dictionary, found '{shown(node)}'")
        pairs = [(key, value) for key, value in zip(node.keys, node.values, strict=True) if key is not None]
        return {self.string(key): self.value(value) for key, value in pairs}

    def _number(self, node: ast.expr) -> int | float:
        value = self.value(node)
        if not isinstance(value, int | float):
            raise ScriptError(node, f"expected a number, found {value!r}")
        return value
