"""Operators of TVM that are compositions of relex's operators: how a call of one is read.

A composition is a Python function with the parameters of TVM's operator, which `composed` registers. Its annotations
say how arguments are read: `Given` is a tensor, `Shape` a list of numbers and of expressions of sizes, `DType` the name
of a dtype; all others are constants. What it returns is emitted: an expression of `relex.frontend.op`, or a tuple.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, UNKNOWN_LOC, FileLineColLoc, IntAttr, StringAttr, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from relex.dialects.dtypes import FLOATS, INTEGERS, numpy_dtype
from relex.dialects.errors import RelexError, one_line
from relex.dialects.relex import ConstantOp
from relex.dialects.relex.operator import tensor_type
from relex.frontend import op
from relex.frontend.graph_expressions import Call, Constant, Expr, Operand
from relex.frontend.script.dtypes import element_type_of
from relex.frontend.script.graph_calls import CALLS, Value, make_constant
from relex.frontend.script.operators import SPECIAL_NUMBERS
from relex.frontend.script.scope import arguments
from relex.frontend.script.source import ScriptError, shown

if TYPE_CHECKING:
    from relex.frontend.script.graph_expressions import GraphExpressions

Shape = Sequence[int | str]
"""Numbers, and expressions of sizes that have names."""

DType = Attribute
"""An element type."""

Result = Operand | Sequence["Result"]
"""What a composition returns."""


class Given(Expr):
    """A tensor of the script."""

    def __init__(self, value: SSAValue):
        # Not the constructor of `Expr`: the location of an op is the call in the script.
        self.place = FileLineColLoc(StringAttr(str(UNKNOWN_LOC)), IntAttr(0), IntAttr(0))
        self.value = value

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes; dynamic ones are `DYNAMIC_INDEX`."""
        return tensor_type(self.value.type).get_shape()

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def element_type(self) -> Attribute:
        """The element type."""
        return tensor_type(self.value.type).element_type

    def axis(self, axis: int) -> int:
        """Return a dimension counted from the front."""
        if not -self.rank <= axis < self.rank:
            raise ValueError(f"expected an axis from {-self.rank} to {self.rank - 1}, found {axis}")
        return axis % self.rank

    def axes(self, axes: int | Sequence[int] | None) -> list[int]:
        """Return dimensions counted from the front; all, if there are none."""
        numbers = range(self.rank) if axes is None else [axes] if isinstance(axes, int) else axes
        return [self.axis(axis) for axis in numbers]

    def size(self, axis: int) -> int:
        """Return a size that has to be static."""
        if self.shape[axis] == DYNAMIC_INDEX:
            raise ValueError(f"expected a static size of dimension {axis}")
        return self.shape[axis]

    def sizes(self) -> list[int | str]:
        """Return the sizes; dynamic ones are the names that an operator has for the sizes of its operand."""
        return [f"d{d}" if size == DYNAMIC_INDEX else size for d, size in enumerate(self.shape)]


class ResultOf(Expr):
    """One of several results of a call."""

    def __init__(self, call: Call, number: int):
        self.place = call.place
        self.call = call
        self.number = number


def as_type(x: Operand, dtype: Attribute | None, old: Attribute | None = None) -> Operand:
    """Return elements of a type; none is the type that they have. `old` is that type, where it is known."""
    return x if dtype is None or dtype == old else op.astype(x, dtype)


def expect_integers(x: Given) -> None:
    """Refuse numbers of classes that are no integers."""
    if x.element_type not in INTEGERS:
        raise TypeError(f"expected integers, found {x.element_type}")


def default_layout(data: Given) -> str:
    """Return the layout in which TVM's operators take images unless they say another one, for one to three
    dimensions."""
    if not 3 <= data.rank <= 5:
        raise ValueError(f"expected a tensor of rank 3 to 5, found rank {data.rank}")
    return f"NC{'DHW'[5 - data.rank :]}"


def axes_of_layout(data: Given, layout: str) -> list[int]:
    """Return the dimensions of images in a layout."""
    expected = default_layout(data)
    if sorted(layout) != sorted(expected):
        raise ValueError(f"expected layout to be '{expected}' in some order, found '{layout}'")
    return [layout.index(letter) for letter in expected[2:]]


