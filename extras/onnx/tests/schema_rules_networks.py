"""Rules for operators of networks: quantization, sequences, attention, losses, signals, and models of scikit-learn."""

from __future__ import annotations

import numpy as np
from schema_draws import Draw, NotDrawn
from schema_rules import element, rule, sizes_without
from schema_rules_layers import scales

# Quantization.


@rule("QuantizeLinear", "DequantizeLinear")
def quantized(draw: Draw) -> None:
    """One scale, one for each position along a dimension, or one for each block along it."""
    is_quantize = draw.operator.name == "QuantizeLinear"
    scale, zero = ("y_scale", "y_zero_point") if is_quantize else ("x_scale", "x_zero_point")
    shape = draw.shape(1, 4, (0, 1, 2, 3, 5))
    kinds = ["tensor"] + ["axis"] * (draw.version >= 13) + ["block"] * (draw.version >= 21)
    kind = draw.pick(*kinds)
    sizes: list[int] = []
    if kind != "tensor":
        axis = draw.axis(len(shape), default=1)
        sizes = [shape[axis]]
        if kind == "block":
            size = draw.attributes["block_size"] = draw.pick(1, 2, 3)
            sizes = list(shape)
            sizes[axis] = -(-sizes[axis] // size)
    whole = is_quantize and draw.dtype("x").kind == "i"
    draw.data("x", shape, draw.integers(-400, 400, shape) if whole else None)
    draw.data(
        scale, sizes, draw.integers(1, 4, sizes) if draw.dtype(scale).kind == "i" else draw.uniform(0.1, 2, sizes)
    )
    given = draw.schema.inputs[2].option.name != "Optional" or draw.chance(0.6)
    if given:
        is_zero = "32" in draw.dtype(zero).name or draw.dtype(zero).name.startswith("float")
        draw.data(zero, sizes, (lambda: np.zeros(sizes)) if is_zero else None)
        draw.leave("output_dtype")
    elif is_quantize and draw.has("output_dtype") and "T3" in draw.types:
        names = draw.types["T3"]
        if draw.chance(0.5):
            draw.attributes["output_dtype"] = element(names)
    draw.leave("precision", "output_dtype")


@rule("QLinearMatMul")
def quantized_matmul(draw: Draw) -> None:
    """Scales and zero points for all elements."""
    n, k, m = sizes_without(draw, 3)
    batch = draw.shape(0, 1, (1, 2))
    draw.data("a", (*batch, n, k))
    scales(draw, "a_scale", "a_zero_point", ())
    draw.data("b", (*batch, k, m))
    scales(draw, "b_scale", "b_zero_point", ())
    scales(draw, "y_scale", "y_zero_point", ())


@rule("DynamicQuantizeLinear")
def dynamically(draw: Draw) -> None:
    """Any floats."""
    draw.data("x", draw.shape(0, 3, (1, 2, 3, 5)))


# Sequences.


@rule("RNN", "GRU", "LSTM")
def recurrent(draw: Draw) -> None:
    """Sequences, in either direction or both."""
    direction = draw.choose("direction", "forward", "reverse", "bidirectional")
    ways = 2 if direction == "bidirectional" else 1
    length, batch, width, hidden = draw.pick(1, 2, 3), draw.pick(1, 2), draw.pick(1, 3), draw.pick(1, 2)
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[draw.operator.name]
    layout = draw.choose("layout", 0, 1, absent=0.7) or 0
    draw.data("X", (batch, length, width) if layout else (length, batch, width))
    draw.data("W", (ways, gates * hidden, width))
    draw.data("R", (ways, gates * hidden, hidden))
    draw.optional("B", (ways, 2 * gates * hidden))
    state = (batch, ways, hidden) if layout else (ways, batch, hidden)
    # The reference has none of these, and ONNX Runtime has them for these types.
    has_runtime = draw.dtype("X") == np.float32 and not layout and not draw.is_special
    if has_runtime and draw.chance(0.4):
        draw.data("sequence_lens", (batch,), draw.integers(1, length + 1, (batch,)))
    draw.optional("initial_h", state)
    draw.optional("initial_c", state)
    draw.optional("P", (ways, 3 * hidden))
    draw.attributes["hidden_size"] = hidden
    if has_runtime:
        draw.choose("clip", 0.5)
        draw.choose("input_forget", 0, 1)
    draw.choose("linear_before_reset", 0, 1)


# Attention.


@rule("Attention")
def attention(draw: Draw) -> None:
    """Heads of queries and keys."""
    batch, heads, queries, keys, width, values = draw.pick(1, 2), draw.pick(1, 2), *sizes_without(draw, 4)
    draw.data("Q", (batch, heads, queries, width))
    draw.data("K", (batch, heads, keys, width))
    draw.data("V", (batch, heads, keys, values))
    draw.optional("attn_mask", draw.narrowed((batch, heads, queries, keys), ranks=False)[2:])
    draw.choose("scale", 0.5)
    draw.choose("softcap", 2.0, absent=0.7)
    draw.outputs = 1


@rule("RotaryEmbedding")
def rotary(draw: Draw) -> None:
    """Halves that are turned."""
    batch, heads, length, half = draw.pick(1, 2), draw.pick(1, 2), draw.pick(1, 3), draw.pick(1, 2)
    draw.data("X", (batch, heads, length, 2 * half))
    if draw.chance(0.5):
        draw.data("cos_cache", (5, half))
        draw.data("sin_cache", (5, half))
        draw.data("position_ids", (batch, length), draw.integers(0, 5, (batch, length)))
    else:
        draw.data("cos_cache", (batch, length, half))
        draw.data("sin_cache", (batch, length, half))
    draw.choose("interleaved", 0, 1)


@rule("LinearAttention")
def linear_attention(draw: Draw) -> None:
    """A state that is updated at each step."""
    batch, heads, length, width, values = draw.pick(1, 2), draw.pick(1, 2), *sizes_without(draw, 3)
    draw.data("query", (batch, length, heads * width))
    draw.data("key", (batch, length, heads * width))
    draw.data("value", (batch, length, heads * values))
    draw.attributes.update(q_num_heads=heads, kv_num_heads=heads, update_rule="linear")
    draw.optional("past_state", (batch, heads, width, values))


@rule("CausalConvWithState")
def causal(draw: Draw) -> None:
    """A window over the past of each channel."""
    batch, channels, length, kernel = draw.pick(1, 2), draw.pick(1, 2), draw.pick(1, 3), draw.pick(2, 3)
    draw.data("input", (batch, channels, length))
    draw.data("weight", (channels, 1, kernel))
    draw.optional("bias", (channels,))
    draw.optional("past_state", (batch, channels, kernel - 1))
    draw.choose("activation", "none", "silu")


# Losses.


@rule("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def losses(draw: Draw) -> None:
    """Classes in the second dimension."""
    shape = (draw.pick(1, 2), draw.pick(2, 3), *draw.shape(0, 2, (1, 2, 3)))
    scores, labels, weights = [formal.name for formal in draw.schema.inputs]
    places = (shape[0], *shape[2:])
    draw.data(scores, shape)
    draw.data(labels, places, draw.integers(0, shape[1], places))
    draw.optional(weights, shape[1:2], draw.uniform(0.2, 1, shape[1:2]))
    draw.choose("reduction", "none", "mean", "sum")
    draw.choose("ignore_index", 0, absent=0.7)


# Signals.


@rule("DFT")
def fourier(draw: Draw) -> None:
    """Real or complex numbers along a dimension."""
    onesided, inverse = draw.flag("onesided"), draw.flag("inverse")
    if draw.version < 20 and onesided and inverse:
        draw.attributes["inverse"] = inverse = 0
    kinds = 2 if onesided and inverse else 1 if onesided else draw.pick(1, 2)
    shape = (*sizes_without(draw, draw.between(2, 3), (2, 3, 5)), kinds)
    axis = draw.between(1, len(shape) - 2)
    draw.data(draw.schema.inputs[0].name, shape)
    if draw.chance(0.3):
        draw.fixed("dft_length", draw.pick(2, 3, 5))
    if draw.takes("axis"):
        if draw.chance(0.7):
            draw.fixed("axis", axis)
    else:
        draw.attributes["axis"] = axis


@rule("STFT")
def short_time(draw: Draw) -> None:
    """Frames of a signal."""
    frame = draw.pick(2, 3, 5)
    draw.data("signal", (draw.pick(1, 2), draw.pick(5, 7, 9), 1))
    draw.fixed("frame_step", draw.pick(1, 2))
    if draw.chance(0.5):
        draw.data("window", (frame,))
    draw.fixed("frame_length", frame)
    draw.flag("onesided")


@rule("BlackmanWindow", "HammingWindow", "HannWindow")
def window(draw: Draw) -> None:
    """The length of a window."""
    draw.fixed("size", draw.pick(1, 2, 3, 5, 8))


@rule("MelWeightMatrix")
def mel(draw: Draw) -> None:
    """Few bins."""
    values = (draw.pick(2, 3), 16, 8192, 0, 4096)
    for formal, number in zip(draw.schema.inputs, values, strict=True):
        draw.fixed(formal.name, number)


# Models of scikit-learn.


@rule("ArrayFeatureExtractor")
def features(draw: Draw) -> None:
    """Some columns."""
    shape = draw.shape(1, 3, (1, 2, 3, 5))
    draw.data("X", shape)
    count = (draw.between(1, 3),)
    draw.data("Y", count, draw.integers(0, shape[-1], count))


@rule("Binarizer", "Normalizer")
def rows(draw: Draw) -> None:
    """Rows of numbers."""
    draw.data("X", draw.shape(2, 2))
    draw.choose("norm", "MAX", "L1", "L2")
    draw.choose("threshold", 0.5, -1.0)


@rule("FeatureVectorizer")
def vectors(draw: Draw) -> None:
    """Columns side by side."""
    n = draw.pick(1, 2, 3)
    widths = draw.attributes["inputdimensions"] = list(sizes_without(draw, draw.between(1, 3)))
    for width in widths:
        draw.data("X", (n, width))


@rule("Imputer")
def imputed(draw: Draw) -> None:
    """A number for what is missing."""
    shape = draw.shape(2, 2)
    draw.data("X", shape)
    count = draw.pick(1, max(shape[1], 1))
    if draw.dtype("X").kind == "f":
        draw.attributes["imputed_value_floats"] = [0.5 + i for i in range(count)]
        draw.choose("replaced_value_float", float("nan"), 1.0)
    else:
        draw.attributes["imputed_value_int64s"] = [7 + i for i in range(count)]
        draw.choose("replaced_value_int64", 1)


@rule("LabelEncoder")
def labels(draw: Draw) -> None:
    """A table of numbers."""
    shape = draw.shape()
    kind = draw.dtype("X").kind if draw.has("keys_floats") else ""
    if not kind:
        raise NotDrawn("strings, sequences or optional values")
    keys = {"i": "keys_int64s", "f": "keys_floats"}[kind]
    values, default = draw.pick(("values_int64s", "default_int64"), ("values_floats", "default_float"))
    draw.attributes[keys] = [1, 2, 3] if kind == "i" else [0.0, 1.0, 0.5]
    draw.attributes[values] = [5, 6, 7] if "int" in values else [0.5, 1.5, 2.5]
    draw.choose(default, 9 if "int" in default else 9.5)
    draw.data("X", shape)


@rule("OneHotEncoder")
def categories(draw: Draw) -> None:
    """Some integers."""
    shape = draw.shape(1, 3)
    draw.data("X", shape, draw.integers(-1, 4, shape))
    draw.attributes["cats_int64s"] = [0, 1, 2, -1]


@rule("Scaler")
def scaled(draw: Draw) -> None:
    """An offset and a factor for each column, or for all."""
    shape = draw.shape(2, 2)
    draw.data("X", shape)
    for name in ("offset", "scale"):
        draw.attributes[name] = [0.5 + i for i in range(draw.pick(1, max(shape[1], 1)))]


@rule("LinearRegressor", "LinearClassifier")
def linear(draw: Draw) -> None:
    """A row of coefficients for each target."""
    n, width, targets = draw.pick(1, 2, 5), draw.pick(1, 2, 3), draw.pick(1, 2, 3)
    draw.data("X", (n, width))
    if draw.operator.name == "LinearClassifier":
        targets = max(targets, 2)
        draw.attributes["classlabels_ints"] = [3 * i for i in range(targets)]
    else:
        draw.attributes["targets"] = targets
    draw.attributes["coefficients"] = [0.5 * i - 1 for i in range(targets * width)]
    if draw.chance(0.7) or draw.operator.name == "LinearClassifier":
        draw.attributes["intercepts"] = [0.25 * i for i in range(targets)]
    draw.choose("post_transform", "NONE", "LOGISTIC", "SOFTMAX")
