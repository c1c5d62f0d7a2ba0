"""What schemas do not say: which shapes, numbers and attributes of an operator fit each other. An open table.

`RULES` has a function for an operator, which gives a `Draw` its inputs and attributes; under "" the one for operators
whose inputs broadcast; and under ":name" the one for attributes of a name, for which it gives a value or none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import helper
from schema_draws import NOT_DRAWN, Draw, NotDrawn, Rule, element_dtype

RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Return a decorator that adds a rule."""

    def add(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return add


def not_drawn(reason: str, *names: str) -> None:
    """Say why operators are not drawn."""

    def refuse(draw: Draw) -> None:
        raise NotDrawn(reason)

    rule(*names)(refuse)


not_drawn("graphs in attributes", "If", "Loop", "Scan", "SequenceMap", "FlexAttention")
not_drawn(
    "random numbers",
    *("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"),
)
not_drawn("trees and vectors that models have learnt", "TreeEnsemble", "TreeEnsembleClassifier")
not_drawn("trees and vectors that models have learnt", "TreeEnsembleRegressor", "SVMClassifier", "SVMRegressor")
not_drawn("training", "Adagrad", "Adam", "Gradient", "Momentum")
not_drawn("images in files", "ImageDecoder")
not_drawn(
    "strings, sequences or optional values",
    *("ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement", "SequenceConstruct"),
    *("SequenceEmpty", "SplitToSequence", "TfIdfVectorizer", "CategoryMapper", "ZipMap", "CastMap", "DictVectorizer"),
)


# Attributes that have the same meaning wherever they are.


def _number(name: str, *values: Any) -> None:
    rule(f":{name}")(lambda draw: void(draw.choose(name, *values)))


def void(_: object) -> None:
    """Return nothing."""


for _name in (
    *("keepdims", "select_last_index", "noop_with_empty_axes", "allowzero", "count_include_pad", "ceil_mode"),
    *("detect_negative", "detect_positive", "exclusive", "reverse", "upper", "fmod", "saturate", "align_corners"),
    *("largest", "sorted", "periodic", "is_causal", "interleaved", "stash_type", "ceil_mode"),
):
    _number(_name, 0, 1)
_number("alpha", 0.25, 1.0, -0.5, 2.0)
_number("beta", 0.25, 1.0, -0.5)
_number("gamma", 0.5, 1.5)
_number("lambd", 0.0, 1.0, 0.5)
_number("bias", 0.0, 1.0, 0.25)
_number("epsilon", 1e-5, 1e-2)
_number("threshold", 0.0, 0.5)
_number("approximate", "none", "tanh")
_number("p", 1, 2)
_number("round_mode", "up", "down", "nearest")


def element(type_name: str) -> int:
    """Return the number of an element type."""
    return helper.np_dtype_to_tensor_dtype(element_dtype(type_name))


def output_types(draw: Draw) -> list[int]:
    """Return the element types that the first output may have."""
    text = draw.schema.outputs[0].type_str
    allowed = next(c.allowed_type_strs for c in draw.schema.type_constraints if c.type_param_str == text)
    return [element(t) for t in sorted(allowed) if t.startswith("tensor") and t not in NOT_DRAWN]


for _name in ("dtype", "output_datatype", "output_dtype"):
    rule(f":{_name}")(lambda draw, name=_name: void(draw.choose(name, *output_types(draw), absent=0.4)))


# Sums of many numbers: of these operators, no number is so large that it counts which ones are added first.

for _name in (
    "MatMul Gemm Conv ConvTranspose AveragePool GlobalAveragePool LpPool GlobalLpPool Einsum Det CumSum CumProd Mean "
    "Sum ReduceSum ReduceMean ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare ReduceProd "
    "LpNormalization BatchNormalization InstanceNormalization GroupNormalization LayerNormalization RMSNormalization "
    "LRN Softmax LogSoftmax MeanVarianceNormalization Resize Upsample GridSample AffineGrid RoiAlign DeformConv RNN "
    "GRU LSTM "
    "Attention LinearAttention CausalConvWithState RotaryEmbedding NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss "
    "DFT STFT Col2Im ScatterElements ScatterND Scaler Normalizer LinearRegressor LinearClassifier SwiGLU "
    "QuantizeLinear DequantizeLinear DynamicQuantizeLinear"
).split():
    rule(f"{_name} adds")(void)


# Element by element.


@rule("")
def broadcasting(draw: Draw) -> None:
    """Inputs whose shapes broadcast."""
    shape = draw.shape()
    formals = [f for f in draw.schema.inputs if f.type_str in draw.types or f.type_str.startswith("tensor")]
    for place, formal in enumerate(formals):
        if formal.option.name == "Variadic":
            for _ in range(draw.between(max(1, formal.min_arity), 3)):
                draw.data(formal.name, shape if draw.version < 8 else draw.narrowed(shape))
        elif formal.option.name != "Optional" or draw.chance(0.5):
            draw.data(formal.name, draw.narrowed(shape) if len(formals) > 1 and (place or draw.chance(0.3)) else shape)


@rule("PRelu")
def to_the_first(draw: Draw) -> None:
    """A second input that broadcasts to the first one."""
    shape = draw.shape()
    draw.data("X", shape)
    draw.data("slope", draw.narrowed(shape))


@rule("SwiGLU")
def alike(draw: Draw) -> None:
    """Inputs of one shape."""
    shape = draw.shape()
    for formal in draw.schema.inputs:
        draw.data(formal.name, shape)


@rule("Div", "Mod")
def divisors(draw: Draw) -> None:
    """Integers are not divided by zero, nor the smallest one by -1: what that gives is not said."""
    shape = draw.shape()
    dtype = draw.dtype("A")
    draw.data("A", draw.narrowed(shape) if draw.chance(0.3) else shape)
    divisor = draw.narrowed(shape)
    low = -4 if np.dtype(dtype).kind != "u" and not dtype.name.startswith("uint") else 1

    def nonzero() -> Any:
        values = draw.array(divisor, dtype)
        if dtype.kind in "iu":
            values = np.where((values == 0) | (values == -1), 3 if low == 1 else -3, values)
        return values

    draw.data("B", divisor, nonzero)
    if draw.has("fmod") and draw.operator.name == "Mod":
        draw.attributes["fmod"] = 1 if dtype.kind == "f" or dtype.name == "bfloat16" else draw.pick(0, 1)


@rule("Pow")
def powers(draw: Draw) -> None:
    """Integers have small exponents."""
    shape = draw.shape()
    bases = draw.narrowed(shape) if draw.chance(0.3) else shape
    draw.data("X", bases, draw.integers(0, 9, bases) if draw.dtype("X").kind in "iu" else None)
    exponents = draw.narrowed(shape)
    if draw.dtype("Y").kind in "iu" or draw.dtype("X").kind in "iu":
        draw.data("Y", exponents, draw.integers(0, 4, exponents))
    else:
        draw.data("Y", exponents)
    if draw.chance(0.3):
        draw.inputs["Y"] = []
        draw.fixed("Y", draw.pick(0, 1, 2, 3))


@rule("BitShift")
def shifts(draw: Draw) -> None:
    """Amounts below the number of bits."""
    shape = draw.shape()
    draw.data("X", draw.narrowed(shape) if draw.chance(0.3) else shape)
    amounts = draw.narrowed(shape)
    draw.data("Y", amounts, draw.integers(0, draw.dtype("X").itemsize * 8, amounts))
    draw.attributes["direction"] = draw.pick("LEFT", "RIGHT")


@rule("Clip")
def bounds(draw: Draw) -> None:
    """Two bounds, mostly in their order."""
    draw.data("input" if draw.takes("input") else "X", draw.shape())
    low, high = sorted(draw.random.choices([-2, 0, 1, 3, 5], k=2), reverse=draw.chance(0.1))
    if draw.has("min"):
        draw.choose("min", float(low))
        draw.choose("max", float(high))
        return
    for name, bound in (("min", low), ("max", high)):
        kind = draw.dtype(name)
        number = max(bound, 0) if kind.kind == "u" else bound
        if draw.chance(0.4):
            draw.fixed(name, number)
        elif draw.chance(0.7):
            draw.data(name, (), lambda number=number: np.asarray(number))


@rule("Cast", "CastLike")
def casts(draw: Draw) -> None:
    """Numbers that the other type has: what becomes of others is not said."""
    name, other = draw.operator.name, draw.operator.schema.outputs[0].type_str
    wanted = draw.types[other]
    to = element_dtype(wanted)
    shape = draw.shape()
    dtype = draw.dtype("input")
    few = dtype.name.startswith(("float8", "float4", "float6"))
    narrow = to.kind in "iu" or to.name in ("int4", "uint4", "int2", "uint2")

    def fitting() -> Any:
        if not narrow:
            return draw.array(shape, dtype)
        signed = to.kind == "i" or to.name.startswith("int")
        bits = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4}.get(to.name, 4 if few else 8)
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        numbers = draw.numbers.integers(low, high + 1, shape)
        return numbers + (0.5 if dtype.kind == "f" and draw.is_special else 0)

    draw.data("input", shape, fitting)
    if name == "CastLike":
        draw.data("target_type", draw.shape(0, 1))
    else:
        draw.attributes["to"] = element(wanted)


