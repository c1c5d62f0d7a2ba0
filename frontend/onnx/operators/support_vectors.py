"""Support vector machines, `ai.onnx.ml`: a number for each row of the data by its likeness to stored rows."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32

from relex.frontend import op
from relex.frontend.onnx import Known, Node, Operand, Tensor, imports, refuse
from relex.frontend.onnx.operators.learning import ML, transformed


def _stored(node: Node, name: str, rows: int) -> Known:
    """Return an attribute that is a matrix of so many rows."""
    numbers = np.array(node.numbers(name) or [], np.float32)
    if len(numbers) % rows:
        refuse(f"expected numbers for {rows} rows, found {len(numbers)}", name)
    return Known(numbers.reshape(rows, -1))


def _likeness(node: Node, x: Operand, vectors: Known) -> Operand:
    """Return the kernel of each row of the data and each of the vectors."""
    gamma, start, degree = (*(node.numbers("kernel_params") or []), 0.0, 0.0, 0.0)[:3]
    kernel = node.text("kernel_type", "LINEAR")
    if kernel == "RBF":
        between = node.tensor(op.subtract(op.expand_dims(x, 1), vectors))
        return op.exp(op.multiply(op.sum(op.multiply(between, between), 2), -gamma))
    product: Operand = op.dense(x, vectors)
    match kernel:
        case "LINEAR":
            return product
        case "POLY":
            return op.power(op.multiply(product, gamma) + start, node.like(degree, node.tensor(product)))
        case "SIGMOID":
            return op.tanh(op.multiply(product, gamma) + start)
        case other:
            refuse(f"the kernel {other}", "kernel_type")


@imports("SVMRegressor", domain=ML)
def support_vector_regressor(node: Node, x: Tensor) -> Operand:
    """A sum of kernels, or a linear function; its sign, if rows of a single class are told from others."""
    wide = op.astype(x, f32)
    count = node.integer("n_supports")
    coefficients = _stored(node, "coefficients", 1)
    likeness = _likeness(node, wide, _stored(node, "support_vectors", count)) if count else wide
    score = op.add(op.dense(likeness, coefficients), np.float32((node.numbers("rho") or [0.0])[0]).item())
    if node.flag("one_class"):
        return op.where(op.greater(score, 0.0), *(Known(np.array(n, np.float32)) for n in (1, -1)))
    return transformed(node, score)
