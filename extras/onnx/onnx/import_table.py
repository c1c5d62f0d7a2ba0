"""The open table of ONNX operators: what a node of each becomes.

    @imports("Gemm", since=7)
    def gemm(node: Node, a: Tensor, b: Tensor, c: Tensor | None = None) -> Operand: ...

A function takes the node and its inputs, in order; None stands for an optional one that is not given. It returns an
expression of operators (`relex.frontend.op`), or a list with one for each output. For what it does not support, it
calls `refuse`. An operator that is a function of its inputs and attributes is a row:

    row("Elu", activations.elu, rounded_once, alpha="alpha")
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from relex.dialects.table import Table
from relex.frontend.importing.values import plain

Import = Callable[..., Any]

IMPORTS = Table[tuple[str, str, int], Import]("imports of ONNX operators")
"""Functions by domain, operator and the first version of the operator set that they are for."""


def imports(*operators: str, since: int = 1, domain: str = "") -> Callable[[Import], Import]:
    """Return a decorator that adds an import for operators, from the version `since` of their operator set on until
    the next entry of the same operator."""
    return IMPORTS.rule(*((domain, operator, since) for operator in operators))


def row(
    operators: str, function: Callable[..., Any], by: Import = plain, *, since: int = 1, domain: str = "", **given: str
) -> None:
    """Add an import for operators, whose names are separated by spaces: a function of the inputs and attributes.
    `given` maps its parameters to names of attributes. The rule `by` says how the function is applied, such as
    `by_floats` and `rounded_once`."""

    def imported(node: Any, *inputs: Any) -> Any:
        attributes = {parameter: node.attribute(name) for parameter, name in given.items()}
        return by(node, partial(function, **attributes), *inputs)

    IMPORTS.add(imported, *((domain, operator, since) for operator in operators.split()))


def find_import(domain: str, operator: str, version: int) -> Import | None:
    """Return the import for an operator in a version of its operator set."""
    found = [since for name_domain, name, since in IMPORTS if (name_domain, name) == (domain, operator)]
    since = max((s for s in found if s <= version), default=None)
    return None if since is None else IMPORTS[domain, operator, since]
