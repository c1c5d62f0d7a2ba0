"""Normalization operators."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import FloatAttr, f64
from xdsl.ir import Attribute
from xdsl.irdl import opt_prop_def, prop_def

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import FLOATS, tensor_operand_def
from relex.dialects.errors import InferenceError
from relex.dialects.relex import types
from relex.dialects.relex.declared import declared
from relex.dialects.relex.operator import AlongAxis, Operand, Operator, axis_of
from relex.dialects.relex.properties import (
    FlagConstr,
    Float64Constr,
    IntegerConstr,
    IntegersConstr,
    as_integers,
    integer,
    integers,
)
from relex.dialects.sizes import Size
from relex.dialects.tir.op_pattern import OpPattern

_EPSILON = FloatAttr(1e-5, f64)


class _Softmax(AlongAxis, ABC, script_namespace="nn", pattern=OpPattern.OUT_ELEMENTWISE_FUSABLE):
    """An operator that normalizes along one dimension, by default the last."""

    data = tensor_operand_def()
    axis = prop_def(IntegerConstr, default_value=integer(-1))

    @classmethod
    def infer(cls, operands: Sequence[types.SizedType], properties: Mapping[str, Attribute]) -> types.SizedType:
        (data,) = operands
        types.expect_element_type(data, FLOATS, "operands")
        axis_of(properties, data.get_shape())
        return data


@declared
class SoftmaxOp(_Softmax):
    """
    `exp(x) / sum(exp(x))` along one dimension, computed on `x - max(x)` to avoid overflow. All NaN if an element is NaN
    or plus infinity. Where all elements are minus infinity, as in a row that a mask hides, all NaN, or 0 if `safe`.

    ```mlir
    %y = relex.softmax %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %z = relex.softmax %x axis = 0 safe : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    safe = opt_prop_def(FlagConstr)

    def __init__(self, data: Operand, axis: int = -1, safe: bool = False):
        super().__init__(data, properties={"axis": axis, "safe": safe})

    def evaluate(self, x: Array) -> Array:
        axis = self.normal_axis
        largest: Array = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
        if self.safe:
            largest[largest == -np.inf] = 0
        powers = np.exp(x - largest)
        total: Array = np.sum(powers, axis=axis, keepdims=True)
        if self.safe:
            total[total == 0] = 1
        return powers / total


@declared
class LogSoftmaxOp(_Softmax):
    """
    The logarithm of the softmax, computed as `x - max(x) - log(sum(exp(x - max(x))))`.

    ```mlir
    %y = relex.log_softmax %x axis = 1 : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    def __init__(self, data: Operand, axis: int = -1):
        super().__init__(data, properties={"axis": axis})

    def evaluate(self, x: Array) -> Array:
        axis = self.normal_axis
        shifted = x - np.max(x, axis=axis, keepdims=True, initial=-np.inf)
        return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


