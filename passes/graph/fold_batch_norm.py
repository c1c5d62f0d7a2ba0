"""Fold batch normalization into the convolution or dense layer before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.dtypes import array_from_dense, is_emulated, numpy_dtype
from relex.dialects.relex import AddOp, BatchNormOp, ConstantOp, Conv2dOp, DenseOp
from relex.dialects.relex.operator import tensor_type
from relex.dialects.relex.types import rank_of
from relex.dialects.table import Table
from relex.dialects.walks import walk
from relex.passes.base import RelexPass

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array

CHANNELS = Table[type[Operation], int]("layers with channels")
"""Operators that are linear in their operand `weight`, and the dimension of their result along which the weight's first
dimension runs. Other packages add theirs."""

CHANNELS.add(1, Conv2dOp)
CHANNELS.add(-1, DenseOp)


@dataclass(frozen=True)
class FoldBatchNormPass(RelexPass):
    """
    Folds each `relex.batch_norm` with constant parameters into the convolution or dense layer before it, whose weight
    is constant, too: the weight is scaled, and what remains is one addition, which takes in a constant bias between the
    two. The layer must have no other users, and all new numbers must be finite. Results change by rounding, as those of
    a sum in another order do; so `strict` compilation leaves out this pass.

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

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for norm in [o for o in walk(op) if isinstance(o, BatchNormOp)]:
            if (layer := _Layer.before(norm)) is not None and (folded := _folded(norm, layer)) is not None:
                _replace(norm, layer, *folded)


@dataclass(frozen=True)
class _Layer:
    """A layer with a constant weight, and the constant bias of each channel that is added to its result, or 0."""

    op: Operation
    weight: Array
    bias: Array | float = 0.0

    @classmethod
    def before(cls, norm: BatchNormOp) -> _Layer | None:
        """Return the layer whose channels are normalized and that has no other users, if there is one."""
        value, bias = norm.data, 0.0
        if isinstance(add := value.owner, AddOp) and value.has_one_use():
            places = [i for i, operand in enumerate(add.operands) if _constant(operand) is not None]
            if len(places) != 1 or (bias := _by_channel(add.operands[places[0]], norm)) is None:
                return None
            value = add.operands[1 - places[0]]
        op = value.owner
        if not isinstance(op, Operation) or (axis := CHANNELS.find(op)) is None or value.type != norm.data.type:
            return None
        weight = _constant(op.operands[1])
        if weight is None or not value.has_one_use() or axis % rank_of(value) != norm.normal_axis:
            return None
        return cls(op, weight, bias)


def _constant(value: SSAValue) -> Array | None:
    """Return the elements of a constant, as f64; None for other values, and for types without arithmetic."""
    if not isinstance(value.owner, ConstantOp) or is_emulated(tensor_type(value.type).element_type):
        return None
    return array_from_dense(value.owner.value).astype("float64")


def _by_channel(bias: SSAValue, norm: BatchNormOp) -> Array | None:
    """Return a bias as one number for each channel; None if it differs between elements of one."""
    array = _constant(bias)
    rank, axis = rank_of(norm.data), norm.normal_axis
    if array is None or array.ndim > rank:
        return None
    shape = (1,) * (rank - array.ndim) + array.shape
    return array.reshape(-1) if all(size == 1 for d, size in enumerate(shape) if d != axis) else None


def _folded(norm: BatchNormOp, layer: _Layer) -> tuple[Array, Array] | None:
    """Return the scaled weight, and what to add to each channel, of the element type; None if one is not finite."""
    import numpy as np

    parameters = [array for value in norm.operands[1:] if (array := _constant(value)) is not None]
    if len(parameters) != len(norm.operands) - 1:
        return None
    gamma, beta, mean, variance = parameters
    with np.errstate(all="ignore"):
        scale = gamma / np.sqrt(variance + norm.epsilon.value.data)
        weight = layer.weight * scale.reshape([-1, *[1] * (layer.weight.ndim - 1)])
        shift = beta + (layer.bias - mean) * scale
        dtype = numpy_dtype(tensor_type(norm.data.type).element_type)
        weight, shift = weight.astype(dtype), shift.astype(dtype)
    if not np.isfinite(weight).all() or not np.isfinite(shift).all():
        return None
    return weight, shift.reshape([-1, *[1] * (rank_of(norm.data) - norm.normal_axis - 1)])


def _replace(norm: BatchNormOp, layer: _Layer, weight: Array, shift: Array) -> None:
    old = layer.op.operands[1]
    scaled, added = ConstantOp(weight), ConstantOp(shift)
    new = layer.op.clone({old: scaled.result})
    total = AddOp(new.results[0], added)
    names = (old.name_hint, norm.beta.name_hint, layer.op.results[0].name_hint)
    for op, name, place in zip((scaled, added, new), names, (layer.op, norm, layer.op), strict=True):
        op.results[0].name_hint, op.location = name, place.location
    total.location = norm.location
    between = norm.data.owner.operands if isinstance(norm.data.owner, AddOp) else ()
    unused = [norm.data, layer.op.results[0], old, *between, *norm.operands[1:]]
    Rewriter.insert_op([scaled, new], InsertPoint.before(layer.op))
    Rewriter.replace_op(norm, [added, total], [total.result])
    for value in unused:
        op = value.owner
        if isinstance(op, Operation) and op.parent is not None and not any(result.uses for result in op.results):
            Rewriter.erase_op(op)
