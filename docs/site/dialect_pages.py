"""A page for each dialect: its operations with operands, properties, results and regions, and how Python makes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reference_pages import doc_of, joined, signature_of, summary_of
from xdsl.ir import Dialect
from xdsl.irdl import (
    IRDLOperation,
    OptionalDef,
    OptPropertyDef,
    OptSingleBlockRegionDef,
    SingleBlockRegionDef,
    VariadicDef,
    VarSingleBlockRegionDef,
)

from relex.dialects.context import get_all_dialects
from relex.dialects.relex.operator import Operator

_INTRODUCTIONS = {
    "relex": "Operations on tensors: a graph. Operators derive their results from their operands, so that classes take "
    "operands and properties alone; [Operators](../docs/operators.md) has their sizes, types and meaning.",
    "tir": "Loop functions on buffers. What is computed inside is `arith` and `math`, and buffers are `memref`s that "
    "`memref.load` and `memref.store` access.",
    "schedule": "Steps that transform loops: [Schedule primitives](primitives.md) has what each does, and "
    "[Schedules](../docs/schedules.md) how to write them. In Python, methods of `relex.passes.schedule.Schedule` carry "
    "steps out at once.",
}

_COUNTS = {"operandSegmentSizes", "resultSegmentSizes"}
"""Properties that only tell which operands belong to which name."""

_ONE_BLOCK = SingleBlockRegionDef | OptSingleBlockRegionDef | VarSingleBlockRegionDef


def dialect_pages() -> dict[str, str]:
    """Return the pages by their names."""
    return {f"dialect-{name}": dialect_page(make()) for name, make in get_all_dialects().items()}


def dialect_page(dialect: Dialect) -> str:
    operations = [op for op in dialect.operations if issubclass(op, IRDLOperation)]
    # What makes a program of operators comes before them.
    operations.sort(key=lambda op: (issubclass(op, Operator), op.name))
    title = f"# The dialect {dialect.name}"
    return joined(title, _INTRODUCTIONS[dialect.name], *(_operation(op) for op in operations))


def _operation(op: type[IRDLOperation]) -> str:
    dialect, _, name = op.name.partition(".")
    doc, more = doc_of(op), ""
    if issubclass(op, Operator):
        doc, more = summary_of(doc), f"[Sizes, types and meaning](../docs/operators.md#relex{name})"
    elif dialect == "schedule" and not op.get_irdl_definition().regions:
        doc, more = summary_of(doc), f"[What it does](primitives.md#{name})"
    own = op.__init__ is not IRDLOperation.__init__
    made = signature_of(op.__name__, op) if own else f"`{op.__name__}(properties={{...}})`"
    rows = list(_rows(op))
    table = "\n".join(["| | name | type |", "|---|---|---|", *rows]) if rows else ""
    return joined(f"## {op.name}", doc, more, table, "In Python:", made)


def _rows(op: type[IRDLOperation]) -> Iterator[str]:
    defined = op.get_irdl_definition()
    kinds: dict[str, Sequence[tuple[str, Any]]] = {
        "operand": defined.operands,
        "property": [(name, of) for name, of in defined.properties.items() if name not in _COUNTS],
        "result": defined.results,
        "region": defined.regions,
    }
    for kind, parts in kinds.items():
        for name, of in parts:
            yield f"| {kind} | `{name}` | {_type(of)} |"


def _type(of: Any) -> str:
    """Return how many values or attributes there are, and of which types."""
    count = "any number of " if isinstance(of, VariadicDef) and not isinstance(of, OptionalDef) else ""
    if isinstance(of, OptionalDef | OptPropertyDef) or getattr(of, "default_value", None):
        count = "optional "
    constraint = getattr(of, "constr", None)
    if constraint is None:
        return f"{count}one block" if isinstance(of, _ONE_BLOCK) else f"{count}blocks"
    return count + _types(constraint)


def _types(constraint: Any) -> str:
    # Values are a range of one, or of any number, of what a constraint allows.
    while not hasattr(constraint, "get_bases"):
        inner = getattr(constraint, "constraint", None) or getattr(constraint, "constr", None)
        if inner is None:
            return "any type"
        constraint = inner
    bases = constraint.get_bases()
    return " or ".join(f"`{name}`" for name in sorted(base.name for base in bases)) if bases else "any type"
