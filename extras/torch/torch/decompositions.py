"""Operators expressed by others for which torch has no rule, such as layers that it computes in one step, or a wrong
one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import repeat
from math import nan
from typing import Any

from relex.frontend.torch.library import torch

OF_EACH_QUERY, OF_EACH_BATCH = 0, 1
"""The kinds of masks that do not have all four dimensions: rows of keys for each query, and a row for each batch."""


def _attention(
    query: Any,
    key: Any,
    value: Any,
    width: int,
    heads: int,
    weight: Any,
    bias: Any,
    last_weight: Any,
    last_bias: Any,
    mask: Any = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Any, Any]:
    """Return the results of attention with several heads, and the weights of the values. A mask hides where it is not
    zero."""
    parts = zip((query, key, value), weight.chunk(3), bias.chunk(3), strict=True)
    q, k, v = (
        torch.nn.functional.linear(x, w, b).unflatten(-1, (heads, width // heads)).transpose(1, 2) for x, w, b in parts
    )
    scores = (q * (width // heads) ** -0.5) @ k.mT
    if mask is not None:
        hidden = mask.to(torch.bool)
        if mask_type == OF_EACH_BATCH:
            hidden = hidden.view(hidden.shape[0], 1, 1, -1)
        scores = scores.masked_fill(hidden, float("-inf"))
    shares = scores.softmax(-1)
    joined = (shares @ v).transpose(1, 2).flatten(2)
    found = torch.nn.functional.linear(joined, last_weight, last_bias)
    if not need_weights:
        return found, query.new_empty(0)
    return found, shares.mean(1) if average_attn_weights else shares


def _encoder_layer(
    x: Any,
    width: int,
    heads: int,
    weight: Any,
    bias: Any,
    last_weight: Any,
    last_bias: Any,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Any,
    norm_bias_1: Any,
    norm_weight_2: Any,
    norm_bias_2: Any,
    ffn_weight_1: Any,
    ffn_bias_1: Any,
    ffn_weight_2: Any,
    ffn_bias_2: Any,
    mask: Any = None,
    mask_type: int | None = None,
) -> Any:
    """Return the result of a layer of a transformer's encoder."""
    functional = torch.nn.functional

    def first(y: Any) -> Any:
        return functional.layer_norm(y, (width,), norm_weight_1, norm_bias_1, eps)

    def second(y: Any) -> Any:
        return functional.layer_norm(y, (width,), norm_weight_2, norm_bias_2, eps)

    def attend(y: Any) -> Any:
        weights = weight, bias, last_weight, last_bias
        return _attention(y, y, y, width, heads, *weights, mask, need_weights=False, mask_type=mask_type)[0]

    def feed(y: Any) -> Any:
        inner = functional.linear(y, ffn_weight_1, ffn_bias_1)
        inner = functional.gelu(inner) if use_gelu else functional.relu(inner)
        return functional.linear(inner, ffn_weight_2, ffn_bias_2)

    if norm_first:
        x = x + attend(first(x))
        return x + feed(second(x))
    x = first(x + attend(x))
    return second(x + feed(x))


def _multilabel_margin_loss(x: Any, target: Any, reduction: int) -> tuple[Any, Any]:
    """Return how far each class without a label is above each label of its row less 1, and which classes have a label.
    Labels end at the first -1. Torch's own rule counts what comes after it as the first class."""
    rows, labels = torch.atleast_2d(x), torch.atleast_2d(target)
    classes = rows.shape[1]
    is_label = (labels == -1).cumsum(1) == 0
    torch._assert_async(((labels >= -1) & (labels < classes)).all(), "expected labels from -1 to the number of classes")
    places = torch.where(is_label, labels, 0)
    has_label = ((places.unsqueeze(2) == torch.arange(classes)) & is_label.unsqueeze(2)).any(1)
    above = 1.0 - rows.gather(1, places).unsqueeze(2) + rows.unsqueeze(1)
    counts = is_label.unsqueeze(2) & ~has_label.unsqueeze(1) & (above > 0)
    losses = torch.where(counts, above / classes, 0.0).sum((1, 2))
    found = (losses.reshape(x.shape[:-1]), losses.mean(), losses.sum())[reduction]
    return found, has_label.to(x.dtype).reshape(x.shape)


