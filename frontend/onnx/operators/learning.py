"""The operators of classical learning, `ai.onnx.ml`, as scikit-learn's models are written by skl2onnx."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, i64

from relex.frontend import op
from relex.frontend.expressions import Operand
from relex.frontend.onnx.node import Node
from relex.frontend.onnx.table import imports
from relex.frontend.onnx.values import Known, Tensor, refuse

ML = "ai.onnx.ml"


def _floats(numbers: Sequence[float] | None, shape: Sequence[int] = (-1,)) -> Known:
    return Known(np.array(numbers or [], np.float32).reshape(shape))


def transformed(node: Node, scores: Operand, function: str | None = None) -> Operand:
    """Apply the function that turns scores into probabilities, by default that in an attribute."""
    match function or node.text("post_transform", "NONE"):
        case "NONE":
            return scores
        case "LOGISTIC":
            return op.sigmoid(scores)
        case "SOFTMAX":
            return op.softmax(scores, -1)
        case other:
            refuse(f"the function {other}", "post_transform")


@imports("LinearRegressor", domain=ML)
def linear_regressor(node: Node, x: Tensor) -> Operand:
    """A linear function for each target."""
    targets = node.integer("targets", 1)
    scores = op.dense(op.astype(x, f32), _floats(node.numbers("coefficients"), (targets, -1)))
    if node.numbers("intercepts"):
        scores = op.add(scores, _floats(node.numbers("intercepts")))
    return transformed(node, scores)


@imports("LinearClassifier", domain=ML)
def linear_classifier(node: Node, x: Tensor) -> list[Operand]:
    """The class with the highest score, and all scores."""
    labels = node.integers("classlabels_ints")
    if not labels:
        refuse("classes whose names are strings", "classlabels_strings")
    offsets = node.numbers("intercepts") or []
    rows = max(len(offsets), 1)
    scores: Operand = op.dense(op.astype(x, f32), _floats(node.numbers("coefficients"), (rows, -1)))
    if offsets:
        scores = op.add(scores, _floats(offsets))
    if rows == 1 and len(labels) == 2:
        refuse("two classes with one score")
    chosen = op.take(Known(np.array(labels, np.int64)), op.argmax(scores, 1), 0)
    return [chosen, transformed(node, scores)]


@imports("Normalizer", domain=ML)
def normalizer(node: Node, x: Tensor) -> Operand:
    """Each row divided by its norm."""
    wide = op.astype(x, f32)
    match node.text("norm", "MAX"):
        case "MAX":
            norm = op.max(op.abs(wide), 1, True)
        case "L1":
            norm = op.sum(op.abs(wide), 1, True)
        case _:
            norm = op.sqrt(op.sum(op.multiply(wide, wide), 1, True))
    zero = op.equal(norm, 0.0)
    return op.where(zero, wide, op.divide(wide, op.where(zero, 1.0, norm)))


@imports("Scaler", domain=ML)
def scaler(node: Node, x: Tensor) -> Operand:
    """`(x - offset) * scale`."""
    wide = op.astype(x, f32)
    return op.multiply(op.subtract(wide, _floats(node.numbers("offset"))), _floats(node.numbers("scale")))


@imports("Binarizer", domain=ML)
def binarizer(node: Node, x: Tensor) -> Operand:
    """1 above a threshold, else 0."""
    return op.astype(op.greater(x, node.like(node.number("threshold"), x)), x.element_type)


@imports("ArrayFeatureExtractor", domain=ML)
def features(node: Node, x: Tensor, places: Tensor) -> Operand:
    """Chosen columns."""
    chosen = op.take(x, op.reshape(op.astype(places, i64), [-1]), node.rank(x) - 1)
    return op.expand_dims(chosen, 0) if node.rank(x) == 1 else chosen
