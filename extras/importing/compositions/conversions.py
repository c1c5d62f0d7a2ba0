"""Functions of floats for tensors of other types, and of smaller ones."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import f32, f64

from relex.dialects.dtypes import INTEGERS, is_emulated
from relex.frontend import op
from relex.frontend.compositions.activations import gelu_by_tanh
from relex.frontend.graph_expressions import Operand
from relex.frontend.importing.import_node import ImportedNode


def by_floats(site: ImportedNode, function: Callable[..., Operand], *operands: Operand) -> Operand:
    """Apply a function of floats to operands of one type. Integers are converted to f64, and the result back, which is
    rounded towards zero."""
    given = site.element_type(operands[0])
    if given not in INTEGERS:
        return function(*operands)
    return op.astype(function(*(op.astype(operand, f64) for operand in operands)), given)


def rounded_once(site: ImportedNode, function: Callable[..., Operand], x: Operand, *options: float) -> Operand:
    """Apply a function that takes several steps. Floats smaller than f32 are converted to it, so that only the result
    is rounded."""
    given = site.element_type(x)
    if not is_emulated(given):
        return function(x, *options)
    return op.astype(function(op.astype(x, f32), *options), given)


def gelu(site: ImportedNode, x: Operand, approximate: str) -> Operand:
    """Return the Gaussian error linear unit, exact or by a hyperbolic tangent."""
    return rounded_once(site, gelu_by_tanh, x) if approximate == "tanh" else op.gelu(x)
