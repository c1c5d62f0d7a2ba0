"""Sizes of the program, and arithmetic on them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import i1

from relex.dialects.sizes import IndexExpr, Size, count, larger, smaller
from relex.frontend import op
from relex.frontend.importing.values import plain
from relex.frontend.torch import Node, Tensor, imports, refuse
from relex.frontend.torch.table import IMPORTS

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "operator.add": operator.add,
    "operator.sub": operator.sub,
    "operator.mul": operator.mul,
    "operator.floordiv": lambda x, y: x // y,
    "operator.mod": operator.mod,
    "torch.sym_max": larger,
    "torch.sym_min": smaller,
}


for _name, _function in ARITHMETIC.items():
    IMPORTS.add(plain(_function), _name)
IMPORTS.add(plain(operator.neg), "operator.neg")


@imports("operator.getitem")
def item(node: Node, values: list[Any], place: int) -> Any:
    """One result of several."""
    return values[place]


@imports("operator.truediv", "torch.sym_float", "operator.pow")
def number_of_sizes(node: Node, *sizes: Any) -> Any:
    """Numbers that are no integers, of sizes that are known."""
    if any(isinstance(size, IndexExpr) for size in sizes):
        refuse("a float that depends on a size that is open; 'shapes' closes them")
    return node.fx.target(*sizes)


@imports("aten.sym_size.int")
def size(node: Node, x: Tensor, axis: int) -> Size:
    """The size of a dimension."""
    return node.shape(x)[axis]


@imports("aten.sym_numel")
def elements(node: Node, x: Tensor) -> Size:
    """The number of elements."""
    return count(node.shape(x))


def _nothing(node: Node, *arguments: Any) -> None:
    """Return nothing: torch has checked it, or the program checks its sizes itself."""


@imports("aten._assert_async", "aten._functional_assert_async")
def assert_true(node: Node, condition: Tensor, message: str = "", *token: object) -> None:
    """Stop the program unless a number is not zero."""
    node.expect(node.typed(op.reshape(condition, []), i1), message or "expected a number other than zero")


CHECKS = "_assert_scalar _assert_tensor_metadata sym_constrain_range sym_constrain_range_for_size"
CONDITIONS = "eq ge gt le lt ne and_ or_ not_"

IMPORTS.add(_nothing, "torch.sym_not", "torch._check")
IMPORTS.add(_nothing, *(f"aten.{name}" for name in CHECKS.split()))
IMPORTS.add(_nothing, *(f"operator.{name}" for name in CONDITIONS.split()))
