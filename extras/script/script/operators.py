"""Graph operators by their names in scripts.

There is no list of operators: `R.add` and `R.nn.relu` are `relex.add` and `relex.relu`; `R.audio.frame` is the operator
`audio.frame` of another package. Parameters are the parameters of the operator class.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from relex.dialects.dtypes import INTEGERS
from relex.dialects.errors import one_line
from relex.dialects.relex import DivideOp, Operator, SlidingWindows, TruncDivideOp
from relex.dialects.relex.operator import tensor_type
from relex.dialects.relex.size_properties import EXPRESSION_PROPERTIES
from relex.frontend.script.dtypes import element_type_of
from relex.frontend.script.dynamic_options import DynamicOptions
from relex.frontend.script.layouts import Conversions, Emit, conversion_options
from relex.frontend.script.scope import Unit, arguments, expect_neutral
from relex.frontend.script.source import ScriptError, shown

_NEUTRAL: dict[str, tuple[object, ...]] = {
    "ceil_mode": (False,),
    "count_include_pad": (False,),
    "center": (True,),
    "scale": (True,),
    "training": (False,),
    "pad_mode": ("constant",),
    "mode": ("clip", "fast"),
    "assume_inbound": (False,),
}
"""Options of TVM's operators that relex's lack, with the values that match relex's behavior."""

_IGNORED = ("momentum",)
"""Options of TVM's operators without effect."""

SPECIAL_NUMBERS = ("inf", "-inf", "nan")
"""TVM's spelling of non-finite numbers."""

_LISTS = ("strides", "dilation", "pool_size", "output_padding", "padding", "axes")
"""Options that are lists, where one number stands for a list: of one for each dimension of a window."""


def script_name(operator: type[Operator]) -> str:
    """Return the name of an operator in a script: `R.nn.relu` for `relex.relu`."""
    return ".".join(filter(None, ["R", operator.SCRIPT_NAMESPACE, operator.name.removeprefix("relex.")]))


def find_operator(unit: Unit, meaning: str) -> type[Operator] | None:
    """Return the operator class for a name such as `R.nn.relu`, or None."""
    path = meaning.split(".")[1:]
    if path[:1] == ["nn"]:
        path = path[1:]
    name = f"relex.{path[0]}" if len(path) == 1 else ".".join(path)
    found = unit.context.get_optional_op(name) if len(path) in (1, 2) else None
    return found if found is not None and issubclass(found, Operator) and not inspect.isabstract(found) else None


def apply_operator(
    unit: Unit,
    call: ast.Call,
    name: str,
    operator: type[Operator],
    read: Callable[[Sequence[ast.expr]], Sequence[Any]],
    sizes: DynamicOptions,
    emit: Emit,
) -> Operator:
    """Emit the op for a call of an operator; `read` converts expressions to tensors, and `sizes` options that are
    sizes. Returns the op of the result, which may have another layout or dtype than the operator has."""
    operands, options = operator.operand_names(), operator.options()
    needed = [option for option, parameter in options.items() if parameter.default is inspect.Parameter.empty]
    optional = [option for option in options if option not in needed]
    bound = arguments(
        call, name, [*operands, *needed], optional, neutral=(*conversion_options(operator), *_NEUTRAL, *_IGNORED)
    )
    nodes = [bound.pop(operand) for operand in operands]
    values: dict[str, Any] = {
        option: _option(unit, operator, option, str(options[option].annotation), node, sizes)
        for option, node in bound.items()
        if option in options
    }
    expect_neutral(unit, bound, {name: allowed for name, allowed in _NEUTRAL.items() if name not in options})
    conversions = Conversions(unit, operator, bound, emit)
    try:
        tensors = conversions.before(read(_members(nodes[0]) if operator.is_variadic() else nodes))
        operator = _on_integers(operator, tensors)
        result = operator(*tensors, **(values if operator.is_variadic() else sizes.with_sizes(values, tensors[0])))
    except (VerifyException, TypeError, ValueError) as e:
        raise ScriptError(call, f"'{name}' {one_line(e)}") from e
    return conversions.after(emit(result))


def _on_integers(operator: type[Operator], tensors: Sequence[SSAValue]) -> type[Operator]:
    """Return the operator that TVM has for integers under the name of another one."""
    is_quotient = operator is DivideOp and tensor_type(tensors[0].type).element_type in INTEGERS
    return TruncDivideOp if is_quotient else operator


def _members(node: ast.expr) -> Sequence[ast.expr]:
    if not isinstance(node, ast.Tuple | ast.List):
        raise ScriptError(node, f"expected tensors in parentheses, found '{shown(node)}'")
    return node.elts


def _option(
    unit: Unit, operator: type[Operator], name: str, annotation: str, node: ast.expr, sizes: DynamicOptions
) -> object:
    """Return the value of an option in the form that relex's operators take."""
    if EXPRESSION_PROPERTIES.get(name) in operator.options() and (numbers := sizes.read(node)) is not None:
        return numbers
    value = unit.constants.value(node)
    if name == "dtype":
        return element_type_of(node, value)
    if value in SPECIAL_NUMBERS:
        value = float(str(value))
    if _is_integer(value):
        rank = operator.RANK if issubclass(operator, SlidingWindows) and name != "padding" else 1
        value = (value,) * rank if name in _LISTS else value
    allowed = [kind for kind in annotation.split(" | ") if kind in _KINDS]
    if allowed and not any(_KINDS[kind][1](value) for kind in allowed):
        expected = " or ".join(_KINDS[kind][0] for kind in allowed)
        raise ScriptError(node, f"expected {name} to be {expected}, found {value!r}")
    return value


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63


def _are_integers(value: object) -> bool:
    return isinstance(value, tuple) and all(map(_is_integer, cast("tuple[object, ...]", value)))


_KINDS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "int": ("an integer", _is_integer),
    "Sequence[int]": ("a list of integers", _are_integers),
    "float": ("a number", lambda v: _is_integer(v) or isinstance(v, float)),
    "str": ("a text", lambda v: isinstance(v, str)),
    "bool": ("True or False", lambda v: isinstance(v, bool)),
    "None": ("None", lambda v: v is None),
}
"""Permitted types of options by the annotation of the operator: a description, and a predicate."""
