"""Losses whose arguments torch checks when they run."""

from __future__ import annotations

from collections.abc import Callable

from relex.frontend import op
from relex.frontend.compositions.truth import all_of
from relex.frontend.torch import Operand, Tensor, TorchNode, imports

LEAST_LOGARITHM = -100.0
"""The logarithm of 0 in cross entropies."""

REDUCTIONS: dict[int, Callable[[Operand], Operand]] = {1: op.mean, 2: op.sum}
"""What becomes of the losses of all elements, by torch's numbers; 0 leaves them as they are."""


@imports("aten.binary_cross_entropy")
def binary_cross_entropy(
    node: TorchNode, x: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1
) -> Operand:
    """The cross entropies of probabilities, which must be from 0 to 1."""
    is_probability = op.logical_and(op.greater_equal(x, 0.0), op.less_equal(x, 1.0))
    node.expect(all_of(node, is_probability), "expected elements from 0 to 1")
    y, wanted = node.widened(x), node.widened(target)
    one, other = (op.maximum(z, LEAST_LOGARITHM) for z in (op.log(y), op.log1p(op.negative(y))))
    loss = op.subtract(op.multiply(op.subtract(wanted, 1.0), other), op.multiply(wanted, one))
    loss = loss if weight is None else op.multiply(loss, node.widened(weight))
    return node.typed(REDUCTIONS[reduction](loss) if reduction else loss)
