"""The conditions on sizes under which torch has exported a program: requirements of the function."""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any

from relex.dialects.errors import CompileWarning, Diagnostic
from relex.dialects.sizes import IndexExpr, Size, larger, smaller
from relex.frontend.importing.conditions import CONDITIONS, at_least
from relex.frontend.torch.quotients import exact_quotient
from relex.frontend.torch.symbols import size_of

BOUND = 3
"""The least bound that is checked: torch exports all programs for sizes from 2 on, and runs them for smaller ones."""


def conditions(program: Any, sizes: Mapping[Any, Size], inputs: Mapping[str, Any], file: str) -> Iterator[Size]:
    """Yield the conditions on the sizes of a call that a program of torch checks first, given the sizes that its
    symbols stand for, and what torch knows of its inputs. Warns of conditions that are about something else."""
    for symbol, span in program.range_constraints.items():
        if symbol in sizes:
            if span.lower >= BOUND:
                yield at_least(sizes[symbol], int(span.lower))
            if span.upper.is_Integer:
                yield at_least(int(span.upper), sizes[symbol])
    for guard in getattr(program, "_guards_code", ()):
        try:
            yield _Guard(guard, sizes, inputs).condition
        except _NotOfSizes:
            message = f"calls do not check that {guard}"
            warnings.warn(CompileWarning(Diagnostic(message, file)), stacklevel=2)


class _NotOfSizes(Exception):
    """A guard is about something else than sizes."""


class _Guard:
    """A condition as Python text, such as `2*L['x'].size()[0] > 9`."""

    def __init__(self, text: str, sizes: Mapping[Any, Size], inputs: Mapping[str, Any]):
        self._sizes = sizes
        self._inputs = inputs
        self.condition = self._read(ast.parse(text, mode="eval").body)

    def _read(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=int(number)):
                return number
            case ast.UnaryOp(ast.USub(), x):
                return -self._read(x)
            case ast.UnaryOp(ast.Not(), x):
                return 1 - self._read(x)
            case ast.BinOp(x, sign, y) if type(sign) in _ARITHMETIC:
                return _ARITHMETIC[type(sign)](self._read(x), self._read(y))
            case ast.BoolOp(sign, parts):
                return reduce(smaller if isinstance(sign, ast.And) else larger, map(self._read, parts))
            case ast.Compare(x, signs, others) if all(type(sign) in _COMPARISONS for sign in signs):
                terms = list(map(self._read, [x, *others]))
                found = [_COMPARISONS[type(s)](*pair) for s, *pair in zip(signs, terms, terms[1:], strict=False)]
                return reduce(smaller, found)
            case ast.Call(ast.Name(name), [*operands]) if name in _FUNCTIONS:
                return _FUNCTIONS[name](*map(self._read, operands))
            case ast.Subscript(ast.Call(ast.Attribute(tensor, "size"), []), ast.Constant(int(axis))):
                return size_of(self._input(tensor).shape[axis], self._sizes)
            case _:
                raise _NotOfSizes

    def _input(self, path: ast.expr) -> Any:
        """Return the input at a path, such as `L['x'][0]`, after which torch names the inputs of graphs, or in order
        as `L['flat_args'][1]`."""
        keys: list[str] = []
        while isinstance(path, ast.Subscript) and isinstance(path.slice, ast.Constant):
            keys.insert(0, str(path.slice.value))
            path = path.value
        if keys[:1] == ["flat_args"]:
            return list(self._inputs.values())[int(keys[1])]
        name = "_".join(re.sub(r"\W", "_", key) for key in keys).lower()
        found = {name.lower(): value for name, value in self._inputs.items()}
        if name not in found:
            raise _NotOfSizes
        return found[name]


def _quotient(x: Size, y: Size) -> Size:
    found = exact_quotient(x, y) if isinstance(y, IndexExpr) else x // y if y > 0 else None
    if found is None:
        raise _NotOfSizes
    return found


def _remainder(x: Size, y: Size) -> Size:
    if isinstance(y, IndexExpr):
        times = y if x == 1 else exact_quotient(y, x) if isinstance(x, IndexExpr) else None
        if times is not None:  # Of `x` by `n * x`: `x` itself if `n` is more than 1.
            return smaller(larger(times - 1, 0), 1) * x
    return x % y if isinstance(y, int) and y > 0 else x - _quotient(x, y) * y


def _largest(*sizes: Size) -> Size:
    return reduce(larger, sizes)


def _smallest(*sizes: Size) -> Size:
    return reduce(smaller, sizes)


_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: _quotient,
    ast.Mod: _remainder,
}

_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Size, Size], Size]] = {
    ast.Eq: CONDITIONS["eq"],
    ast.NotEq: CONDITIONS["ne"],
    ast.Lt: CONDITIONS["lt"],
    ast.LtE: CONDITIONS["le"],
    ast.Gt: CONDITIONS["gt"],
    ast.GtE: CONDITIONS["ge"],
}

_FUNCTIONS: Mapping[str, Callable[..., Size]] = {
    "Max": _largest,
    "Min": _smallest,
    "max": _largest,
    "min": _smallest,
    "FloorDiv": _quotient,
    "Mod": _remainder,
    "PythonMod": _remainder,
}
"""Functions in the text of guards."""
