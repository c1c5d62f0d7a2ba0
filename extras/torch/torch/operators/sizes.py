"""Sizes of the program, and arithmetic on them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import f64, i1, i64

from relex.dialects.sizes import IndexExpr, Size, count, larger, names_in, never_negative, smaller
from relex.frontend import op
from relex.frontend.graph_expressions import Expr
from relex.frontend.importing.conditions import CONDITIONS
from relex.frontend.importing.size_arithmetic import ceil, floor, truncated
from relex.frontend.torch import Known, Operand, Tensor, TorchNode, imports, refuse
from relex.frontend.torch.import_table import row
from relex.frontend.torch.library import torch
from relex.frontend.torch.operators.data_sizes import as_size
from relex.frontend.torch.quotients import exact_quotient


def _itself(x: Operand) -> Operand:
    """Return the number."""
    return x


_COMPARISONS: dict[str, Callable[..., Operand]] = {
    **{
        "ge": op.greater_equal,
        "gt": op.greater,
        "le": op.less_equal,
        "lt": op.less,
        "eq": op.equal,
        "ne": op.not_equal,
    },
    **{"and_": op.logical_and, "or_": op.logical_or},
}
"""Comparisons of numbers that depend on data, by the names of Python's module `operator`."""


def _alike(node: TorchNode, *numbers: Any) -> list[Operand]:
    """Return numbers of which some depend on data as tensors of one type."""
    tensors = [x if isinstance(x, Expr) else Known(x) for x in numbers]
    types = [node.tensor(x).element_type for x in tensors]
    common = f64 if f64 in types else i64 if i64 in types else i1
    return [node.typed(x, common) for x in tensors]


def _compared(node: TorchNode, function: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Compare sizes, or combine conditions on them."""
    if isinstance(x, Expr) or isinstance(y, Expr):
        return _COMPARISONS[node.name](*_alike(node, x, y))
    if not isinstance(x, IndexExpr) and not isinstance(y, IndexExpr):
        return node.fx.target(x, y)
    if isinstance(x, float) or isinstance(y, float):
        refuse("a comparison of a float with a dynamic size; fix the size with `shapes=`")
    if node.name in ("and_", "or_") and not isinstance(node.results[0], torch.SymBool):
        refuse("bits of a dynamic size; fix the size with `shapes=`")
    return function(x, y)


_ARITHMETIC: dict[str, Callable[..., Operand]] = {
    **{"add": op.add, "sub": op.subtract, "mul": op.multiply, "neg": op.negative},
    **{"truediv": op.divide, "pow": op.power, "sym_float": _itself},
}
"""Arithmetic on numbers that are no sizes, by the names of Python's module `operator`."""


def _computed(node: TorchNode, function: Callable[..., Any], *numbers: Any) -> Any:
    """Compute with sizes, or with numbers that depend on sizes or data."""
    if any(isinstance(x, Expr) for x in numbers):
        return _ARITHMETIC[node.name](*_alike(node, *numbers))
    return function(*numbers)


for _function in (operator.add, operator.sub, operator.mul, operator.neg):
    row(_function.__name__, _function, _computed, package="operator")
for _name, _function in CONDITIONS.items():
    row(_name, _function, _compared, package="operator")
row("sym_max", larger, package="torch")
row("sym_min", smaller, package="torch")
row("sym_sum", sum, package="torch")


@imports("torch.sym_not", "operator.not_")
def negated(node: TorchNode, condition: Any) -> Any:
    """Whether a condition is false."""
    return 1 - condition if isinstance(condition, IndexExpr) else not condition


@imports("torch.sym_ite")
def choice(node: TorchNode, condition: Any, x: Any, y: Any) -> Any:
    """One of two sizes, by a condition."""
    if isinstance(condition, Expr):
        return op.where(node.typed(condition, i1), *_alike(node, x, y))
    return y + condition * (x - y) if isinstance(condition, IndexExpr) else x if condition else y


@imports("operator.getitem")
def item(node: TorchNode, values: list[Any], place: int) -> Any:
    """One result of several."""
    if place >= len(values):
        refuse(f"result {place} of the operator")
    return values[place]


@imports("operator.truediv", "torch.sym_float", "operator.pow")
def number_of_sizes(node: TorchNode, *sizes: Any) -> Any:
    """Numbers that are no integers: of dynamic sizes they are tensors without dimensions."""
    if not any(isinstance(size, IndexExpr | Expr) for size in sizes):
        return node.fx.target(*sizes)
    return _ARITHMETIC[node.name](*(node.typed(size, f64) for size in sizes))


_ROUNDED: dict[str, Callable[[Any], Size]] = {"ceil": ceil, "floor": floor, "sym_int": truncated, "trunc": truncated}


@imports("math.ceil", "math.floor", "math.trunc", "torch.sym_int")
def rounded(node: TorchNode, x: Any) -> Size:
    """A size of a number that is a size divided by an integer."""
    tensor = node.tensor(x) if isinstance(x, Expr) else x
    if not isinstance(tensor, Expr):
        return _ROUNDED[node.name](tensor)
    (number,) = node.known(tensor, "a quotient of a size by an integer").flat
    return _ROUNDED[node.name](number)


@imports("operator.floordiv", "operator.mod")
def quotient_of_sizes(node: TorchNode, size: Size, divisor: Size) -> Size:
    """The quotient of sizes, rounded down, or its remainder."""
    is_quotient = node.name == "floordiv"
    if isinstance(divisor, int):
        return size // divisor if is_quotient else size % divisor
    if (exact := exact_quotient(size, divisor)) is not None:
        return exact if is_quotient else 0
    if is_quotient and never_negative(-size):
        return -quotient_of_sizes(node, divisor - size - 1, divisor)
    # What is no expression of sizes the program computes as it computes sizes that depend on data.
    node.expect(op.reshape(op.not_equal(Known([divisor]), 0), []), "ZeroDivisionError: expected a size other than 0")
    function = op.floor_divide if is_quotient else op.floor_mod
    return as_size(node, function(Known([size]), op.maximum(Known([divisor]), 1)))


@imports("aten.sym_size.int")
def size(node: TorchNode, x: Tensor, axis: int) -> Size:
    """The size of a dimension."""
    return node.shape(x)[axis]


@imports("aten.sym_numel")
def elements(node: TorchNode, x: Tensor) -> Size:
    """The number of elements."""
    return count(node.shape(x))


def _nothing(*arguments: object) -> None:
    """Return nothing: torch has checked it, or the program checks its sizes itself."""


@imports("aten._assert_async", "aten._functional_assert_async")
def assert_true(node: TorchNode, condition: Tensor, message: str = "", *token: object) -> None:
    """Stop the program unless a number is not zero."""
    node.expect(node.typed(op.reshape(condition, []), i1), message or "expected a number other than zero")


@imports("aten._assert_scalar")
def require(node: TorchNode, condition: Size, message: str = "") -> None:
    """Let the program take sizes only for which a condition holds, or stop it if that depends on data."""
    if isinstance(condition, Expr):
        node.expect(node.typed(condition, i1), message)
    elif any(map(node.builder.is_late, names_in(condition))):
        if not node.builder.always_holds(condition):
            node.expect(op.reshape(node.typed(condition, i1), []), message)
    else:
        node.builder.require(condition, message)


row("_check", _nothing, package="torch")
row("_assert_tensor_metadata sym_constrain_range sym_constrain_range_for_size", _nothing)
