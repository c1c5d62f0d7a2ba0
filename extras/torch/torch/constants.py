"""Operators of what is known at import: torch computes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relex.dialects.sizes import IndexExpr
from relex.frontend.graph_expressions import Expr
from relex.frontend.importing.values import Known, refuse
from relex.frontend.torch.complex_numbers import Pair, known_pair
from relex.frontend.torch.library import torch, tree
from relex.frontend.torch.tensors import array_of, tensor_of

NO_IMPORT = "no import for the operator; compute it before or after the program, or add an import (docs/torch.md)"

_OF_MORE = ("nondeterministic_seeded", "dynamic_output_shape", "data_dependent_output")
"""What torch says of operators that give more than a tensor of their arguments' elements."""


def computed_at_import(target: Any, arguments: Sequence[Any]) -> Any:
    """Return what torch computes of an operator that has no import. Refuses arguments that the program computes."""
    given = tree.tree_leaves(list(arguments))
    if not isinstance(target, torch._ops.OpOverload) or target._schema.is_mutable or any(map(_is_open, given)):
        refuse(NO_IMPORT)
    if any(getattr(torch.Tag, tag) in target.tags for tag in _OF_MORE):
        refuse(NO_IMPORT)
    named = {argument.name: _as_tensor(x) for argument, x in zip(target._schema.arguments, arguments, strict=True)}
    try:
        with torch.no_grad():
            found = target(**_without_device(named))
    except RuntimeError as e:
        refuse(f"torch cannot compute it at import: {str(e).splitlines()[0]}")
    results = found if isinstance(found, tuple) else (found,)
    for result, tensor in zip(target._schema.returns, results, strict=False):
        if result.name == "info" and tensor.any():
            refuse("torch cannot compute it at import: a matrix is singular, or not positive")
    return tree.tree_map_only(torch.Tensor, _known, found if not isinstance(found, tuple) else list(found))


def _is_open(x: Any) -> bool:
    """Return whether an argument is known only when the program runs."""
    if isinstance(x, Known):
        return x.is_symbolic
    return isinstance(x, Expr | IndexExpr | Pair)


def _as_tensor(x: Any) -> Any:
    return tree.tree_map_only(Known, lambda known: tensor_of(known.array), x)


def _without_device(named: dict[str, Any]) -> dict[str, Any]:
    """Return arguments for a processor, whichever device a model was made for."""
    return {name: x for name, x in named.items() if name not in ("device", "pin_memory")}


def _known(tensor: Any) -> Known | Pair:
    return known_pair(tensor, "") if tensor.is_complex() else Known(array_of(tensor))
