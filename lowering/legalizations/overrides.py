"""Entries that take precedence over the table of legalizations: what users may write, as entries of the table."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation

from relex.dialects import relex as operators
from relex.dialects.context import make_context
from relex.dialects.errors import DTypeError, UnknownNameError, kind_of
from relex.dialects.relex import Operator
from relex.dialects.tir import PrimFuncOp
from relex.dialects.tir.prim_func import NOALIAS_ATTR
from relex.lowering.legalizations.legalization_table import LEGALIZATIONS, Legalization
from relex.lowering.legalizations.tensor_expressions import TensorExpression
from relex.passes.loops.annotate_fast_math import annotate_fast_math

Override = Legalization | TensorExpression | PrimFuncOp | ModuleOp | str
"""A function like those in the table, or the same without the operator as the first parameter; a loop function, or a
module of one; the name of a library function."""


def read_overrides(
    overrides: Mapping[type[Operation] | str, Override], *, strict: bool = False
) -> dict[type[Operation], Legalization | str]:
    """Return overrides by class; loop functions are annotated as hand-written ones are, without fast-math flags if
    `strict`. Raises `UnknownNameError` for the name of no operator, and `DTypeError` for what is no class of an
    operator, or cannot be an entry."""
    found: dict[type[Operation], Legalization | str] = {}
    for key, override in overrides.items():
        kind = find_operator(key) if isinstance(key, str) else key
        LEGALIZATIONS.expect_keys(kind)
        found[kind] = _entry(kind, override, strict)
    return found


def find_operator(name: str) -> type[Operator]:
    """Return the operator of a name: `dense`, `relex.dense`, or TVM's `relax.nn.dense`."""
    short = name.removeprefix("relax.").removeprefix("relex.").removeprefix("nn.")
    known = operators.OPERATORS  # All of them are imported now.
    found = known.get(short) or make_context().get_optional_op(name)
    if found is None or not issubclass(found, Operator):
        raise UnknownNameError(f"no operator '{name}'; there are {', '.join(known)}")
    return found


def _entry(kind: type[Operation], override: Any, strict: bool) -> Legalization | str:
    if isinstance(override, ModuleOp):
        functions = list(override.ops)
        if len(functions) != 1 or not isinstance(functions[0], PrimFuncOp):
            found = ", ".join(op.name for op in functions) or "none"
            raise DTypeError(
                f"expected overrides to map {kind.__name__} to a module of one loop function, found {found}"
            )
        override = functions[0]
    match override:
        case str():
            return override
        case PrimFuncOp():
            return _with_op(partial(_always, _annotated(override, strict)))
        case TensorExpression(kind=of) if issubclass(kind, of) and (entry := find_entry(kind)) is not None:
            # It gets the properties of the operator.
            return entry
        case _ if callable(override):
            return cast("Legalization", override) if _takes_op(kind, override) else _with_op(override)
        case _:
            found = kind_of(override)
            expected = "a function, a loop function or the name of a library function"
            raise DTypeError(f"expected overrides to map {kind.__name__} to {expected}, found {found}")


def find_entry(kind: type[Operation]) -> Legalization | None:
    """Return the entry of the table for a class, or for its nearest base class that has one."""
    return next((LEGALIZATIONS[of] for of in kind.__mro__ if of in LEGALIZATIONS), None)


def _annotated(function: PrimFuncOp, strict: bool) -> PrimFuncOp:
    """Return a loop function with what may be said of it as the callee of `relex.call_tir`."""
    function = function.clone()
    function.attributes[NOALIAS_ATTR] = UnitAttr()
    if not strict:
        annotate_fast_math(function)
    return function


def _always(function: PrimFuncOp, *tensors: Any) -> PrimFuncOp:
    return function


def _takes_op(kind: type[Operation], function: Callable[..., Any]) -> bool:
    """Return whether the first parameter of a function is the operator, before one for each operand."""
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or parameters[0].kind is inspect.Parameter.VAR_POSITIONAL:
        return False
    if parameters[0].name == "op" or not issubclass(kind, Operator) or kind.is_variadic():
        return True
    needed = [p for p in parameters if p.default is inspect.Parameter.empty]
    return len(needed) != len(kind.operand_names())


def _with_op(function: Callable[..., Any]) -> Legalization:
    """Return a function of tensors alone as one that gets the operator, too."""
    own = inspect.signature(function)

    def legalize(op: Operator, *tensors: Any) -> Any:
        return function(*tensors)

    first = inspect.Parameter("op", inspect.Parameter.POSITIONAL_ONLY)
    parameters = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    # The names of the parameters become the names of the buffers.
    legalize.__signature__ = own.replace(parameters=[first, *parameters])
    return legalize
