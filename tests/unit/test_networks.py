"""Networks of equal layers with constant weights, compiled, against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Array
from xdsl.builder import Builder
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from relex.dialects.relex import (
    AddOp,
    ConstantOp,
    Conv2dOp,
    DenseOp,
    MaxPool2dOp,
    MeanOp,
    Operator,
    ReluOp,
    ReshapeOp,
    SoftmaxOp,
)
from relex.dialects.relex.operator import tensor_type
from relex.reference import interpret
from relex.runtime import build


@dataclass(frozen=True)
class Layer:
    """`relu(x * w + b) + x`, or part of it, with the weight of this number."""

    weight: int
    bias: bool = False
    relu: bool = False
    residual: bool = False


class Network:
    """A function @main that grows layer by layer. `values` draws its parameters, by shape."""

    def __init__(self, shape: Sequence[int], *, dynamic: bool = False, seed: int = 0):
        self.rng = np.random.default_rng(seed)
        batch = DYNAMIC_INDEX if dynamic else shape[0]
        self.input = TensorType(f32, [batch, *shape[1:]])
        self.function = FuncOp("main", ([self.input], []))
        self.output: SSAValue = self.function.args[0]
        self._builder = Builder(InsertPoint.at_end(self.function.body.block))
        self._constants: dict[tuple[int, tuple[int, ...]], SSAValue] = {}

    def add(self, operator: Operator) -> None:
        self.output = self._builder.insert(operator).results[0]

    def constant(self, array: Array) -> SSAValue:
        return self._builder.insert(ConstantOp(array)).result

    def normal(self, *shape: int) -> SSAValue:
        """Numbers that keep the values of a network as large as they are."""
        return self.constant((self.rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32))

    def whole(self, *shape: int) -> SSAValue:
        """A weight of at most two numbers a row, 1 and -1: then sums of whole numbers are exact in any order."""
        rows = np.zeros((shape[0], int(np.prod(shape[1:]))), np.float32)
        for sign in (1, -1):
            rows[range(shape[0]), self.rng.integers(rows.shape[1], size=shape[0])] = sign
        return self.constant(rows.reshape(shape))

    def add_layers(self, layers: Sequence[Layer], window: int | None) -> None:
        """Dense layers, or convolutions with a square window, that all keep the shape."""
        size = tensor_type(self.output.type).get_shape()[1]
        shape = (size, size) if window is None else (size, size, window, window)
        weights = {layer.weight: self.whole(*shape) for layer in layers}
        for layer in layers:
            x, w = self.output, weights[layer.weight]
            self.add(DenseOp(x, w) if window is None else Conv2dOp(x, w, padding=[window // 2] * 2))
            if layer.bias:
                bias = self.rng.integers(-3, 4, (size, *(1 for _ in shape[2:]))).astype(np.float32)
                self.add(AddOp(self.output, self.constant(bias)))
            if layer.relu:
                self.add(ReluOp(self.output))
            if layer.residual:
                self.add(AddOp(self.output, x))

    def module(self) -> ModuleOp:
        self._builder.insert(ReturnOp(self.output))
        self.function.update_function_type()
        return ModuleOp([self.function])


def whole_numbers(shape: Sequence[int]) -> Array:
    return np.random.default_rng(1).integers(-8, 9, shape).astype(np.float32)


def check_exact(
    layers: Sequence[Layer], shape: Sequence[int], *, dynamic: bool, strict: bool, window: int | None
) -> None:
    network = Network(shape, dynamic=dynamic)
    network.add_layers(layers, window)
    module = network.module()
    compiled, expected = build(module, strict=strict)["main"], interpret(module)["main"]
    for batch in {shape[0], 1, 5} if dynamic else {shape[0]}:
        x = whole_numbers([batch, *shape[1:]])
        np.testing.assert_array_equal(compiled(x), expected(x))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("weights", [(0, 0, 0), (0, 1, 2), (0, 1, 0)])
def test_equal_dense_layers(weights: Sequence[int], strict: bool) -> None:
    check_exact([Layer(weight) for weight in weights], (1, 64), dynamic=False, strict=strict, window=None)


def test_equal_layers_with_bias_relu_and_residual() -> None:
    layers = [Layer(weight, bias=True, relu=True, residual=True) for weight in range(3)]
    check_exact(layers, (17, 256), dynamic=True, strict=False, window=None)


@pytest.mark.parametrize("window", [1, 3])
def test_equal_convolutions(window: int) -> None:
    check_exact([Layer(0), Layer(1)], (1, 32, 8, 8), dynamic=False, strict=False, window=window)


LAYERS = st.lists(
    st.builds(Layer, st.integers(0, 2), bias=st.booleans(), relu=st.booleans(), residual=st.booleans()),
    min_size=1,
    max_size=3,
)


@settings(max_examples=4)
@given(LAYERS, st.integers(1, 17), st.integers(4, 256), st.booleans(), st.booleans())
def test_random_dense_networks(layers: Sequence[Layer], batch: int, size: int, dynamic: bool, strict: bool) -> None:
    check_exact(layers, (batch, size), dynamic=dynamic, strict=strict, window=None)


@settings(max_examples=4)
@given(LAYERS, st.integers(1, 17), st.integers(4, 48), st.sampled_from([1, 3]), st.booleans(), st.booleans())
def test_random_convolutional_networks(
    layers: Sequence[Layer], batch: int, size: int, window: int, dynamic: bool, strict: bool
) -> None:
    check_exact(layers, (batch, size, 4, 5), dynamic=dynamic, strict=strict, window=window)


def add_convolution(network: Network, channels: int, window: int, *, stride: int = 1) -> None:
    """A convolution with a bias."""
    inputs = tensor_type(network.output.type).get_shape()[1]
    weight = network.normal(channels, inputs, window, window)
    network.add(Conv2dOp(network.output, weight, strides=[stride] * 2, padding=[window // 2] * 2))
    network.add(AddOp(network.output, network.normal(channels, 1, 1)))


def add_dense(network: Network, size: int) -> None:
    """A dense layer with a bias."""
    inputs = tensor_type(network.output.type).get_shape()[1]
    network.add(DenseOp(network.output, network.normal(size, inputs)))
    network.add(AddOp(network.output, network.normal(size)))


def resnet() -> Network:
    """Stages of equal bottlenecks: narrow, convolve, widen, add what came in."""
    network = Network((2, 3, 32, 32))
    add_convolution(network, 16, 7, stride=2)
    network.add(ReluOp(network.output))
    network.add(MaxPool2dOp(network.output, [3, 3], strides=[2, 2], padding=[1, 1]))
    for stage, width in enumerate((16, 32)):
        for block in range(3):
            stride, x = (2 if stage and not block else 1), network.output
            add_convolution(network, width, 1)
            network.add(ReluOp(network.output))
            add_convolution(network, width, 3, stride=stride)
            network.add(ReluOp(network.output))
            add_convolution(network, 4 * width, 1)
            y = network.output
            if not block:
                network.output = x
                add_convolution(network, 4 * width, 1, stride=stride)
                x = network.output
            network.add(AddOp(y, x))
            network.add(ReluOp(network.output))
    network.add(MeanOp(network.output, axis=[2, 3]))
    add_dense(network, 10)
    network.add(SoftmaxOp(network.output))
    return network


def vgg() -> Network:
    """Pairs of convolutions, each half as high and wide as the pair before, and three dense layers."""
    network = Network((1, 3, 32, 32))
    for channels in (8, 16, 32, 32):
        for _ in range(2):
            add_convolution(network, channels, 3)
            network.add(ReluOp(network.output))
        network.add(MaxPool2dOp(network.output, [2, 2], strides=[2, 2]))
    network.add(ReshapeOp(network.output, [1, 32 * 2 * 2]))
    for size in (128, 128, 10):
        add_dense(network, size)
        network.add(ReluOp(network.output))
    return network


@pytest.mark.parametrize("make", [resnet, vgg])
def test_networks_with_convolutions(make: Callable[[], Network]) -> None:
    network = make()
    x = network.rng.standard_normal(network.input.get_shape()).astype(np.float32)
    module = network.module()
    np.testing.assert_allclose(build(module)["main"](x), interpret(module)["main"](x), rtol=1e-4, atol=1e-5)
