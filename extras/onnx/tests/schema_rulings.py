"""Where relex is right although `onnx.reference`, or ONNX Runtime, computes something else: an open table.

A row has the operators that it is for, when it holds, and why the results of relex are right by the standard, or why
the standard leaves open what they are. Rows hold as seldom as possible: what they hold for is not compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from schema_draws import Draw


@dataclass(frozen=True)
class Case:
    """A draw whose results differ."""

    draw: Draw
    judge: str
    """Who says what is expected."""
    runtime: str
    """What ONNX Runtime computes: `as relex`, how its results differ, or that it has none."""
    near: bool
    """Whether the results agree in the digits of f32."""
    is_finite: bool
    """Whether results differ that are neither NaN nor infinite."""

    @property
    def runtime_agrees(self) -> bool:
        """Whether ONNX Runtime computes what relex does."""
        return self.runtime == "as relex"

    @property
    def runtime_has_none(self) -> bool:
        """Whether ONNX Runtime does not have the operator for these types."""
        return self.runtime.startswith("no result")

    def dtype(self) -> np.dtype[np.generic]:
        """Return the element type of the first input."""
        return self.draw.dtype(self.draw.schema.inputs[0].name)


@dataclass(frozen=True)
class Ruling:
    """Why the results of some operators may differ."""

    operators: str
    holds: Callable[[Case], bool]
    reason: str


def by_runtime(case: Case) -> bool:
    """The reference is alone."""
    return case.runtime_agrees


def unless_runtime(case: Case) -> bool:
    """The reference is alone, or ONNX Runtime has nothing to say."""
    return case.runtime_agrees or case.runtime_has_none


def _old_softmax(case: Case) -> bool:
    return case.draw.version < 13 and (unless_runtime(case) or case.draw.is_special)


def _has_integer_mask(case: Case) -> bool:
    return "attn_mask" in case.draw.inputs and case.draw.dtype("attn_mask").kind in "iu"


def _skips(case: Case) -> bool:
    given = case.draw.attributes
    return any(stride > n for stride, n in zip(given.get("strides", ()), given["kernel_shape"], strict=False))


RULINGS = (
    Ruling(
        "Softmax LogSoftmax Hardmax",
        _old_softmax,
        "up to operator set 12 they are about all dimensions from `axis` on; the reference takes one dimension",
    ),
    Ruling(
        "BatchNormalization",
        lambda case: not case.is_finite,
        "infinity or NaN: whether the mean or the factor is multiplied first is left open",
    ),
    Ruling("BatchNormalization", by_runtime, "the reference takes the mean of the batch in operator sets 9 to 13"),
    Ruling("ConvTranspose QLinearConv", by_runtime, "the reference mixes the channels of groups"),
    Ruling(
        "Resize",
        lambda case: (
            case.draw.attributes.get("coordinate_transformation_mode") == "pytorch_half_pixel" and unless_runtime(case)
        ),
        "a single element is the first one if the size that is rounded down is 1; the reference does not round it",
    ),
    Ruling(
        "TopK", lambda case: case.draw.is_special and case.dtype().kind not in "iu", "the order of NaN is left open"
    ),
    Ruling(
        "QLinearMatMul",
        lambda case: case.near and case.draw.dtype("a_scale").itemsize == 2,
        "whether products of scales are rounded to 16 bits is left open",
    ),
    Ruling(
        "RoiAlign",
        lambda case: case.draw.version < 16 and (case.runtime_agrees or case.draw.is_special),
        "the reference moves regions by half a pixel, as from operator set 16 on",
    ),
    Ruling("MaxPool", by_runtime, "the reference counts positions by rows for each `storage_order`"),
    Ruling(
        "MaxRoiPool",
        lambda case: case.judge == "ONNX Runtime" and case.draw.is_special and not case.is_finite,
        "ONNX Runtime begins again after NaN",
    ),
    Ruling("Normalizer", by_runtime, "MAX is the largest element; the reference takes the largest absolute value"),
    Ruling("Det", lambda case: not case.is_finite, "NaN or infinity: the order of elimination is left open"),
    Ruling("Scaler", lambda case: case.dtype().kind == "i", "the reference computes floats as integers"),
    Ruling("Unique", lambda case: case.dtype().name == "bfloat16", "NumPy does not put NaN of bf16 last"),
    Ruling(
        "Slice",
        lambda case: "steps" in case.draw.inputs and unless_runtime(case),
        "backwards, a part begins within the tensor; the reference takes slices of Python",
    ),
    Ruling("RNN GRU LSTM", by_runtime, "the reference has neither `clip` nor lengths of sequences"),
    Ruling("LRN", unless_runtime, "the reference leaves out the last channel"),
    Ruling(
        "LRN",
        lambda case: case.judge == "ONNX Runtime" and not case.is_finite,
        "ONNX Runtime takes what is infinite or NaN out of a running sum",
    ),
    Ruling(
        "PRelu",
        lambda case: not case.is_finite,
        "0 is not less than 0, so that the slope does not matter; the reference multiplies by it",
    ),
    Ruling(
        "ReduceLogSumExp",
        lambda case: not case.is_finite,
        "the logarithm of e to the power of -infinity is -infinity, not NaN",
    ),
    Ruling("ReduceMean", by_runtime, "the mean of no integers is left open"),
    Ruling(
        "Attention",
        lambda case: not case.is_finite,
        "infinity or NaN: whether what is masked is multiplied by 0 is left open",
    ),
    Ruling(
        "Attention",
        lambda case: case.draw.attributes.get("is_causal") == 1 and _has_integer_mask(case),
        "the standard's own definition converts -infinity to the type of the mask, which an integer is not",
    ),
    Ruling(
        "ReduceLogSumExp",
        lambda case: case.judge == "ONNX Runtime" and case.dtype().kind in "iu",
        "how logarithms of integers are rounded is left open; ONNX Runtime rounds each step",
    ),
    Ruling(
        "LpPool",
        lambda case: unless_runtime(case) and bool({"dilations", "ceil_mode"} & {*case.draw.attributes}),
        "the reference passes over dilations in what it pads by, and multiplies where a window ends outside",
    ),
    Ruling(
        "LinearRegressor",
        lambda case: "intercepts" not in case.draw.attributes,
        "without intercepts, none is added; the reference has no result",
    ),
    Ruling("LinearClassifier", lambda case: case.draw.is_special, "the class of NaN is left open"),
    Ruling(
        "QuantizeLinear",
        lambda case: case.near and case.dtype().itemsize == 2,
        "whether the quotient is rounded to 16 bits before it becomes a float of 8 or 4 bits is left open",
    ),
    Ruling("Resize", lambda case: case.near and case.dtype().kind in "iu", "how integers are rounded is left open"),
    Ruling(
        "ConvTranspose",
        lambda case: case.judge == "ONNX Runtime" and "SAME" in case.draw.attributes.get("auto_pad", ""),
        "the result has the size of the data times the stride; ONNX Runtime gives less where windows are narrow",
    ),
    Ruling(
        "LpNormalization",
        lambda case: case.draw.attributes.get("p") == 1 and unless_runtime(case),
        "a norm adds absolute values; the reference adds the numbers",
    ),
    Ruling(
        "LinearRegressor",
        lambda case: case.dtype().kind == "i",
        "the result has floats; the reference converts the coefficients to integers",
    ),
    Ruling(
        "LinearRegressor",
        lambda case: case.judge == "ONNX Runtime" and "post_transform" in case.draw.attributes,
        "ONNX Runtime passes over `post_transform`",
    ),
    Ruling(
        "AveragePool MaxPool LpPool",
        lambda case: "SAME" in case.draw.attributes.get("auto_pad", "") and _skips(case),
        "padding is never less than none; others pad by less where strides are longer than windows",
    ),
    Ruling(
        "AffineGrid DeformConv LRN Erf Gelu GridSample HardSwish RoiAlign STFT BlackmanWindow HammingWindow HannWindow",
        lambda case: case.near,
        "the reference computes some of f64 in f32",
    ),
    Ruling("LayerNormalization RMSNormalization", lambda case: case.near, "`stash_type` asks for f32, not for f64"),
    Ruling(
        "AveragePool LpPool",
        lambda case: not case.is_finite,
        "NaN in a window gives NaN; the reference leaves it out",
    ),
    Ruling(
        "MaxPool",
        lambda case: case.draw.is_special,
        "NaN in a window gives NaN, and whose position is left open; ONNX Runtime leaves it out",
    ),
    Ruling(
        "ConvTranspose DeformConv RoiAlign GridSample RNN GRU LSTM DFT STFT Resize Upsample OneHot",
        lambda case: not case.is_finite,
        "infinity or NaN: whether what has no weight is multiplied by 0 is left open",
    ),
    Ruling(
        "Conv",
        lambda case: not case.is_finite and "dilations" in case.draw.attributes,
        "the reference multiplies infinity by zeros between the elements of a window",
    ),
    Ruling(
        "QuantizeLinear DynamicQuantizeLinear",
        lambda case: case.draw.is_special and case.dtype().kind not in "iu",
        "integers of NaN, and scales of infinite numbers, are left open",
    ),
    Ruling(
        "Upsample",
        lambda case: case.judge == "ONNX Runtime" and case.dtype().kind in "iu",
        "how integers are rounded is left open",
    ),
)


REFUSALS: tuple[tuple[str, str], ...] = (
    # Types that relex does not have.
    (r"(output: )?elements of type (complex|float4|float6|float8_e8m0)", ""),
    ("expected operands of one element type", "Attention CenterCropPad GridSample RotaryEmbedding"),
    ("expected operands of f16 or bf16 or f32 or f64$", "Erf IsNaN"),
    ("expected operands of f16 or bf16 or f32 or f64 or i8", "BitCast"),
    ("elements of type (i1|ui?.*) resized", "Resize Upsample"),
    # What has to be known before the program runs.
    ("expected .*known at import", ""),
    ("(.* )?(a dynamic (dimension|size)|(of|by|without) dynamic (length|sizes?))", ""),
    ("expected square matrices of a size that is known", "Det"),
    ("a loop that ends at run time and changes what it carries", "GRU LSTM RNN"),
    (r"at run time: main\(\) expected .* <= .*", ""),
    ("(at run time: |'relex.assert' op failed: )'Squeeze' node 'node': expected n1 not to be 1", "Squeeze"),
    ("expected a shape that .* elements fit|a size of -1 that is .* divided by", "LinearAttention Reshape"),
    # A shape with -1 and 0: the standard has no meaning for it.
    (r"(at run time: )?'relex.as_sizes' (op failed: )?.*expected (a size|sizes) from 0", "Reshape"),
    ("the (dynamic )?size .* (times .*, which is rounded|resized to)", "Resize Upsample"),
    ("'FeatureVectorizer' node attribute 'inputdimensions': expected the widths of the inputs", "FeatureVectorizer"),
    ("expected operands of a type to compute with", "TensorScatter"),
    ("expected windows of . elements at most", "LRN"),
    ("expected .* (sizes|multiple) .*dynamic", ""),
    ("results whose sizes depend on data", "Unique"),
    # A constant with a size that the program only knows at run time: a mistake in `lower-call-tir`.
    ("'builtin.unrealized_conversion_cast' op cannot be lowered to buffers", "RotaryEmbedding"),
    # What is not imported.
    ("no import for the operator", "CausalConvWithState MaxRoiPool"),
    ("expected elements to choose from", "Hardmax LogSoftmax Softmax"),
    ("data without elements", "Resize Upsample"),
)
"""Which models relex may refuse: how the reasons begin, and for which operators; all if none are named. Another reason
is one that nobody has thought of."""


def may_refuse(draw: Draw, reason: str) -> bool:
    """Return whether a reason is one of those that relex may refuse a draw for."""
    name = draw.operator.name
    return any(re.match(pattern, reason) and (not names or name in names.split()) for pattern, names in REFUSALS)


def ruling(case: Case) -> str:
    """Return why a difference is none, or nothing."""
    name = case.draw.operator.name
    return next((row.reason for row in RULINGS if name in row.operators.split() and row.holds(case)), "")
