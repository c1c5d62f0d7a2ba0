"""Attention whose state has a fixed size, and what language models with it need besides, `com.microsoft`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, i64

from relex.frontend import op
from relex.frontend.compositions import activations
from relex.frontend.compositions.activations import softplus
from relex.frontend.compositions.attention import in_heads, joined_heads, repeated_heads, rotated
from relex.frontend.compositions.indexing import LAST, expect_in_range
from relex.frontend.compositions.sliding_windows import Windows, convolution
from relex.frontend.importing.loops import Row, counted
from relex.frontend.importing.regions import zeros
from relex.frontend.onnx import Known, OnnxNode, Operand, Tensor, imports, refuse
from relex.frontend.onnx.operators.quantized_layers import MICROSOFT

RULES = ("linear", "gated", "delta", "gated_delta")


@imports("LinearAttention", domain=MICROSOFT)
def linear_attention(
    node: OnnxNode,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    past: Tensor | None = None,
    decay: Tensor | None = None,
    beta: Tensor | None = None,
) -> list[Operand]:
    """What the state of each head makes of each query, and the last state. A place adds the product of its key and its
    value to the state, which decays before; by the delta rule, what the state has for the key already is taken away."""
    rule, queries, heads = (
        node.text("update_rule", "gated_delta"),
        node.integer("q_num_heads"),
        node.integer("kv_num_heads"),
    )
    if rule not in RULES:
        refuse(f"expected one of {', '.join(RULES)}, found {rule}", "update_rule")
    if min(queries, heads) < 1:
        refuse(f"expected one head or more, found {queries} of queries and {heads} of values")
    if node.integer("state_window"):
        refuse("several states; ask for the last one", "state_window")
    batch, places, columns = node.shape(query)
    width = node.closed(columns, "heads of dynamic width: {}") // queries
    if not width:
        refuse(f"expected a number or more for each of {queries} heads, found {columns} in all")
    keys = node.closed(node.shape(key)[2], "heads of dynamic width: {}") // width
    depth = node.closed(node.shape(value)[2], "heads of dynamic width: {}") // heads
    most = max(queries, heads)
    q = _heads(node, query, queries, most)
    k, v = _heads(node, key, keys, heads), _heads(node, value, heads, heads)
    gates = None if decay is None or "gated" not in rule else _heads(node, decay, heads, heads)
    rates = None if beta is None or "delta" not in rule else _rates(node, beta, heads)
    if ("gated" in rule and gates is None) or ("delta" in rule and rates is None):
        refuse(f"expected the decay and the rates that the rule {rule} asks for, found none", "update_rule")

    def trip(place: Tensor, state: Sequence[Tensor]) -> tuple[list[Operand], list[Row]]:
        def at(x: Operand) -> Operand:
            return op.take(x, place, 2)

        old: Operand = state[0]
        if gates is not None:
            old = op.multiply(old, op.expand_dims(op.exp(at(gates)), 3))
        row, new = op.expand_dims(at(k), 2), op.expand_dims(at(v), 2)
        if rates is not None:
            new = op.multiply(op.expand_dims(at(rates), 3), op.subtract(new, op.matmul(row, old)))
        now = node.tensor(op.add(old, op.multiply(op.expand_dims(at(k), 3), new)))
        seen = op.matmul(op.expand_dims(at(q), 2), repeated_heads(node, now, most // heads))
        return [now], [Row(op.squeeze(seen, 2), place, 2)]

    kind = value.element_type if past is None else past.element_type
    first = zeros([batch, heads, width, depth], f32) if past is None else op.astype(past, f32)
    if places == 0:
        return [zeros([batch, 0, most * depth], query.element_type), op.astype(first, kind)]
    last, seen = counted(node.builder, places, trip, [first])
    y = op.multiply(joined_heads(node, seen), node.number("scale") or float(width**-0.5))
    return [op.astype(y, query.element_type), op.astype(last, kind)]


def _heads(node: OnnxNode, x: Tensor, heads: int, wanted: int) -> Operand:
    """Return heads as floats, each of them as often as it takes for another number of heads."""
    return repeated_heads(node, in_heads(node, op.astype(x, f32), heads), wanted // heads)


def _rates(node: OnnxNode, beta: Tensor, heads: int) -> Operand:
    """Return the rate of each head, of which there may be one for all."""
    return _heads(node, beta, 1 if node.shape(beta)[2] == 1 else heads, heads)


@imports("LinearAttentionGate", domain=MICROSOFT)
def gates(node: OnnxNode, x: Tensor, bias: Tensor, scale: Tensor, rates: Tensor | None = None) -> list[Operand]:
    """The decay and the rates of linear attention, of projections."""
    decay = op.multiply(softplus(op.add(op.astype(x, f32), bias)), scale)
    results: list[Operand] = [op.astype(decay, x.element_type)]
    return results if rates is None else [*results, op.astype(op.sigmoid(op.astype(rates, f32)), x.element_type)]


@imports("CausalConvWithState", domain=MICROSOFT)
def causal_conv(
    node: OnnxNode, x: Tensor, weight: Tensor, bias: Tensor | None = None, past: Tensor | None = None
) -> list[Operand]:
    """A convolution of each channel with what comes before, and the last places, for the next one."""
    extended = ("state_window", "state_length", "input_channels", "state_update_capacity", "input_channel_offset")
    if node.integer("ndim", 1) != 1 or any(map(node.integer, extended)) or node.integer("state_channels_last", -1) >= 0:
        refuse("images, several states, and parts of channels")
    is_last = node.flag("channels_last")
    if is_last and node.rank(x) != 3:
        refuse("channels of several dimensions", "channels_last")
    data, before = (None if t is None else _first(t) if is_last else t for t in (x, past))
    assert data is not None
    if node.rank(weight) != 3:
        refuse(f"expected a kernel of three dimensions, found {node.rank(weight)}")
    size, step = node.static_shape(weight, "sizes of the kernel")[2], node.integer("dilation", 1)
    batch, channels, places = node.shape(data)
    length = (size - 1) * step
    if before is None:
        before = zeros([batch, channels, length], x.element_type)
    else:
        found = node.shape(before)[2]
        node.expect_equal(found, length, f"expected {length} places from before, found {found}")
    if places == 0:
        return [x, _first(before) if is_last else before]
    whole = node.tensor(op.concat(before, data, axis=2))
    groups = node.closed(channels, "a dynamic number of channels: {}")
    y = convolution(node, whole, weight, bias, Windows((size,), (1,), (0, 0), (step,)), groups)
    name = node.text("activation", "none")
    if name not in ("none", "silu", "swish"):
        refuse(f"expected none, silu or swish, found {name}", "activation")
    y = y if name == "none" else activations.swish(y, 1.0)
    rest = op.strided_slice(whole, [2], [-length], [LAST]) if length else op.strided_slice(whole, [2], [0], [0])
    return [_first(y), _first(rest)] if is_last else [y, rest]


def _first(x: Operand) -> Operand:
    """Return a tensor of channels and places in the other order."""
    return op.permute_dims(x, [0, 2, 1])


@imports("MRotaryEmbedding", domain=MICROSOFT)
def rotary_embedding_of_images(node: OnnxNode, x: Tensor, positions: Tensor, cos: Tensor, sin: Tensor) -> Operand:
    """Heads that are turned by angles that depend on the time, the row and the column."""
    if node.flag("is_packed_batching") or node.number("scale", 1.0) != 1:
        refuse("texts of one batch beside each other, and scales")
    half = node.closed(node.shape(cos)[1], "angles of dynamic number: {}")
    sections = node.integers("mrope_section") or []
    if len(sections) != 3 or sum(sections) != half or min(sections) < 0:
        refuse(f"expected three sections of {half} angles together, found {sections}", "mrope_section")
    expect_in_range(node, positions, node.shape(cos)[0], from_end=False)
    heads, is_flat = node.integer("num_heads"), node.rank(x) == 3
    if is_flat and not (heads and node.integer("rotary_embedding_dim")):
        heads = node.closed(node.shape(x)[2], "heads of dynamic width: {}") // (2 * half)
    split = in_heads(node, x, heads) if is_flat else x
    stream = np.repeat(np.arange(3), sections)
    if node.flag("mrope_layout"):
        place = np.arange(half)
        stream = np.zeros(half, np.int64)
        for number in (1, 2):
            stream[(place % 3 == number) & (place < 3 * sections[number])] = number

    def angles(table: Tensor) -> Operand:
        rows = op.take(table, op.astype(positions, i64), 0)
        parts = [op.squeeze(op.strided_slice(rows, [0], [i], [i + 1]), 0) for i in range(3)]
        chosen = op.where(Known(stream == 1), parts[1], op.where(Known(stream == 2), parts[2], parts[0]))
        return op.expand_dims(chosen, 1)

    y = rotated(node, split, (node.tensor(angles(cos)), node.tensor(angles(sin))), node.flag("interleaved"))
    return joined_heads(node, y) if is_flat else y
