"""The operators of classical learning, `ai.onnx.ml`, as scikit-learn's models are written by skl2onnx."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, i64

from relex.dialects.arrays import Array
from relex.frontend import op
from relex.frontend.compositions.conversions import by_floats
from relex.frontend.compositions.indexing import expect_in_range
from relex.frontend.compositions.truth import all_of, any_of
from relex.frontend.onnx import Known, OnnxNode, Operand, Tensor, imports, refuse

ML = "ai.onnx.ml"


def _floats(numbers: Sequence[float] | None, shape: Sequence[int] = (-1,)) -> Known:
    return Known(np.array(numbers or [], np.float32).reshape(shape))


def transformed(node: OnnxNode, scores: Operand, function: str | None = None) -> Operand:
    """Apply the function that turns scores into probabilities, by default that in an attribute. As in ONNX Runtime, a
    single score stays as it is."""
    name = function or node.text("post_transform", "NONE")
    match name:
        case "NONE":
            return scores
        case "LOGISTIC" | "SOFTMAX" | "SOFTMAX_ZERO" if node.shape(scores)[-1] == 1:
            return scores
        case "LOGISTIC":
            return op.sigmoid(scores)
        case "SOFTMAX":
            return op.softmax(scores, -1)
        case "SOFTMAX_ZERO":
            return _shares_of_others(scores)
        case _:
            refuse(f"the function {name}", "post_transform")


def _shares_of_others(scores: Operand) -> Operand:
    """Return the softmax of rows, to whose sum scores near 0 add nothing; they become 0, nearly."""
    largest = op.max(scores, -1, True)
    is_zero = op.less_equal(op.abs(scores), 1e-7)
    power = op.exp(op.subtract(scores, largest))
    near = op.multiply(scores, op.exp(op.negative(largest)))
    return op.divide(op.where(is_zero, near, power), op.sum(op.where(is_zero, 0.0, power), -1, True))


def in_rows(node: OnnxNode, x: Tensor) -> Tensor:
    """Return data as rows: of one dimension, it is a single one."""
    return node.tensor(op.expand_dims(x, 0)) if node.rank(x) == 1 else x


@imports("LinearRegressor", domain=ML)
def linear_regressor(node: OnnxNode, x: Tensor) -> Operand:
    """A linear function for each target."""
    return transformed(node, _linear(node, in_rows(node, x), node.integer("targets", 1)))


def _linear(node: OnnxNode, x: Tensor, rows: int) -> Operand:
    scores = op.dense(op.astype(x, f32), _floats(node.numbers("coefficients"), (rows, -1)))
    offsets = node.numbers("intercepts")
    return op.add(scores, _floats(offsets)) if offsets else scores


def classes(node: OnnxNode, name: str) -> list[int]:
    """Return the names of classes in an attribute, which must be numbers."""
    return node.integers(name) or refuse("classes whose names are strings", "classlabels_strings")


def classified(node: OnnxNode, scores: Operand, labels: Sequence[int]) -> list[Operand]:
    """Return the class with the highest score, and the scores of all as an attribute wants them."""
    return [op.take(Known(np.array(labels, np.int64)), op.argmax(scores, 1), 0), transformed(node, scores)]


@imports("LinearClassifier", domain=ML)
def linear_classifier(node: OnnxNode, x: Tensor) -> list[Operand]:
    """The class with the highest score, and all scores. One score tells two classes apart, which are 0 and 1 if they
    have no names."""
    rows = max(len(node.numbers("intercepts") or []), 1)
    scores = _linear(node, in_rows(node, x), rows)
    name = node.text("post_transform", "NONE")
    is_above = op.greater(op.squeeze(scores, 1), 0.0) if rows == 1 else None
    if is_above is not None and not node.has("classlabels_ints") and not node.has("classlabels_strings"):
        return [op.astype(is_above, i64), transformed(node, scores)]
    labels, least = classes(node, "classlabels_ints"), max(rows, 2)
    if len(labels) < least or (rows == 1 and len(labels) > 2):
        refuse(f"expected {least} classes{' or more' * (rows > 1)}, found {len(labels)}", "classlabels_ints")
    if is_above is None:
        return classified(node, scores, labels)
    first, second = (Known(np.array(label, np.int64)) for label in labels)
    return [op.where(is_above, second, first), both_scores(scores, name, has_sign=name == "LOGISTIC")]


def both_scores(scores: Operand, name: str, has_sign: bool) -> Operand:
    """Return the scores of two classes, given a column for the second one, as an attribute wants them. The first one
    has the score with the other sign, or what is left of 1; no softmax is taken of the two."""
    if name not in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"):
        refuse(f"the function {name}", "post_transform")
    both = op.concat(op.negative(scores) if has_sign else op.subtract(1.0, scores), scores, axis=1)
    return op.sigmoid(both) if name == "LOGISTIC" else both


@imports("Normalizer", domain=ML)
def normalizer(node: OnnxNode, x: Tensor) -> Operand:
    """Each row divided by its norm, or by its largest element, of which NaN is none."""
    wide = node.tensor(op.astype(x, f32))
    match node.text("norm", "MAX"):
        case "MAX":
            norm = op.max(op.where(op.isnan(wide), -np.inf, wide), 1, True)
        case "L1":
            norm = op.sum(op.abs(wide), 1, True)
        case _:
            norm = op.sqrt(op.sum(op.multiply(wide, wide), 1, True))
    zero = op.equal(norm, 0.0)
    return op.where(zero, wide, op.divide(wide, op.where(zero, 1.0, norm)))


@imports("Scaler", domain=ML)
def scaler(node: OnnxNode, x: Tensor) -> Operand:
    """`(x - offset) * scale`."""
    wide = op.astype(x, f32)
    return op.multiply(op.subtract(wide, _floats(node.numbers("offset"))), _floats(node.numbers("scale")))


@imports("Binarizer", domain=ML)
def binarizer(node: OnnxNode, x: Tensor) -> Operand:
    """1 above a threshold, else 0. NaN is neither."""
    threshold = node.number("threshold")
    if node.is_float(x):
        node.expect(op.reshape(all_of(node, op.logical_not(op.isnan(x))), []), "expected numbers, found NaN")

    def above(x: Operand) -> Operand:
        return op.astype(op.greater(x, node.like(threshold, x)), node.element_type(x))

    return by_floats(node, above, x)


@imports("ArrayFeatureExtractor", domain=ML)
def features(node: OnnxNode, x: Tensor, places: Tensor) -> Operand:
    """Chosen columns."""
    columns = node.tensor(op.reshape(op.astype(places, i64), [-1]))
    expect_in_range(node, columns, node.shape(x)[-1], from_end=False)
    chosen = op.take(x, columns, node.rank(x) - 1)
    return op.expand_dims(chosen, 0) if node.rank(x) == 1 else chosen


@imports("Imputer", domain=ML)
def imputer(node: OnnxNode, x: Tensor) -> Operand:
    """Other numbers, one for all columns or for each, in place of one that stands for what is missing."""
    if node.is_float(x):
        values, missing = node.numbers("imputed_value_floats"), node.number("replaced_value_float")
    else:
        values, missing = node.integers("imputed_value_int64s"), node.integer("replaced_value_int64")
    if not values:
        refuse(f"expected numbers to impute of the type {x.element_type}, found none")
    found = op.isnan(x) if missing != missing else op.equal(x, node.like(missing, x))
    return op.where(found, node.like(values, x), x)


@imports("FeatureVectorizer", domain=ML)
def feature_vectorizer(node: OnnxNode, *columns: Tensor) -> Operand:
    """Features one after another."""
    parts = [op.astype(op.expand_dims(x, 1) if node.rank(x) == 1 else x, f32) for x in columns]
    widths = [node.shape(part)[1] for part in parts]
    if widths != node.integers("inputdimensions"):
        shown = ", ".join(map(str, widths))
        refuse(
            f"expected the widths of the inputs, [{shown}], found others; fix the sizes with `shapes=`",
            "inputdimensions",
        )
    return op.concat(*parts, axis=1)


def _hot(node: OnnxNode, x: Tensor, keys: Sequence[float]) -> Operand:
    """Return along a new last dimension which of some numbers each element is. NaN is the same as NaN from
    version 4 on."""
    wanted = node.like(keys, x)
    hot = op.equal(op.expand_dims(x, -1), wanted)
    if node.version < 4 or not np.isnan(keys).any():
        return hot
    return op.logical_or(hot, op.logical_and(op.expand_dims(op.isnan(x), -1), Known(np.isnan(keys))))


@imports("OneHotEncoder", domain=ML)
def one_hot_encoder(node: OnnxNode, x: Tensor) -> Operand:
    """1 at the place of the category of each element, else 0. An attribute lets elements have no category."""
    categories = node.integers("cats_int64s")
    if not categories:
        refuse("categories whose names are strings", "cats_strings")
    hot = node.tensor(_hot(node, x, categories))
    if not node.integer("zeros", 1):
        node.expect(op.reshape(all_of(node, any_of(node, hot, -1)), []), "expected elements of the categories")
    return op.astype(hot, f32)


@imports("LabelEncoder", domain=ML)
def label_encoder(node: OnnxNode, x: Tensor) -> Operand:
    """A number for each of the keys, and another one for everything else."""
    if node.has("keys_strings") or node.has("values_strings") or node.has("default_string"):
        refuse("labels that are strings")
    keys, values = _pairs(node, "keys"), _pairs(node, "values")
    if len(keys) != len(values):
        refuse(f"expected a value for each of {len(keys)} keys, found {len(values)}")
    default = node.array("default_tensor")
    if default is None:
        number = node.integer("default_int64", -1) if values.dtype == np.int64 else node.number("default_float", -0.0)
        default = np.array(number, values.dtype)
    hot = op.astype(_hot(node, x, keys.tolist()), i64)
    chosen = op.take(Known(values), op.argmax(hot, -1), 0)
    return op.where(op.equal(op.max(hot, -1), 1), chosen, Known(default.astype(values.dtype).reshape(())))


def _pairs(node: OnnxNode, which: str) -> Array:
    """Return the keys, or the values, of a table."""
    tensor = node.array(f"{which}_tensor")
    if tensor is not None:
        return tensor
    floats = node.numbers(f"{which}_floats")
    return (
        np.array(node.integers(f"{which}_int64s") or [], np.int64) if floats is None else np.array(floats, np.float32)
    )
