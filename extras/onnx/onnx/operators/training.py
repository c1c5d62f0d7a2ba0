"""Steps of optimizers, `ai.onnx.preview.training`. Gradients themselves are not computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import f64

from relex.frontend import op
from relex.frontend.onnx import OnnxNode, Operand, Tensor, imports, refuse

TRAINING = "ai.onnx.preview.training"

Step = Callable[..., Sequence[Operand]]
"""From the value of a variable, its regularized gradient, and what is kept of earlier steps to the next values."""


def _steps(node: OnnxNode, tensors: Sequence[Tensor], kept: int, step: Step) -> list[Operand]:
    """Return the results of a step for each variable: the new variables first, then each kind of what is kept."""
    count, rest = divmod(len(tensors), 2 + kept)
    if rest:
        refuse(f"expected {2 + kept} tensors for each variable, found {len(tensors)} in all")
    norm = node.number("norm_coefficient")
    stepped: list[Sequence[Operand]] = []
    for x, gradient, *before in zip(*(tensors[i * count : (i + 1) * count] for i in range(2 + kept)), strict=True):
        stepped.append(step(x, op.add(op.multiply(x, norm), gradient), *before))
    return [x for group in zip(*stepped, strict=True) for x in group]


def _of_type(x: Tensor, number: Operand) -> Operand:
    """Return a number that is computed in f64 as one of the type of a tensor."""
    return op.astype(number, x.element_type)


@imports("Adagrad", domain=TRAINING)
def adagrad(node: OnnxNode, rate: Tensor, time: Tensor, *tensors: Tensor) -> list[Operand]:
    """Steps that are divided by the root of the sum of all squared gradients."""
    decay = op.add(op.multiply(op.astype(time, f64), node.number("decay_factor")), 1.0)
    adjusted = op.divide(op.astype(rate, f64), decay)

    def step(x: Tensor, gradient: Operand, squares: Tensor) -> Sequence[Operand]:
        total = op.add(squares, op.multiply(gradient, gradient))
        moved = op.divide(op.multiply(_of_type(x, adjusted), gradient), op.add(op.sqrt(total), node.number("epsilon")))
        return op.subtract(x, moved), total

    return _steps(node, tensors, 1, step)


@imports("Adam", domain=TRAINING)
def adam(node: OnnxNode, rate: Tensor, time: Tensor, *tensors: Tensor) -> list[Operand]:
    """Steps along a running mean of gradients, divided by the root of a running mean of their squares."""
    alpha, beta, post = node.number("alpha"), node.number("beta"), node.number("norm_coefficient_post")
    wide, steps = op.astype(rate, f64), op.astype(time, f64)
    # The means start at 0, which the first steps correct.
    rest = [op.subtract(1.0, op.power(node.like(factor, wide), steps)) for factor in (alpha, beta)]
    adjusted = op.where(op.greater(steps, 0.0), op.divide(op.multiply(wide, op.sqrt(rest[1])), rest[0]), wide)

    def step(x: Tensor, gradient: Operand, mean: Tensor, squares: Tensor) -> Sequence[Operand]:
        new_mean = op.add(op.multiply(mean, alpha), op.multiply(gradient, 1 - alpha))
        new_squares = op.add(op.multiply(squares, beta), op.multiply(op.multiply(gradient, gradient), 1 - beta))
        moved = op.divide(new_mean, op.add(op.sqrt(new_squares), node.number("epsilon")))
        new = op.subtract(x, op.multiply(_of_type(x, adjusted), moved))
        return op.multiply(new, 1 - post), new_mean, new_squares

    return _steps(node, tensors, 2, step)


@imports("Momentum", domain=TRAINING)
def momentum(node: OnnxNode, rate: Tensor, time: Tensor, *tensors: Tensor) -> list[Operand]:
    """Steps along a running sum of gradients."""
    mode, alpha = node.text("mode"), node.number("alpha")
    if mode not in ("standard", "nesterov"):
        refuse(f"expected standard or nesterov, found {mode}", "mode")
    # The first gradient counts as a whole.
    factor = op.where(op.greater(time, 0), node.like(node.number("beta"), rate), node.like(1, rate))

    def step(x: Tensor, gradient: Operand, total: Tensor) -> Sequence[Operand]:
        new = op.add(op.multiply(total, alpha), op.multiply(_of_type(x, factor), gradient))
        along = op.add(gradient, op.multiply(new, alpha)) if mode == "nesterov" else new
        return op.subtract(x, op.multiply(_of_type(x, rate), along)), new

    return _steps(node, tensors, 1, step)