@rule("BitCast")
def bits(draw: Draw) -> None:
    """A type of as many bits."""
    draw.data("input", draw.shape())
    bits = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "float4_e2m1fn": 4}

    def width(dtype: np.dtype[Any]) -> int:
        return bits.get(dtype.name, dtype.itemsize * 8)

    same = [t for t in output_types(draw) if width(helper.tensor_dtype_to_np_dtype(t)) == width(draw.dtype("input"))]
    draw.attributes["to"] = draw.pick(*same)


# Reductions and normalization.


@rule(*(f"Reduce{n}" for n in "Sum Mean Max Min Prod L1 L2 LogSum LogSumExp SumSquare".split()))
def reductions(draw: Draw) -> None:
    """Some dimensions, none, or all of them."""
    shape = draw.shape()
    # Integers have a logarithm if they are positive.
    logs = draw.dtype("data").kind in "iu" and "Log" in draw.operator.name
    draw.data("data", shape, draw.integers(1, 9, shape) if logs else None)
    if draw.chance(0.7):
        draw.fixed("axes", np.array(draw.axes(len(shape)), np.int64))
        if not draw.attributes.get("axes", [0]):
            del draw.attributes["axes"]


@rule("ArgMax", "ArgMin", "Softmax", "LogSoftmax", "Hardmax", "LpNormalization")
def along_an_axis(draw: Draw) -> None:
    """One dimension."""
    shape = draw.shape(1)
    draw.data(draw.schema.inputs[0].name, shape)
    draw.axis(len(shape), default=attribute_default(draw, "axis"))


