"""Operators of what is known at import: torch computes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from relex.dialects.sizes import IndexExpr
from relex.frontend.graph_expressions import Expr
from relex.frontend.importing.values import Known, refuse
from relex.frontend.torch.complex_numbers import Pair, known_pair
from relex.frontend.torch.library import torch, tree
from relex.frontend.torch.tensors import array_of, tensor_of

NO_IMPORT = "no import for the operator; compute it before or after the program, or add an import (docs/torch.md)"

_OF_MORE = ("nondeterministic_seeded", "dynamic_output_shape", "data_dependent_output")
"""What torch says of operators that give more than a tensor of their arguments' elements."""


_LOOPS = frozenset(
    "_linalg_det _linalg_slogdet _linalg_solve_ex cholesky cholesky_inverse cholesky_solve inverse linalg_cholesky "
    "linalg_cholesky_ex linalg_inv linalg_inv_ex linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_qr linalg_solve "
    "linalg_solve_triangular triangular_solve".split()
)
"""Operators whose imports are loops that relex does not compute at compile time."""


def is_better_at_import(target: Any, arguments: Sequence[Any]) -> bool:
    """Return whether torch computes an operator at import although it has an import."""
    name = str(target).removeprefix("aten.").partition(".")[0]
    return name in _LOOPS and not any(map(_is_open, tree.tree_leaves(list(arguments))))


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
    results: Sequence[Any] = cast("tuple[Any, ...]", found) if isinstance(found, tuple) else (found,)
    for result, tensor in zip(target._schema.returns, results, strict=False):
        if result.name == "info" and tensor.any():
            refuse("torch cannot compute it at import: a matrix is singular, or not positive")
    return tree.tree_map_only(torch.Tensor, _known, [*results] if isinstance(found, tuple) else found)


def _is_open(x: Any) -> bool:
    """Return whether an argument is known only when the program runs."""
    if isinstance(x, Known):
        return x.is_symbolic
    return isinstance(x, Expr | IndexExpr | Pair)


def _as_tensor(x: Any) -> Any:
    return tree.tree_map_only(Known, _tensor, x)


def _tensor(known: Known) -> Any:
    return tensor_of(known.array)


def _without_device(named: dict[str, Any]) -> dict[str, Any]:
    """Return arguments for a processor, whichever device a model was made for."""
    return {name: x for name, x in named.items() if name not in ("device", "pin_memory")}


def _known(tensor: Any) -> Known | Pair:
    return known_pair(tensor, "") if tensor.is_complex() else Known(array_of(tensor))
