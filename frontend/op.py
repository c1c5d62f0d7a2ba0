"""
The operators as functions: `op.dense(x, w)`, `op.sum(x, axis=1)`, `op.nn.relu(x)`.

Every operator of the graph dialect is available under the last part of its name. Tensors come first, then the
properties that its class takes. `of` creates such a function for an operator of another dialect. A call takes effect
when it is emitted.

The functions are generated from the operator classes; type checkers read `op.pyi`, which is generated from this module.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from functools import partial
from inspect import Parameter
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from xdsl.dialects.builtin import MemRefType, TensorType
from xdsl.dialects.func import CallOp as FuncCallOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import SymbolTable
from xdsl.utils.hints import isa

from relex.dialects import relex
from relex.dialects.errors import ShapeError, UnknownNameError, expect_kind
from relex.dialects.relex.size_properties import EXPRESSION_PROPERTIES
from relex.dialects.tir import PrimFuncOp
from relex.frontend.call_site import refuse
from relex.frontend.function_body import FunctionBody
from relex.frontend.graph_expressions import AnyOperand as Operand
from relex.frontend.graph_expressions import Call, Size, call_operator, element_type, expect_sizes, tensor_of

Shapes = Sequence[Size] | Sequence[Sequence[Size]]
"""The shape of the result, or a list with the shape of each result."""


_Make = Callable[[list[SSAValue], list[TensorType], list[SSAValue]], Operation]


def of(kind: type[relex.Operator]) -> Callable[..., Call]:
    """Return the function for an operator. It takes the tensors first, then the properties that the operator's class
    takes."""
    names, options = kind.operand_names(), kind.options()

    def function(*args: Any, **given: Any) -> Call:
        if kind.is_variadic():
            tensors, rest = [tensor for arg in args for tensor in _all(arg)], ()
        else:
            tensors, rest = list(args[: len(names)]), args[len(names) :]
            tensors += [given.pop(name) for name in names[len(args) :] if name in given]
            if len(tensors) != len(names):
                expected = f"{len(names)} tensors ({', '.join(names)})"
                refuse(f"'{kind.name}' op expected {expected}, found {len(tensors)}")
        if unknown := given.keys() - options.keys():
            known = ", ".join(options) or "none"
            refuse(f"'{kind.name}' op expected arguments among {known}, found {', '.join(sorted(unknown))}")
        properties = {**dict(zip(options, rest, strict=False)), **given}
        if len(rest) > len(options):
            allowed = ", ".join(options) or "none"
            refuse(f"'{kind.name}' op got too many positional arguments; after the tensors: ({allowed})")
        if twice := [name for name in list(options)[: len(rest)] if name in given]:
            refuse(f"'{kind.name}' op got '{twice[0]}' twice, by position and by name")
        dtype: Any = properties.get("dtype")
        if isinstance(dtype, str | type | np.dtype):
            properties["dtype"] = element_type(cast(Any, dtype))
        return call_operator(kind, *tensors, **properties)

    shown = {"__name__": _name(kind), "__doc__": inspect.getdoc(kind), "__signature__": _signature(kind)}
    for attribute, value in shown.items():
        setattr(function, attribute, value)
    return function


def _name(kind: type[relex.Operator]) -> str:
    return kind.name.partition(".")[2]


def _signature(kind: type[relex.Operator]) -> inspect.Signature:
    """Return the signature of the function: the signature of the class, with tensors of the program in place of SSA
    values. A type may also be given as the name of a dtype."""
    names = kind.operand_names()
    if kind.is_variadic():
        tensors = [Parameter(names[0], Parameter.VAR_POSITIONAL, annotation="Operand | Sequence[Operand]")]
    else:
        tensors = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation="Operand") for name in names]
    properties = kind.options()
    options = [
        option.replace(annotation="Attribute | str")
        if option.annotation == "Attribute"
        else option.replace(annotation="Sequence[int | str]")
        if EXPRESSION_PROPERTIES.get(option.name) in properties
        else option
        for option in properties.values()
    ]
    return inspect.Signature([*tensors, *options], return_annotation="Call")


def call(function: str, *args: Operand) -> Call:
    """Call a function of the module by name: a fused group, another graph function, or a loop function."""

    expect_kind(function, str, "the name of a function")

    def build(body: FunctionBody, operands: list[SSAValue]) -> Operation:
        callee = SymbolTable.lookup_symbol(body.module, function)
        match callee:
            case PrimFuncOp():
                outputs = [TensorType(t.element_type, t.get_shape()) for t in callee.output_types if isa(t, MemRefType)]
                return relex.CallTirOp(function, operands, outputs)
            case FuncOp() if relex.PRIMITIVE_ATTR in callee.attributes:
                return relex.CallOp(function, operands, callee.function_type.outputs.data)
            case FuncOp():
                return FuncCallOp(function, operands, callee.function_type.outputs.data)
            case _:
                raise UnknownNameError(f"expected a function of the module, found no '{function}'")

    return Call("call", args, build)


def call_tir(function: str, args: Operand | Sequence[Operand], shape: Shapes, dtype: str = "float32") -> Call:
    """Call a loop function by name, given the shape of its output or the shapes of its outputs."""
    expect_kind(function, str, "the name of a loop function")
    return _filling("relex.call_tir", args, shape, dtype, partial(relex.CallTirOp, function))


def call_dps_packed(
    name: str, args: Operand | Sequence[Operand], shape: Shapes, dtype: str = "float32", *, side_effects: bool = False
) -> Call:
    """Call a library function by name, given the shape of its output or the shapes of its outputs."""
    expect_kind(name, str, "the name of a library function")
    make = partial(relex.CallDpsPackedOp, name, side_effects=side_effects)
    return _filling("relex.call_dps_packed", args, shape, dtype, make)


def alloc_tensor(shape: Sequence[Size], dtype: str = "float32") -> Call:
    """Allocate an uninitialized tensor. This is a side effect, so it must be outside of dataflow blocks."""
    expect_sizes(shape)
    return _filling(
        "relex.alloc_tensor", (), [shape], dtype, lambda _, types, sizes: relex.AllocTensorOp(types[0], sizes)
    )


def assert_op(condition: Operand, message: str, index: Operand | None = None) -> Call:
    """Stop the program with an error unless a condition (a scalar i1) holds. With `index` (a scalar i64), it is an
    `IndexRangeError` that names it. An assertion is a side effect, so it must be outside of dataflow blocks."""
    expect_kind(message, str, "a message")
    operands = [condition] if index is None else [condition, index]
    return Call("relex.assert", operands, lambda _, values: relex.AssertOp(values[0], message, *values[1:]))


def match_sizes(operand: Operand, sizes: Sequence[int | str]) -> Call:
    """Name the sizes of a tensor, or state what they are: numbers, or expressions of sizes that have names. An empty
    text says nothing. A size that is another one in a run is an error. Shapes may have the names from here on, where
    the result is known."""
    expect_kind(sizes, Sequence, "sizes")

    def build(body: FunctionBody, values: list[SSAValue]) -> Operation:
        matched = relex.MatchSizesOp(values[0], [*map(str, sizes)])
        body.name_sizes(matched.result, matched.texts)
        return matched

    return Call("relex.match_sizes", [operand], build)


def _filling(name: str, args: Operand | Sequence[Operand], shape: Shapes, dtype: str, make: _Make) -> Call:
    """Return a call that fills tensors of given shapes: `make` takes its operands, result types and dynamic sizes."""
    types, sizes = _results(shape, dtype)
    return Call(name, _all(args), lambda body, operands: make(operands, types, [body.size(size) for size in sizes]))


def _results(shape: Shapes, dtype: str) -> tuple[list[TensorType], list[str]]:
    """Return the result types, and the names of their dynamic sizes in order."""
    expect_sizes(shape)
    shapes = [sizes for sizes in shape if isinstance(sizes, Sequence) and not isinstance(sizes, str)]
    if shapes and len(shapes) < len(shape):
        raise ShapeError(f"expected either sizes or the shapes of several results, found {shape!r}")
    shapes = shapes or [cast("Sequence[Size]", shape)]
    types = [tensor_of(sizes, dtype) for sizes in shapes]
    return types, [size for sizes in shapes for size in sizes if isinstance(size, str)]


def _all(args: Operand | Sequence[Operand]) -> Sequence[Operand]:
    return args if isinstance(args, Sequence) else [args]


_OPERATORS = {name: of(kind) for name, kind in relex.OPERATORS.items()}
nn = sys.modules[__name__]
"""This module itself, for the spelling `op.nn.relu`."""

if not TYPE_CHECKING:
    __all__ = sorted(
        [*_OPERATORS, "alloc_tensor", "assert_op", "call", "call_dps_packed", "call_tir", "match_sizes", "nn", "of"]
    )

    # Not module globals: they would shadow Python's `sum` and `max`.
    def __getattr__(name: str) -> Callable[..., Call]:
        if name not in _OPERATORS:
            raise AttributeError(f"no operator '{name}'; there are {', '.join(sorted(_OPERATORS))}")
        return _OPERATORS[name]

    def __dir__() -> list[str]:
        return __all__