def composed(*names: str) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Register a composition under the names of TVM's operator."""

    def register(function: Callable[..., Result]) -> Callable[..., Result]:
        def read(graph: GraphExpressions, node: ast.Call) -> Value:
            return read_composition(graph, node, names[0], function)

        CALLS.rule(*names)(read)
        return function

    return register


def read_composition(graph: GraphExpressions, node: ast.Call, name: str, function: Callable[..., Result]) -> Value:
    """Read a call as what a composition returns. Raises `ScriptError`."""
    parameters = inspect.signature(function).parameters
    required = [p.name for p in parameters.values() if p.default is inspect.Parameter.empty]
    bound = arguments(node, name, required, [p for p in parameters if p not in required])
    try:
        given = {p: _argument(graph, str(parameters[p].annotation), argument) for p, argument in bound.items()}
        return _Emission(graph, node).value(function(**given))
    except (RelexError, VerifyException, TypeError, ValueError, OverflowError) as e:
        raise ScriptError(node, f"'{name}' {one_line(e)}") from e


def _argument(graph: GraphExpressions, kind: str, node: ast.expr) -> Any:
    constants = graph.scope.unit.constants
    match kind.removesuffix(" | None"):
        case _ if isinstance(node, ast.Constant) and node.value is None:
            return None
        case "Given":
            return Given(_tensor(graph, node))
        case "Sequence[Given]":
            value = graph.tensors(node)
            if not isinstance(value, tuple) or not all(isinstance(part, SSAValue) for part in value):
                raise ScriptError(node, f"expected tensors in parentheses, found '{shown(node)}'")
            return [Given(part) for part in cast("tuple[SSAValue, ...]", value)]
        case "Shape":
            sizes = graph.sizes.read(node)
            return sizes if sizes is not None else _listed(constants.value(node))
        case "DType":
            return element_type_of(node, constants.value(node))
        case "float" if (value := constants.value(node)) in SPECIAL_NUMBERS:
            return float(cast("str", value))
        case _:
            return constants.value(node)


def _listed(value: object) -> list[Any]:
    return [*cast("tuple[object, ...]", value)] if isinstance(value, tuple) else [value]


def _tensor(graph: GraphExpressions, node: ast.expr) -> SSAValue:
    number = node.operand if isinstance(node, ast.UnaryOp) else node
    return make_constant(graph, node, None) if isinstance(number, ast.Constant) else graph.tensor(node)


class _Emission:
    """Emits what a composition returns, each expression once."""

    def __init__(self, graph: GraphExpressions, node: ast.Call):
        self._graph = graph
        self._node = node
        self._emitted: dict[Expr, Sequence[SSAValue]] = {}

    def value(self, result: Result) -> Value:
        """Return the tensor or the tuple that is returned."""
        if isinstance(result, Sequence):
            return tuple(self.value(part) for part in result)
        return self._tensor(result, None)

    def _tensor(self, expr: Operand, like: SSAValue | None) -> SSAValue:
        match expr:
            case Given():
                return expr.value
            case ResultOf():
                return self._results(expr.call)[expr.number]
            case Expr():
                return self._results(expr)[0]
            case _ if like is not None:
                kind = tensor_type(like.type).element_type
                if isinstance(expr, float) and kind not in FLOATS:
                    raise TypeError(f"expected elements of floats, found {kind}")
                return self._graph.scope.emit(self._node, ConstantOp(np.array(expr, numpy_dtype(kind)))).result
            case _:
                raise TypeError(f"expected a tensor, found {expr}")

    def _results(self, expr: Expr) -> Sequence[SSAValue]:
        if expr not in self._emitted:
            made = ConstantOp(expr.value) if isinstance(expr, Constant) else self._call(cast("Call", expr))
            self._emitted[expr] = self._graph.scope.emit(self._node, made).results
        return self._emitted[expr]

    def _call(self, call: Call) -> Any:
        tensors = {i: self._tensor(arg, None) for i, arg in enumerate(call.args) if isinstance(arg, Expr)}
        # A number beside a condition is like the other operands.
        typed = [value for value in tensors.values() if tensor_type(value.type).element_type != i1]
        like = next(iter([*typed, *tensors.values()]), None)
        operands = [
            tensors[i] if i in tensors else self._tensor(cast("Operand", arg), like) for i, arg in enumerate(call.args)
        ]
        return call.build(cast("Any", self._graph.sizes), operands)