def _distances(x: Any, order: float = 2) -> Any:
    """Return the norms of the differences between each row and each later one."""
    if x.shape[0] == 0:
        return x.new_empty(0)
    first, second = torch.triu_indices(x.shape[0], x.shape[0], 1)
    differences = x[first] - x[second]
    found = torch.linalg.vector_norm(differences, order, -1)
    # Torch counts what is not zero, but here not NaN.
    return torch.where(differences.isnan().any(-1), nan, found) if order == 0 else found


_OF_LISTS = (
    "abs acos add asin atan ceil clamp_max clamp_min clone cos cosh div erf erfc exp expm1 floor frac lerp lgamma log "
    "log10 log1p log2 max mm mul neg pow reciprocal round rsqrt sigmoid sign sin sinh sqrt sub tan tanh trunc"
)
"""Functions that torch has for lists of tensors, as optimizers use them, too."""


def _functions_of_lists() -> Mapping[str, Callable[..., Any]]:
    """Return what functions of lists compute from an element of each list."""
    return {
        **{name: getattr(torch, name) for name in _OF_LISTS.split()},
        "addcdiv": _with_value(torch.addcdiv),
        "addcmul": _with_value(torch.addcmul),
        "copy": _copy,
        "maximum": _maximum,
        "minimum": _minimum,
        "norm": _norm,
        "powsum": _sum_of_powers,
        "zero": torch.zeros_like,
    }


def _copy(old: Any, new: Any, non_blocking: bool = False) -> Any:
    return new.to(old.dtype).expand(old.shape).clone()


def _maximum(x: Any, y: Any) -> Any:
    return torch.maximum(x, y) if isinstance(y, torch.Tensor) else torch.clamp_min(x, y)


def _minimum(x: Any, y: Any) -> Any:
    return torch.minimum(x, y) if isinstance(y, torch.Tensor) else torch.clamp_max(x, y)


def _norm(x: Any, order: float = 2, dtype: Any = None) -> Any:
    return torch.linalg.vector_norm(x, order, dtype=dtype)


def _sum_of_powers(x: Any, order: float = 2, dtype: Any = None) -> Any:
    return x.abs().to(dtype or x.dtype).pow(order).sum()


def _with_value(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose last argument has a name, as one that has none."""

    def named(x: Any, y: Any, z: Any, value: Any = 1) -> Any:
        return function(x, y, z, value=value)

    return named


def _for_each(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of lists, whose other arguments are the same for all elements."""

    def of_lists(*given: Any, **settings: Any) -> list[Any]:
        lists = [isinstance(x, list | tuple) for x in given]
        number = len(given[lists.index(True)])
        columns: list[Any] = [x if is_list else repeat(x, number) for x, is_list in zip(given, lists, strict=True)]
        return [function(*row, **settings) for row in zip(*columns, strict=True)]

    return of_lists


def _rules_of_lists() -> Iterator[tuple[Any, Callable[..., Any]]]:
    for name, function in _functions_of_lists().items():
        packet = getattr(torch.ops.aten, f"_foreach_{name}")
        for overload in packet.overloads():
            # Torch itself cannot trace a tensor of values.
            if not overload.endswith("out") and not (name in ("addcdiv", "addcmul") and overload == "Tensor"):
                yield getattr(packet, overload), _for_each(function)


def rules() -> Mapping[Any, Callable[..., Any]]:
    """Return the rules by the operator's overload."""
    aten = torch.ops.aten
    return {
        **dict(_rules_of_lists()),
        aten._native_multi_head_attention.default: _attention,
        aten._pdist_forward.default: _distances,
        aten._transformer_encoder_layer_fwd.default: _encoder_layer,
        aten.multilabel_margin_loss_forward.default: _multilabel_margin_loss,
    }
