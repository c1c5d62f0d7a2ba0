"""The open table of ATen's operators: what a call of each becomes.

    @imports("aten.leaky_relu")
    def leaky_relu(node: Node, x: Tensor, slope: float) -> Operand: ...

A function takes the node and all arguments of the operator in the order of its schema, those with defaults included. A
tensor is one of the program or an array that is known at import; a size is a number or an expression of sizes. It
returns an expression of operators (`relex.frontend.op`), or a list of them. For what it does not support, it calls
`refuse`. An operator that is a function of its arguments is a row, with a rule for their types:

    row("elu", activations.elu, in_steps)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relex.dialects.table import Table
from relex.frontend.importing.values import plain

Import = Callable[..., Any]

IMPORTS = Table[str, Import]("imports of ATen operators")
"""Functions by the name of an operator, `aten.view`, or of one of its overloads, `aten.add.Tensor`, which goes first.
"""


def imports(*operators: str) -> Callable[[Import], Import]:
    """Return a decorator that adds an import for operators."""
    return IMPORTS.rule(*operators)


def row(operators: str, function: Callable[..., Any], by: Import = plain, package: str = "aten") -> None:
    """Add an import for operators of a package, whose names are separated by spaces: a function of their arguments. The
    rule `by` says how the function is applied, such as `in_result_type`."""

    def imported(node: Any, *arguments: Any) -> Any:
        return by(node, function, *arguments)

    IMPORTS.add(imported, *(f"{package}.{operator}" for operator in operators.split()))


def find_import(overload: str) -> Import | None:
    """Return the import for an overload of an operator, `aten.view.default`."""
    return IMPORTS.get(overload) or IMPORTS.get(overload.rpartition(".")[0])