def attribute_default(draw: Draw, name: str) -> int | None:
    """Return the default of an attribute that is a number."""
    default = draw.schema.attributes[name].default_value
    return helper.get_attribute_value(default) if default.type else None


@rule("CumSum", "CumProd")
def cumulative(draw: Draw) -> None:
    """One dimension, in an input."""
    shape = draw.shape(1)
    draw.data("x", shape)
    draw.fixed("axis", draw.axes(len(shape), 1)[0])


@rule("TopK")
def largest(draw: Draw) -> None:
    """As many as there are, or fewer. Equal numbers have no order."""
    shape = draw.shape(1)
    axis = draw.axis(len(shape), default=-1)
    k = draw.between(0 if draw.chance(0.1) else min(1, shape[axis]), shape[axis])
    draw.data("X", shape)
    draw.attributes.update({} if draw.takes("K") else {"k": k})
    if draw.takes("K"):
        draw.fixed("K", [k])
    draw.leave("sorted")


@rule("BatchNormalization")
def batch_norm(draw: Draw) -> None:
    """Channels in the second dimension."""
    shape = draw.shape(2, 4)
    channels = shape[1:2]
    draw.data("X", shape)
    draw.data("scale", channels)
    draw.data("B", channels)
    mean, variance = [f.name for f in draw.schema.inputs[3:]]
    draw.data(mean, channels)
    draw.data(variance, channels, draw.uniform(0.1, 2, channels))
    draw.choose("momentum", 0.9, 0.5)
    if draw.has("training_mode") and draw.choose("training_mode", 0, 1):
        draw.leave("outputs")
        draw.outputs = 3
    else:
        draw.outputs = 1


@rule("InstanceNormalization")
def instance_norm(draw: Draw) -> None:
    """Channels in the second dimension, and pixels."""
    shape = draw.shape(3, 4)
    for name, sizes in (("input", shape), ("scale", shape[1:2]), ("B", shape[1:2])):
        draw.data(name, sizes)


@rule("GroupNormalization")
def group_norm(draw: Draw) -> None:
    """Channels in groups."""
    groups, each = draw.pick(1, 2, 3), draw.pick(1, 2)
    channels = groups * each
    draw.data("X", (draw.pick(1, 2), channels, *draw.shape(1, 2, (1, 2, 3))))
    sizes = (groups if draw.operator.since < 21 else channels,)
    draw.data("scale", sizes)
    draw.data("bias", sizes)
    draw.attributes["num_groups"] = groups


@rule("LayerNormalization", "RMSNormalization")
def layer_norm(draw: Draw) -> None:
    """The last dimensions."""
    shape = draw.shape(1)
    axis = draw.axis(len(shape), default=-1)
    sizes = shape[axis:] if draw.chance(0.8) else draw.narrowed(shape[axis:])
    name = draw.schema.inputs[1].name
    draw.data("X", shape)
    draw.data(name, sizes)
    draw.optional("B", sizes)
    draw.choose("stash_type", 1)


@rule("LRN")
def local_response(draw: Draw) -> None:
    """Neighbours among the channels."""
    draw.data("X", draw.shape(3, 4))
    draw.attributes["size"] = draw.pick(1, 2, 3, 5)
    draw.choose("alpha", 0.0001, 0.5)
    draw.choose("beta", 0.75, 0.5)


@rule("MeanVarianceNormalization")
def mean_variance(draw: Draw) -> None:
    """Some dimensions, or all but the channels."""
    shape = draw.shape(4, 4)
    draw.data("X", shape)
    if draw.chance(0.5):
        draw.attributes["axes"] = draw.axes(4, draw.between(1, 4))


def sizes_without(draw: Draw, count: int, choices: Sequence[int] = (1, 2, 3)) -> tuple[int, ...]:
    """Return `count` sizes, none of them 0."""
    return tuple(draw.random.choices(choices, k=count))