@declared
class LayerNormOp(Operator, script_namespace="nn"):
    """
    `(x - mean) / sqrt(variance + epsilon) * gamma + beta`, with mean and variance over `axes`, by default the last
    dimension. `gamma` and `beta` have the sizes of those dimensions.

    ```mlir
    %y = relex.layer_norm %x, %gamma, %beta axes = [1, 2] epsilon = 0.001
        : (tensor<2x3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x4xf32>
    ```
    """

    data = tensor_operand_def()
    gamma = tensor_operand_def()
    beta = tensor_operand_def()
    axes = prop_def(IntegersConstr, default_value=integers([-1]))
    epsilon = prop_def(Float64Constr, default_value=_EPSILON)

    def __init__(
        self, data: Operand, gamma: Operand, beta: Operand, axes: Sequence[int] = (-1,), epsilon: float = 1e-5
    ):
        super().__init__(data, gamma, beta, properties={"axes": axes, "epsilon": epsilon})

    @classmethod
    def infer(cls, operands: Sequence[types.SizedType], properties: Mapping[str, Attribute]) -> types.SizedType:
        data, gamma, beta = operands
        types.same_element_type(*operands)
        types.expect_element_type(data, FLOATS, "operands")
        shape = data.get_shape()
        axes = types.normalize_axes(as_integers(properties["axes"]), len(shape))
        if list(axes) != sorted(axes):
            raise InferenceError(f"expected axes in ascending order, found {', '.join(map(str, axes))}")
        sizes = [shape[axis] for axis in axes]
        _expect_shape(gamma, sizes, "gamma")
        _expect_shape(beta, sizes, "beta")
        return data

    @property
    def normal_axes(self) -> types.Shape:
        """The normalized dimensions, counted from the front."""
        return types.normalize_axes(as_integers(self.axes), types.rank_of(self.data))

    @property
    def pattern(self) -> OpPattern:
        return OpPattern.OUT_ELEMENTWISE_FUSABLE if self.normal_axes else OpPattern.ELEMENTWISE

    def evaluate(self, x: Array, gamma: Array, beta: Array) -> Array:
        axes = self.normal_axes
        epsilon = x.dtype.type(self.epsilon.value.data)
        parameters = [size if axis in axes else 1 for axis, size in enumerate(x.shape)]
        count = prod(x.shape[axis] for axis in axes)
        centred = x - np.sum(x, axis=axes, keepdims=True) / count
        variance = np.sum(centred * centred, axis=axes, keepdims=True) / count
        scale = gamma.reshape(parameters) / np.sqrt(variance + epsilon)
        return centred * scale + beta.reshape(parameters)


@declared
class BatchNormOp(AlongAxis, script_namespace="nn", pattern=OpPattern.ELEMENTWISE):
    """
    `(x - mean) / sqrt(variance + epsilon) * gamma + beta` with the mean and variance from training; all four parameters
    have one element for each position along `axis`.

    ```mlir
    %y = relex.batch_norm %x, %gamma, %beta, %mean, %variance
        : (tensor<1x3x8x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x8x8xf32>
    ```
    """

    data = tensor_operand_def()
    gamma = tensor_operand_def()
    beta = tensor_operand_def()
    moving_mean = tensor_operand_def()
    moving_var = tensor_operand_def()
    axis = prop_def(IntegerConstr, default_value=integer(1))
    epsilon = prop_def(Float64Constr, default_value=_EPSILON)

    def __init__(
        self,
        data: Operand,
        gamma: Operand,
        beta: Operand,
        moving_mean: Operand,
        moving_var: Operand,
        axis: int = 1,
        epsilon: float = 1e-5,
    ):
        super().__init__(data, gamma, beta, moving_mean, moving_var, properties={"axis": axis, "epsilon": epsilon})

    @classmethod
    def infer(cls, operands: Sequence[types.SizedType], properties: Mapping[str, Attribute]) -> types.SizedType:
        data, *parameters = operands
        types.same_element_type(*operands)
        types.expect_element_type(data, FLOATS, "operands")
        shape = data.get_shape()
        axis = axis_of(properties, shape)
        for name, parameter in zip(("gamma", "beta", "moving_mean", "moving_var"), parameters, strict=True):
            _expect_shape(parameter, [shape[axis]], name)
        return data

    def evaluate(self, x: Array, *parameters: Array) -> Array:
        epsilon = x.dtype.type(self.epsilon.value.data)
        shape = [size if axis == self.normal_axis else 1 for axis, size in enumerate(x.shape)]
        gamma, beta, mean, variance = (parameter.reshape(shape) for parameter in parameters)
        return (x - mean) * (gamma / np.sqrt(variance + epsilon)) + beta


def _expect_shape(t: types.SizedType, sizes: Sequence[Size], name: str) -> None:
    shape = t.get_shape()
    if len(shape) != len(sizes):
        raise InferenceError(f"expected {name} of shape {types.shape_str(sizes)}, found {types.shape_str(shape)}")
    for found, size in zip(shape, sizes, strict=True):
        types.expect_equal(found, size, f"sizes of {name} and data")
