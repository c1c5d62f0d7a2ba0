"""Attention and rotary positions, as ONNX Runtime's optimizer and exporters of language models write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32, i64

from relex.dialects.sizes import Size, larger
from relex.frontend import op
from relex.frontend.compositions.attention import (
    attended,
    in_heads,
    is_hidden_later,
    joined_heads,
    joined_places,
    penalty,
    repeated_heads,
    rotated,
)
from relex.frontend.compositions.indexing import expect_in_range, numbers_below
from relex.frontend.importing.values import size_argument
from relex.frontend.onnx import Known, OnnxNode, Operand, Tensor, imports, refuse
from relex.frontend.onnx.operators.quantization import COLUMNS, centred, one_number, placed
from relex.frontend.onnx.operators.quantized_layers import MICROSOFT

HIDDEN = -10000.0
"""What masks add to the likeness of keys that they hide, unless an attribute says otherwise."""
LOWEST = -3.4028234663852886e38
"""What is added to the likeness of keys that come later: no mask outweighs it."""


def _expect_plain(node: OnnxNode, *flags: str) -> None:
    """Refuse options that change where a result is, or what it is made of."""
    for name in flags:
        if node.flag(name):
            refuse("an option that is not supported: export the model without it", name)


def _mask(node: OnnxNode, mask: Tensor, batch: Size, queries: Size, keys: Size) -> Operand:
    """Return which keys a mask hides, in a shape that broadcasts: lengths, ends and starts of each text, or a number
    for each key that is 0 where it is hidden."""
    sizes = node.shape(mask)
    match len(sizes):
        case 1:
            places = op.expand_dims(numbers_below(keys), 0)
            column = op.expand_dims(op.astype(mask, i64), 1)
            if sizes[0] != 2 * batch:
                hidden = op.greater_equal(places, column)
            else:
                ends, starts = (op.strided_slice(column, [0], *part) for part in _halves(node, batch))
                hidden = op.logical_or(op.greater_equal(places, ends), op.less(places, starts))
            return op.expand_dims(hidden, [1, 2])
        case 2 | 3:
            return op.expand_dims(op.less_equal(mask, 0), [1, 2] if len(sizes) == 2 else 1)
        case _:
            refuse("a mask of four dimensions; give one for each key, or an attention bias")


def _halves(node: OnnxNode, batch: Size) -> list[tuple[list[Any], list[Any]]]:
    cut, end = map(size_argument, (batch, 2 * batch))
    return [([0], [cut]), ([cut], [end])]


def _bias(
    node: OnnxNode, mask: Tensor | None, more: Tensor | None, shape: Sequence[Size], before: Operand
) -> Operand | None:
    """Return what is added to the likeness of keys: of masks, of what comes later, and a tensor."""
    batch, queries, keys = shape
    amount = node.number("mask_filter_value", HIDDEN)
    parts: list[Operand] = []
    if mask is not None:
        parts.append(penalty(_mask(node, mask, batch, queries, keys), amount))
    if node.flag("unidirectional"):
        parts.append(penalty(is_hidden_later(queries, keys, before), LOWEST))
    if more is not None:
        parts.append(more)
    total = parts[0] if parts else None
    for part in parts[1:]:
        total = op.add(total, part)  # pyright: ignore[reportArgumentType]
    return total


def _widths(node: OnnxNode, columns: Size) -> list[int]:
    """Return the widths of queries, keys and values beside each other."""
    given = node.integers("qkv_hidden_sizes")
    if given:
        return given
    return [node.closed(columns // 3, "queries, keys and values of dynamic width: {}")] * 3


def _parts(x: Operand, widths: Sequence[int], axis: int = -1) -> list[Operand]:
    starts = [sum(widths[:i]) for i in range(len(widths))]
    return [op.strided_slice(x, [axis], [a], [a + n]) for a, n in zip(starts, widths, strict=True)]


def _attention(
    node: OnnxNode, projected: Tensor, mask: Tensor | None, past: Tensor | None, more: Tensor | None
) -> list[Operand]:
    """Return the results of attention of a text to itself, given its queries, keys and values beside each other."""
    batch, queries, columns = node.shape(projected)
    heads = node.integer("num_heads")
    q, k, v = (in_heads(node, part, heads) for part in _parts(projected, _widths(node, columns)))
    old_k, old_v = (
        (None, None) if past is None else (op.squeeze(op.strided_slice(past, [0], [i], [i + 1]), 0) for i in (0, 1))
    )
    before: Size = 0 if past is None else node.shape(past)[3]
    k, v = node.tensor(joined_places(old_k, k)), node.tensor(joined_places(old_v, v))
    bias = _bias(node, mask, more, (batch, queries, before + queries), Known(before))
    y = joined_heads(node, attended(node, q, k, v, node.number("scale") or None, bias))
    if node.output_count < 2:
        return [y]
    return [y, op.concat(*(op.expand_dims(x, 0) for x in (k, v)), axis=0)]


@imports("Attention", domain=MICROSOFT)
def attention(
    node: OnnxNode,
    x: Tensor,
    weights: Tensor,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
    past: Tensor | None = None,
    more: Tensor | None = None,
    length: Tensor | None = None,
) -> list[Operand]:
    """Attention of a text to itself, with the projections of queries, keys and values."""
    _expect_plain(node, "do_rotary", "past_present_share_buffer")
    projected = op.matmul(x, weights)
    projected = projected if bias is None else op.add(projected, bias)
    return _attention(node, node.tensor(projected), mask, past, more)


@imports("QAttention", domain=MICROSOFT)
def quantized_attention(
    node: OnnxNode,
    x: Tensor,
    weights: Tensor,
    bias: Tensor,
    scale_x: Tensor,
    scale_w: Tensor,
    mask: Tensor | None = None,
    zero_x: Tensor | None = None,
    zero_w: Tensor | None = None,
    past: Tensor | None = None,
) -> list[Operand]:
    """Attention whose projections are products of integers."""
    _expect_plain(node, "do_rotary", "past_present_share_buffer")
    total = op.matmul(centred(node, x, zero_x), centred(node, weights, zero_w, COLUMNS))
    scale = op.multiply(one_number(node, scale_x), placed(node, scale_w, COLUMNS))
    projected = op.add(op.multiply(op.astype(total, f32), scale), bias)
    return _attention(node, node.tensor(projected), mask, past, None)


@imports("MultiHeadAttention", domain=MICROSOFT)
def multi_head_attention(
    node: OnnxNode,
    query: Tensor,
    key: Tensor | None = None,
    value: Tensor | None = None,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
    more: Tensor | None = None,
    past_key: Tensor | None = None,
    past_value: Tensor | None = None,
    length: Tensor | None = None,
    order: Tensor | None = None,
) -> list[Operand]:
    """Attention of queries to keys and values that are given apart, beside each other, or that come in heads."""
    if order is not None or node.output_count > 3:
        refuse("beams that share caches, and likeness as a result; export the model without them")
    if key is None:
        query, key, value = _beside(node, query, 3)
    elif value is None:
        key, value = _beside(node, key, 2)
    if node.rank(query) != 3:
        refuse(f"expected queries of three dimensions, found {node.rank(query)}")
    heads = node.integer("num_heads")
    parts: list[Operand] = [query, key, value]
    if bias is not None:
        widths = [
            node.closed(node.shape(x)[-1] if node.rank(x) == 3 else node.shape(x)[1] * node.shape(x)[3], "width {}")
            for x in (query, key, value)
        ]
        added = _parts(bias, widths, 0)
        parts = [op.add(x, b) if node.rank(x) == 3 else x for x, b in zip(parts, added, strict=True)]
    q, k, v = (in_heads(node, x, heads) if node.rank(x) == 3 else x for x in parts)
    batch, queries, _ = node.shape(query)
    if length is not None and past_key is not None and past_value is not None:
        first = node.tensor(op.reshape(op.astype(length, i64), [1]))
        k, v = (_written(node, past, x, first) for past, x in ((past_key, k), (past_value, v)))
        # What lies behind the new places may be anything, as NaN.
        end = _end(node, first, queries, mask, more)
        seen = [node.tensor(op.strided_slice(x, [2], [0], [end])) for x in (k, v)]
        before: Operand = first
    else:
        before = Known(0 if past_key is None else node.shape(past_key)[2])
        k, v = node.tensor(joined_places(past_key, k)), node.tensor(joined_places(past_value, v))
        seen = [k, v]
    total = _bias(node, mask, more, (batch, queries, node.shape(seen[0])[2]), before)
    y = joined_heads(node, attended(node, q, seen[0], seen[1], node.number("scale") or None, total))
    return [y, k, v][: max(node.output_count, 1)]


def _beside(node: OnnxNode, x: Tensor, count: int) -> list[Tensor]:
    """Return queries, keys and values of heads that are beside each other in a tensor."""
    if node.rank(x) != 5:
        refuse(f"expected {count} tensors in one of five dimensions, found {node.rank(x)}")
    batch, places, heads, _, width = node.shape(x)
    parts = (op.strided_slice(x, [3], [i], [i + 1]) for i in range(count))
    return [node.tensor(node.reshape(part, [batch, places, heads * width])) for part in parts]


def _written(node: OnnxNode, past: Tensor, new: Operand, length: Tensor) -> Tensor:
    """Return a cache with heads of new places after as many as it has."""
    fresh = node.shape(new)[2]
    places = op.add(numbers_below(fresh), length)
    expect_in_range(node, node.tensor(places), node.shape(past)[2], from_end=False)
    return node.tensor(op.scatter_nd(past, op.expand_dims(places, 1), new, axis=2))


def _end(node: OnnxNode, length: Tensor, queries: Size, mask: Tensor | None, more: Tensor | None) -> int | str:
    """Return how many places of a cache have keys: as many as a mask, or a bias, has numbers for, if one is given."""
    total = op.add(length, Known(queries))
    ends = [node.shape(x)[-1] for x in (mask, more) if x is not None and node.rank(x) > 1]
    for end in ends:
        message = f"expected a mask, or a bias, of as many keys as there are with the new ones, found {end}"
        node.expect(op.reshape(op.equal(total, Known(end)), []), message)
    end = ends[0] if ends else node.sizes(total, "a number of places")[0]
    return size_argument(end)


@imports("DecoderMaskedMultiHeadAttention", domain=MICROSOFT)
def attention_of_a_step(
    node: OnnxNode,
    query: Tensor,
    key: Tensor | None = None,
    value: Tensor | None = None,
    mask: Tensor | None = None,
    more: Tensor | None = None,
    past_key: Tensor | None = None,
    past_value: Tensor | None = None,
    length: Tensor | None = None,
    beams: Tensor | None = None,
    order: Tensor | None = None,
    bias: Tensor | None = None,
) -> list[Operand]:
    """Attention of one place of each text."""
    if key is None:
        width = node.closed(node.shape(query)[2], "queries, keys and values of dynamic width: {}") // 3
        query, key, value = (node.tensor(part) for part in _parts(query, [width] * 3))
    is_shared = node.flag("past_present_share_buffer")
    if is_shared and past_key is not None and length is None:
        refuse("expected the length of caches that inputs share with results, found none", "past_present_share_buffer")
    shared = length if is_shared else None
    return multi_head_attention(node, query, key, value, bias, mask, more, past_key, past_value, shared, order)


def _angles(node: OnnxNode, tables: tuple[Tensor, Tensor], places: Tensor) -> tuple[Operand, Operand]:
    """Return the rows of tables of cosines and sines for places of each text, for all heads."""
    for table in tables:
        expect_in_range(node, places, node.shape(table)[0], from_end=False)
    cos, sin = (op.expand_dims(op.take(table, places, 0), 1) for table in tables)
    return cos, sin


@imports("RotaryEmbedding", domain=MICROSOFT)
def rotary_embedding(node: OnnxNode, x: Tensor, positions: Tensor, cos: Tensor, sin: Tensor) -> Operand:
    """Heads that are turned by angles that depend on the place."""
    _expect_plain(node, "is_packed_batching")
    width = node.closed(node.shape(cos)[1], "angles of dynamic number: {}") * 2
    is_flat = node.rank(x) == 3
    heads = node.integer("num_heads")
    if is_flat and not (heads and node.integer("rotary_embedding_dim")):
        heads = node.closed(node.shape(x)[2], "heads of dynamic width: {}") // width
    split = in_heads(node, x, heads) if is_flat else x
    places = op.astype(positions, i64)
    if node.rank(positions) == 1:
        places = op.add(op.expand_dims(numbers_below(node.shape(split)[2]), 0), op.expand_dims(places, 0))
    angles = _angles(node, (cos, sin), node.tensor(places))
    y = rotated(node, split, angles, node.flag("interleaved"))
    return joined_heads(node, y) if is_flat else y


@imports("GroupQueryAttention", domain=MICROSOFT)
def group_query_attention(
    node: OnnxNode,
    query: Tensor,
    key: Tensor | None,
    value: Tensor | None,
    past_key: Tensor | None,
    past_value: Tensor | None,
    last_places: Tensor,
    total_length: Tensor,
    cos: Tensor | None = None,
    sin: Tensor | None = None,
    positions: Tensor | None = None,
    more: Tensor | None = None,
    sink: Tensor | None = None,
    *others: Tensor,
) -> list[Operand]:
    """Attention to keys and values of fewer heads than queries, which a cache keeps; what comes later is hidden."""
    _expect_plain(node, "kv_cache_bit_width", "qk_output", "sliding_window_cache")
    if others or node.output_count > 3:
        refuse("scales of caches, norms of queries, and likeness as a result; export the model without them")
    heads, groups = node.integer("num_heads"), node.integer("kv_num_heads")
    if min(heads, groups) < 1:
        refuse(f"expected one head or more, found {heads} of queries and {groups} of keys")
    parts: list[Operand] = [query, key, value]  # pyright: ignore[reportAssignmentType]
    if key is None:
        width = node.closed(node.shape(query)[-1], "heads of dynamic width: {}") // (heads + 2 * groups)
        parts = _parts(query, [heads * width, groups * width, groups * width])
    q, k, v = (in_heads(node, x, n) for x, n in zip(parts, (heads, groups, groups), strict=True))
    queries = node.shape(query)[1]
    counts = op.add(op.reshape(op.astype(last_places, i64), [-1, 1]), 1)
    # At first, texts may be shorter than the longest one; later, new places come after the places of each text.
    before = op.maximum(op.subtract(counts, Known(queries)), 0)
    if node.flag("do_rotary"):
        if cos is None or sin is None:
            refuse("rotary positions without tables of angles", "do_rotary")
        places = op.add(op.expand_dims(numbers_below(queries), 0), before) if positions is None else positions
        angles = _angles(node, (cos, sin), node.tensor(op.astype(places, i64)))
        q, k = (rotated(node, x, angles, node.flag("rotary_interleaved")) for x in (q, k))
    if past_key is not None and past_value is not None:
        total = node.known_size(total_length, "a total length, such as the size of a mask")
        length = larger(total, node.shape(past_key)[2])
        k, v = (_appended(node, past, x, before, length) for past, x in ((past_key, k), (past_value, v)))
    k, v = node.tensor(k), node.tensor(v)
    bias = penalty(op.expand_dims(_hidden(node, queries, node.shape(k)[2], before, counts), 1), float("-inf"))
    bias = bias if more is None else op.add(bias, more)
    times = heads // groups
    if sink is None and node.flag("smooth_softmax"):
        sink = node.like(np.zeros(heads), q)
    y = attended(
        node,
        q,
        repeated_heads(node, k, times),
        repeated_heads(node, v, times),
        node.number("scale") or None,
        bias,
        cap=node.number("softcap"),
        safe=True,
        sink=sink,
    )
    return [joined_heads(node, y), k, v]


def _hidden(node: OnnxNode, queries: Size, keys: Size, before: Operand, counts: Operand) -> Operand:
    """Return which keys are hidden from queries of each text: those that come later, that are beyond the text, or too
    far before."""
    first, last = op.expand_dims(before, 1), op.expand_dims(counts, 1)
    hidden = op.logical_or(is_hidden_later(queries, keys, first), op.greater_equal(numbers_below(keys), last))
    window = node.integer("local_window_size", -1)
    if window <= 0:
        return hidden
    is_near = is_hidden_later(queries, keys, op.subtract(first, window))
    return op.logical_or(hidden, op.logical_not(is_near))


def _appended(node: OnnxNode, past: Tensor, new: Operand, before: Operand, length: Size) -> Operand:
    """Return heads of new places after as many of a cache as each text has."""
    batch, groups, old, width = node.shape(past)
    fresh = node.shape(new)[2]
    place = op.expand_dims(numbers_below(length), 0)
    inside = op.less(op.subtract(place, before), Known(fresh))
    shape = [batch, groups, length, width]

    def everywhere(x: Operand) -> Operand:
        return node.broadcast_to(op.expand_dims(x, [1, 3]), shape)

    index = op.minimum(op.maximum(op.subtract(place, before), 0), op.subtract(Known(fresh), 1))
    taken = op.gather_elements(new, everywhere(index), 2)
    rest = node.full([batch, groups, length - old, width], 0, past.element_type)
    kept = op.where(everywhere(op.less(place, before)), op.concat(past, rest, axis=2), taken)
    return op.where(everywhere(inside), kept, node.like(0, past))
