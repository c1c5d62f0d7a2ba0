"""Support vector machines, `ai.onnx.ml`: numbers for each row of the data by its likeness to stored rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from xdsl.dialects.builtin import f32

from relex.dialects.arrays import Array
from relex.frontend import op
from relex.frontend.compositions.truth import any_of
from relex.frontend.importing.loops import Row, conditional, counted
from relex.frontend.onnx import Known, OnnxNode, Operand, Tensor, imports, refuse
from relex.frontend.onnx.operators.learning import ML, both_scores, classes, classified, in_rows, transformed


def _stored(node: OnnxNode, name: str, rows: int) -> Known:
    """Return an attribute that is a matrix with `rows` rows."""
    numbers = np.array(node.numbers(name) or [], np.float32)
    if rows < 1 or len(numbers) % rows:
        refuse(f"expected numbers for {rows} rows, found {len(numbers)}", name)
    return Known(numbers.reshape(rows, -1))


def _likeness(node: OnnxNode, x: Operand, vectors: Known) -> Operand:
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
def support_vector_regressor(node: OnnxNode, x: Tensor) -> Operand:
    """A sum of kernels, or a linear function; its sign, if rows of a single class are told from others."""
    wide = op.astype(in_rows(node, x), f32)
    count = node.integer("n_supports")
    coefficients = _stored(node, "coefficients", 1)
    likeness = _likeness(node, wide, _stored(node, "support_vectors", count)) if count else wide
    score = op.add(op.dense(likeness, coefficients), np.float32((node.numbers("rho") or [0.0])[0]).item())
    if node.flag("one_class"):
        return op.where(op.greater(score, 0.0), *(Known(np.array(n, np.float32)) for n in (1, -1)))
    return score


# Classes: one is told from another one by a number for each pair of them.

MOST_TRIPS = 100
"""How often the shares of classes are improved at most, as in libsvm."""
NEAR = 1e-7
"""How near to 0 and 1 the probabilities for pairs may be."""


@imports("SVMClassifier", domain=ML)
def support_vector_classifier(node: OnnxNode, x: Tensor) -> list[Operand]:
    """The class that most pairs decide for, and the numbers of the pairs, or probabilities of all classes; without
    stored rows, the class with the largest linear function, and these."""
    wide, labels = op.astype(in_rows(node, x), f32), classes(node, "classlabels_ints")
    counts, number = node.integers("vectors_per_class") or [], len(labels)
    rho = Known(np.array(node.numbers("rho") or [0.0], np.float32))
    if min(counts, default=0) < 0:
        refuse(f"expected numbers of rows that are 0 or more, found {min(counts)}", "vectors_per_class")
    if not sum(counts):
        scores = op.add(op.dense(wide, _stored(node, "coefficients", number)), np.float32(rho.array[0]).item())
        return _by_linear_functions(node, node.tensor(scores), labels)
    if len(counts) != number:
        refuse(f"expected stored rows of {number} classes, found {len(counts)}", "vectors_per_class")
    pairs = np.array([*combinations(range(number), 2)])
    if not 1 <= len(pairs) <= len(rho.array):
        refuse(f"expected a number for each of {len(pairs)} pairs of classes, found {len(rho.array)}", "rho")
    likeness = _likeness(node, wide, _stored(node, "support_vectors", sum(counts)))
    offsets = Known(rho.array[: len(pairs)])
    scores = node.tensor(op.add(op.dense(likeness, Known(_weights(node, counts))), offsets))
    wins = op.where(op.greater(scores, 0.0), Known(pairs.T[0]), Known(pairs.T[1]))
    votes = op.sum(op.astype(op.equal(op.expand_dims(wins, 2), Known(np.arange(number))), f32), [1])
    label = op.take(Known(np.array(labels, np.int64)), op.argmax(votes, 1), 0)
    return [label, _scores(node, scores, pairs, number)]


def _weights(node: OnnxNode, counts: Sequence[int]) -> Array:
    """Return what the likeness of each stored row counts in each pair: in those pairs that its class is in."""
    coefficients = _stored(node, "coefficients", len(counts) - 1).array
    of_row = np.repeat(np.arange(len(counts)), counts)
    if coefficients.shape[1] != len(of_row):
        refuse(f"expected {len(of_row)} coefficients for a class, found {coefficients.shape[1]}", "coefficients")
    pairs = combinations(range(len(counts)), 2)
    rows = [np.where(of_row == i, coefficients[j - 1], 0) + np.where(of_row == j, coefficients[i], 0) for i, j in pairs]
    return np.array(rows, np.float32)


def _by_linear_functions(node: OnnxNode, scores: Tensor, labels: Sequence[int]) -> list[Operand]:
    """Return the class with the largest function; of two, the second one if any is above its limit."""
    label, results = classified(node, scores, labels)
    if len(labels) != 2:
        return [label, results]
    is_positive = min(node.numbers("coefficients") or [0.0]) >= 0
    largest = op.max(scores, [1])
    above = op.greater_equal(largest, 0.5) if is_positive else op.greater(largest, 0.0)
    return [op.where(above, Known(np.array(labels[1], np.int64)), label), results]


def _scores(node: OnnxNode, scores: Tensor, pairs: Array, number: int) -> Operand:
    """Return the numbers of pairs as an attribute wants them, or probabilities if there are coefficients for them."""
    a, b = (np.array(node.numbers(name) or [], np.float32) for name in ("prob_a", "prob_b"))
    if len(a):
        if not len(a) == len(b) == len(pairs):
            refuse(f"expected {len(pairs)} coefficients of probabilities, found {len(a)} and {len(b)}", "prob_a")
        chances = op.sigmoid(op.negative(op.add(op.multiply(scores, Known(a)), Known(b))))
        return transformed(node, _coupled(node, op.clip(chances, NEAR, 1 - NEAR), pairs, number))
    if number > 2:
        return transformed(node, scores)
    name = node.text("post_transform", "NONE")
    return both_scores(scores, name, has_sign=name in ("NONE", "LOGISTIC"))


def _coupled(node: OnnxNode, chances: Operand, pairs: Array, number: int) -> Operand:
    """
    Return the probabilities of classes, given what each has against another one. They minimize
    `sum((chance(j, i) * p[i] - chance(i, j) * p[j]) ** 2)`, by the method of Wu, Lin and Weng, one class after another
    until no condition of a minimum is missed by more than 0.005 divided by the number of classes.
    """
    place = np.full((number, number), 2 * len(pairs))
    for k, (i, j) in enumerate(pairs):
        place[i, j], place[j, i] = k, len(pairs) + k
    (rows, _) = node.shape(chances)
    nothing = node.full([rows, 1], 0.0, f32)
    flat = op.concat(chances, op.subtract(1.0, chances), nothing, axis=1)
    table = op.take(flat, Known(place), 1)
    turned = op.permute_dims(table, [0, 2, 1])
    squares = op.expand_dims(op.sum(op.multiply(table, table), [1]), 2)
    matrix = node.tensor(op.where(Known(np.eye(number, dtype=bool)), squares, op.negative(op.multiply(table, turned))))

    def gradient(p: Tensor) -> tuple[Operand, Operand, Operand]:
        """Return the product with the matrix, that with the probabilities, and which rows go on."""
        product = op.sum(op.multiply(matrix, op.expand_dims(p, 1)), [2])
        total = op.sum(op.multiply(p, product), [1], True)
        missed = op.max(op.abs(op.subtract(product, total)), [1], True)
        return product, total, op.greater_equal(missed, 0.005 / number)

    def improve(i: Tensor, state: Sequence[Tensor]) -> tuple[list[Operand], list[Row]]:
        p, product, total = state
        row = op.take(matrix, i, 1)
        own, at = (op.expand_dims(op.take(t, i, 1), 1) for t in (node.tensor(row), product))
        step = node.tensor(op.divide(op.subtract(total, at), own))
        whole = op.add(step, 1.0)
        more = op.add(total, op.multiply(step, op.add(op.multiply(step, own), op.multiply(at, 2.0))))
        moved = op.where(op.equal(Known(np.arange(number)), i), op.add(p, step), p)
        product = op.divide(op.add(product, op.multiply(step, row)), whole)
        return [op.divide(moved, whole), product, op.divide(op.divide(more, whole), whole)], []

    def trip(_: Tensor, running: Tensor, state: Sequence[Tensor]) -> tuple[Operand, list[Operand], list[Row]]:
        p = state[0]
        product, total, goes_on = gradient(p)
        better = counted(node.builder, number, improve, [p, product, total])[0]
        following = node.tensor(op.where(goes_on, better, p))
        return any_of(node, gradient(following)[2]), [following], []

    first = node.full([rows, number], 1 / number, f32)
    return conditional(node.builder, Known(np.array(MOST_TRIPS)), Known(np.array(True)), trip, [first])[0]
