"""Fold batch normalization, and factors and addends of channels, into what computes the channels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects import relex
from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import is_emulated, mapped_dense, numpy_dtype
from relex.dialects.relex.convolution import TransposedConvolution
from relex.dialects.relex.properties import as_integer
from relex.dialects.relex.tensor_ops import array_of
from relex.dialects.relex.types import rank_of, shape_of, tensor_type
from relex.dialects.table import Table
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import walk
from relex.passes.driver.base import RelexPass
from relex.passes.rewriting.constants import erase_unused_constants
from relex.passes.rewriting.numerics import reassociates


@dataclass(frozen=True)
class Channels:
    """The channels of an operator that is linear in its second operand, the weight."""

    axis: int
    """The dimension of the result along which they run."""
    factors: Callable[[Operation, Array, Array], Array]
    """Maps the operator, the elements of its weight and a factor for each channel to what the weight is multiplied by,
    such that its channels become multiples."""


def _along_first(op: Operation, weight: Array, factors: Array) -> Array:
    return factors.reshape([-1, *[1] * (weight.ndim - 1)])


def _along_last(op: Operation, weight: Array, factors: Array) -> Array:
    return factors


def _of_groups(op: Operation, weight: Array, factors: Array) -> Array:
    """Of a transposed convolution, the weight has input channels, then the output channels of their group."""
    assert isinstance(op, TransposedConvolution)
    groups = as_integer(op.groups)
    of_inputs = factors.reshape(groups, -1).repeat(weight.shape[0] // groups, axis=0)
    return of_inputs.reshape([*of_inputs.shape, *[1] * (weight.ndim - 2)])


CHANNELS = Table[type[Operation], Channels]("layers with channels")
"""The channels of each operator that has any. Other packages add theirs."""

CHANNELS.add(Channels(1, _along_first), relex.Conv1dOp, relex.Conv2dOp, relex.Conv3dOp)
CHANNELS.add(Channels(1, _of_groups), relex.Conv1dTransposeOp, relex.Conv2dTransposeOp, relex.Conv3dTransposeOp)
CHANNELS.add(Channels(-1, _along_first), relex.DenseOp)
CHANNELS.add(Channels(-1, _along_last), relex.MatmulOp)


class FoldBatchNormPass(RelexPass):
    """
    Folds each `relex.batch_norm` with constant parameters into the convolution, dense layer or matrix product before
    it, whose weight is constant, too: the weight is scaled, and what remains is one addition. Constants that each
    channel is multiplied with, divided by, or that are added to it or subtracted, become part of the two, with a
    normalization or without one. Without a layer, they become part of `gamma` and `beta` of the normalization before
    them.

    Results between the two must have no other users, and all new numbers must be finite. Results change by rounding, as
    a sum in another order does; so `strict` compilation leaves out this pass.

    ```mlir
    func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
      %w = relex.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
      %gamma = relex.constant dense<[2.0, 0.5]> : tensor<2xf32>
      %beta = relex.constant dense<[0.0, 1.0]> : tensor<2xf32>
      %mean = relex.constant dense<[3.0, 2.0]> : tensor<2xf32>
      %variance = relex.constant dense<[4.0, 0.25]> : tensor<2xf32>
      %0 = relex.dense %x, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
      %1 = relex.batch_norm %0, %gamma, %beta, %mean, %variance epsilon = 0.0
          : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
      func.return %1 : tensor<1x2xf32>
    }
    // fold-batch-norm
    func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
      %w = relex.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
      %0 = relex.dense %x, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
      %beta = relex.constant dense<[-3.0, -1.0]> : tensor<2xf32>
      %1 = relex.add %0, %beta : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
      func.return %1 : tensor<1x2xf32>
    }
    ```
    """

    name = "fold-batch-norm"
    numerics = reassociates

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for first in list(walk(op)):
            channels = CHANNELS.find(first)
            # A normalization that has been folded into the layer before it is gone.
            if first.parent is None or (channels is None and not isinstance(first, relex.BatchNormOp)):
                continue
            with np.errstate(all="ignore"):
                if channels is not None:
                    _fold_into_layer(first, channels)
                elif isinstance(first, relex.BatchNormOp):
                    _fold_into_normalization(first)


@dataclass(frozen=True)
class _Affine:
    """A function of each channel: a factor, and then, perhaps, an addend."""

    factor: Array | float
    addend: Array | float | None = None

    def then(self, other: _Affine) -> _Affine:
        """Return this function followed by another one."""
        addend = other.addend
        if self.addend is not None:
            addend = self.addend * other.factor + (0.0 if addend is None else addend)
        return _Affine(self.factor * other.factor, addend)


Steps = Sequence[tuple[Operation, _Affine]]
"""Operators, each on the result of the one before, and what they compute of each channel."""


def _fold_into_layer(layer: Operation, channels: Channels) -> None:
    # A vector as the right operand of a matrix product has no channels.
    if not isinstance(layer.operands[1].owner, relex.ConstantOp) or rank_of(layer.operands[1]) < 2:
        return
    steps = list(_steps_after(layer.results[0], channels.axis % rank_of(layer.results[0])))
    # A bias alone stays as it is.
    if all(isinstance(op, relex.AddOp | relex.SubtractOp) for op, _ in steps):
        return
    if _is_float(layer.operands[1]) and (new := _new_layer(layer, channels, _total(steps))) is not None:
        _replace(layer, steps, new)


def _fold_into_normalization(norm: relex.BatchNormOp) -> None:
    steps = list(_steps_after(norm.results[0], norm.normal_axis))
    if steps and (new := _new_normalization(norm, _total(steps))) is not None:
        _replace(norm, steps, new)


def _total(steps: Steps) -> _Affine:
    total = _Affine(1.0)
    for _, step in steps:
        total = total.then(step)
    return total


def _steps_after(value: SSAValue, axis: int) -> Iterator[tuple[Operation, _Affine]]:
    """Yield the operators after a value, each with no other operand than the one before and constants, that compute a
    function of each channel."""
    while (use := value.get_unique_use()) is not None:
        op = use.operation
        step = _normalized(op, axis) if isinstance(op, relex.BatchNormOp) else _arithmetic(op, use.index, axis)
        if step is None or op.results[0].type != value.type:
            return
        yield op, step
        value = op.results[0]


def _normalized(op: relex.BatchNormOp, axis: int) -> _Affine | None:
    gamma, beta, mean, variance = (_constant(value) for value in op.operands[1:])
    if gamma is None or beta is None or mean is None or variance is None or op.normal_axis != axis:
        return None
    factor = gamma / np.sqrt(variance + op.epsilon.value.data)
    return _Affine(factor, beta - mean * factor)


def _arithmetic(op: Operation, index: int, axis: int) -> _Affine | None:
    """Return the function of an operator on a value, which is its operand `index`, and a constant."""
    if not isinstance(op, relex.AddOp | relex.SubtractOp | relex.MultiplyOp | relex.DivideOp):
        return None
    if (constant := _by_channel(op.operands[1 - index], rank_of(op.operands[index]), axis)) is None:
        return None
    match op:
        case relex.AddOp():
            return _Affine(1.0, constant)
        case relex.SubtractOp():
            return _Affine(-1.0, constant) if index else _Affine(1.0, -constant)
        case relex.MultiplyOp():
            return _Affine(constant)
        case relex.DivideOp():
            return None if index else _Affine(1.0 / constant)


def _constant(value: SSAValue) -> Array | None:
    """Return the elements of a constant, as f64; None for other values, and for types without arithmetic of floats."""
    array = array_of(value)
    return array.astype("float64") if array is not None and _is_float(value) else None


def _is_float(value: SSAValue) -> bool:
    """Return whether there is arithmetic for the elements of a value, which are floats."""
    element_type = tensor_type(value.type).element_type
    return isa(element_type, AnyFloat) and not is_emulated(element_type)


def _by_channel(value: SSAValue, rank: int, axis: int) -> Array | None:
    """Return a constant as one number for each channel, or one for all; None if it differs between elements of one."""
    sizes = shape_of(value)
    shape = (*[1] * (rank - len(sizes)), *sizes)
    if len(sizes) > rank or any(size != 1 for d, size in enumerate(shape) if d != axis):
        return None
    array = _constant(value)
    return None if array is None else array.reshape(-1)


def _new_layer(layer: Operation, channels: Channels, function: _Affine) -> list[Operation] | None:
    """Return the ops that compute a layer followed by a function of its channels."""
    old = layer.operands[1]
    result = layer.results[0]
    count = shape_of(result)[channels.axis]
    scaled = _scaled(layer, channels, np.broadcast_to(np.asarray(function.factor, "float64"), count))
    if scaled is None:
        return None
    new = layer.clone()
    new.operands[1] = scaled.result
    scaled.result.name_hint, new.results[0].name_hint = old.name_hint, result.name_hint
    if function.addend is None:
        return [scaled, new]
    shape = [count, *[1] * (-channels.axis % rank_of(result) - 1)]
    addend = _rounded(np.broadcast_to(function.addend, count).reshape(shape), result)
    return None if addend is None else [scaled, new, addend, relex.AddOp(new.results[0], addend)]


def _scaled(layer: Operation, channels: Channels, factors: Array) -> relex.ConstantOp | None:
    """Return the weight of a layer with its channels multiplied; None if an element is not finite then. Weights are
    large: each is rounded as soon as it is multiplied."""
    weight = array_of(layer.operands[1])
    assert weight is not None
    by = channels.factors(layer, weight, factors)
    element_type = tensor_type(layer.results[0].type).element_type

    def fill(elements: Array) -> None:
        np.multiply(weight, by, out=elements, dtype="float64", casting="same_kind")

    scaled = relex.ConstantOp(mapped_dense(element_type, weight.shape, fill))
    array = array_of(scaled.result)
    return scaled if array is not None and np.isfinite(array).all() else None


def _new_normalization(norm: relex.BatchNormOp, function: _Affine) -> list[Operation] | None:
    """Return the ops that compute a normalization followed by a function of its channels."""
    gamma, beta = _constant(norm.gamma), _constant(norm.beta)
    if gamma is None or beta is None:
        return None
    addend = 0.0 if function.addend is None else function.addend
    new_gamma, new_beta = (_rounded(a, norm.data) for a in (gamma * function.factor, beta * function.factor + addend))
    if new_gamma is None or new_beta is None:
        return None
    new_gamma.result.name_hint, new_beta.result.name_hint = norm.gamma.name_hint, norm.beta.name_hint
    new = norm.clone()
    new.operands[1], new.operands[2] = new_gamma.result, new_beta.result
    new.result.name_hint = norm.result.name_hint
    return [new_gamma, new_beta, new]


def _rounded(array: Array, like: SSAValue) -> relex.ConstantOp | None:
    """Return a constant with elements of the type of a value; None if one is not finite."""
    rounded = array.astype(numpy_dtype(tensor_type(like.type).element_type))
    return relex.ConstantOp(rounded) if np.isfinite(rounded).all() else None


def _replace(first: Operation, steps: Steps, new: Sequence[Operation]) -> None:
    """Replace a layer or a normalization, and the steps after it."""
    replaced = [first, *(op for op, _ in steps)]
    for op in new:
        op.location = replaced[-1].location if isinstance(op, relex.AddOp) else first.location
    operands = {value.owner for op in replaced for value in op.operands}
    Rewriter.insert_op(new, InsertPoint.before(first))
    replaced[-1].results[0].replace_all_uses_with(new[-1].results[0])
    for op in reversed(replaced):
        Rewriter.erase_op(op)
    erase_unused_constants(operands)
