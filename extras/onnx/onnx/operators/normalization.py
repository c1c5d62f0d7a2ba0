"""Normalization, and softmax and its relatives."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import f32, f64

from relex.dialects.sizes import IndexExpr, count
from relex.frontend import op
from relex.frontend.compositions.indexing import numbers_below
from relex.frontend.compositions.softmax import per_channel, standardized
from relex.frontend.onnx import OnnxNode, Operand, Tensor, imports, refuse
from relex.frontend.onnx.import_table import row


@imports("BatchNormalization")
def batch_norm(node: OnnxNode, x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor) -> list[Operand]:
    """Normalization by given means and variances; in training, by the means and variances of the batch."""
    if node.version < 9 and not node.integer("spatial", 1):
        refuse("parameters for each pixel", "spatial")
    dtype = x.element_type
    epsilon = node.number("epsilon")
    parameters = [op.astype(p, dtype) if p.element_type != dtype else p for p in (scale, bias, mean, variance)]
    if not node.integer("training_mode"):
        if node.version < 14 and node.output_count > 1:
            refuse("the results of training")
        gamma, beta, old_mean, old_variance = parameters
        return [op.batch_norm(x, gamma, beta, old_mean, old_variance, axis=1, epsilon=epsilon)]
    axes = [axis for axis in range(node.rank(x)) if axis != 1]
    new_mean = op.mean(x, axes)
    centred = op.subtract(x, per_channel(new_mean, node.rank(x)))
    new_variance = op.mean(op.multiply(centred, centred), axes)
    y = op.batch_norm(x, parameters[0], parameters[1], new_mean, new_variance, axis=1, epsilon=epsilon)
    momentum = node.number("momentum")

    def running(old: Tensor, new: Operand) -> Operand:
        if old.element_type != dtype:
            new = op.astype(new, old.element_type)
        return op.add(op.multiply(old, momentum), op.multiply(new, 1 - momentum))

    return [y, running(mean, new_mean), running(variance, new_variance)]


@imports("InstanceNormalization")
def instance_norm(node: OnnxNode, x: Tensor, scale: Tensor, bias: Tensor) -> Operand:
    """Normalization of each channel of each element of the batch."""
    rank = node.rank(x)
    normal, _, _ = standardized(x, list(range(2, rank)), node.number("epsilon"))
    return op.add(op.multiply(normal, per_channel(scale, rank)), per_channel(bias, rank))


@imports("LayerNormalization")
def layer_norm(node: OnnxNode, x: Tensor, scale: Tensor, bias: Tensor | None = None) -> list[Operand]:
    """Normalization along the last dimensions."""
    axes = list(range(node.axis(x, default=-1), node.rank(x)))
    epsilon = node.number("epsilon")
    wide = x.element_type not in (f32,) and node.integer("stash_type", 1) == 1
    sizes = [node.shape(x)[axis] for axis in axes]
    if not wide and node.output_count == 1 and list(node.shape(scale)) == sizes:
        beta: Operand = op.subtract(scale, scale) if bias is None else bias
        if bias is None and not any(isinstance(size, IndexExpr) for size in sizes):
            beta = node.full(sizes, 0.0, x.element_type)
        if bias is None or list(node.shape(bias)) == sizes:
            return [op.layer_norm(x, scale, beta, axes, epsilon)]
    data: Operand = op.astype(x, f32) if wide else x
    normal, mean, inverse = standardized(data, axes, epsilon)
    if wide:
        normal = op.astype(normal, x.element_type)
    y = op.multiply(normal, scale)
    return [y if bias is None else op.add(y, bias), mean, inverse]


@imports("LRN")
def local_response_norm(node: OnnxNode, x: Tensor) -> Operand:
    """Division by the squares of neighbours along the channels."""
    n, c, *pixels = node.shape(x)
    size = node.integer("size")
    squares = node.reshape(op.multiply(x, x), [n, 1, c, count(pixels)])
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    means = op.avg_pool2d(squares, [size, 1], padding=[before, 0, after, 0], count_include_pad=True)
    scaled = op.multiply(node.reshape(means, [n, c, *pixels]), node.number("alpha"))
    base = op.add(scaled, node.number("bias"))
    return op.divide(x, _norm(node, x, base))


def _norm(node: OnnxNode, x: Tensor, base: Operand) -> Operand:
    """Return the norm that `LRN` divides by. Square roots take a fraction of the time of a power; they differ from it
    for negative infinity only, which a sum of squares and a bias is not."""
    beta = node.number("beta")
    is_positive = node.number("alpha") >= 0 and node.number("bias") >= 0
    if beta == 0.75 and is_positive and x.element_type in (f32, f64):
        root = op.sqrt(base)
        return op.multiply(root, op.sqrt(root))
    return op.power(base, node.like(beta, x))


@imports("LpNormalization")
def lp_norm(node: OnnxNode, x: Tensor) -> Operand:
    """Division by the norm along a dimension; zero where that is zero."""
    axis = node.axis(x, default=-1)
    absolute = op.abs(x)
    norm = op.sum(absolute, axis, True) if node.integer("p") == 1 else op.sqrt(op.sum(op.multiply(x, x), axis, True))
    zero = op.equal(norm, 0.0)
    return op.where(zero, 0.0, op.divide(x, op.where(zero, 1.0, norm)))


@imports("MeanVarianceNormalization")
def mean_variance(node: OnnxNode, x: Tensor) -> Operand:
    """Mean 0 and variance 1 along dimensions."""
    axes = node.integers("axes") or [0, 2, 3]
    mean = op.mean(x, axes, True)
    variance = op.subtract(op.mean(op.multiply(x, x), axes, True), op.multiply(mean, mean))
    return op.divide(op.subtract(x, mean), op.sqrt(variance) + 1e-9)


def _along(node: OnnxNode, function: Callable[[Operand, int], Operand], x: Tensor) -> Operand:
    """Apply softmax or its logarithm along a dimension; in older versions, along all dimensions from one on."""
    axis, rank = node.axis(x), node.rank(x)
    if node.version >= 13 or axis == rank - 1:
        return function(x, axis)
    axes = list(range(axis, rank))
    shifted = op.subtract(x, op.max(x, axes, True))
    exponentials = op.exp(shifted)
    total = op.sum(exponentials, axes, True)
    if node.proto.op_type == "LogSoftmax":
        return op.subtract(shifted, op.log(total))
    return op.divide(exponentials, total)


row("LogSoftmax", op.log_softmax, _along)
row("Softmax", op.softmax, _along)


@imports("Hardmax")
def hardmax(node: OnnxNode, x: Tensor) -> Operand:
    """1 at the first maximum along a dimension, else 0; in older versions, along all dimensions from one on."""
    sizes, axis = node.shape(x), node.axis(x)
    if node.version >= 13:
        return _hardmax(node, x, axis)
    flat = node.tensor(node.reshape(x, [count(sizes[:axis]), count(sizes[axis:])]))
    return node.reshape(_hardmax(node, flat, 1), sizes)


def _hardmax(node: OnnxNode, x: Tensor, axis: int) -> Operand:
    others = [d for d in range(node.rank(x)) if d != axis]
    places = numbers_below(node.shape(x)[axis])
    places = op.expand_dims(places, others) if others else places
    return op.astype(op.equal(places, op.argmax(x, axis, True)), x.element_type)
