"""Layers that ONNX Runtime's optimizer makes of networks that generate images, `com.microsoft`: their channels are the
last dimension."""

from __future__ import annotations

from xdsl.dialects.builtin import f32

from relex.dialects.sizes import count
from relex.frontend import op
from relex.frontend.compositions import activations
from relex.frontend.compositions.softmax import standardized
from relex.frontend.onnx import OnnxNode, Operand, Tensor, imports, refuse
from relex.frontend.onnx.operators.fused_layers import fused_conv
from relex.frontend.onnx.operators.quantized_layers import MICROSOFT
from relex.frontend.onnx.operators.windows import in_channels_last


@imports("GroupNorm", domain=MICROSOFT)
def group_norm(node: OnnxNode, x: Tensor, gamma: Tensor, beta: Tensor) -> Operand:
    """Normalization of groups of channels, and a function of it."""
    sizes, groups = list(node.shape(x)), node.integer("groups")
    is_last = node.integer("channels_last", 1)
    channels = node.closed(sizes[-1 if is_last else 1], "groups of a dynamic number of channels: {}")
    if groups < 1 or channels % groups:
        refuse(f"expected groups of equal size, found {groups} of {channels} channels", "groups")
    pixels = count(sizes[1:-1] if is_last else sizes[2:])
    width, wide = channels // groups, op.astype(x, f32)
    split = [sizes[0], pixels, groups, width] if is_last else [sizes[0], groups, width, pixels]
    normal, _, _ = standardized(node.reshape(wide, split), [1, 3] if is_last else [2, 3], node.number("epsilon", 1e-5))
    others = [] if is_last else [*range(1, node.rank(x) - 1)]
    scale, shift = (op.expand_dims(op.astype(p, f32), others) if others else op.astype(p, f32) for p in (gamma, beta))
    y = op.add(op.multiply(node.reshape(normal, sizes), scale), shift)
    return op.astype(activations.swish(y, 1.0) if node.integer("activation") else y, x.element_type)


@imports("SkipGroupNorm", domain=MICROSOFT)
def skip_group_norm(
    node: OnnxNode, x: Tensor, gamma: Tensor, beta: Tensor, skip: Tensor, bias: Tensor | None = None
) -> list[Operand]:
    """Normalization of groups of a sum, and the sum."""
    if node.rank(skip) == 2:
        skip = node.tensor(op.expand_dims(skip, [1, 2] if node.integer("channels_last", 1) else [2, 3]))
    total = op.add(x, skip)
    if bias is not None:
        total = op.add(total, bias if node.integer("channels_last", 1) else op.expand_dims(bias, [1, 2]))
    summed = node.tensor(total)
    return [group_norm(node, summed, gamma, beta), summed]


@imports("BiasAdd", domain=MICROSOFT)
def bias_add(node: OnnxNode, x: Tensor, bias: Tensor, skip: Tensor) -> Operand:
    """A sum of three tensors."""
    return op.add(op.add(x, bias), skip)


@imports("BiasSplitGelu", domain=MICROSOFT)
def gated_gelu(node: OnnxNode, x: Tensor, bias: Tensor) -> Operand:
    """The first half of a sum times a function of its second half."""
    width = node.closed(node.shape(x)[-1], "halves of a dynamic size: {}") // 2
    total = op.add(x, bias)
    left, right = (op.strided_slice(total, [-1], [start], [start + width]) for start in (0, width))
    return op.multiply(left, op.gelu(right))


@imports("NhwcConv", "NhwcFusedConv", domain=MICROSOFT)
def conv_of_channels_last(
    node: OnnxNode, x: Tensor, weight: Tensor, bias: Tensor | None = None, other: Tensor | None = None
) -> Operand:
    """A function of a convolution, to which a tensor may be added. The channels of the weight come first."""
    last = node.rank(x) - 1
    more = None if other is None else node.tensor(op.permute_dims(other, [0, last, *range(1, last)]))
    return in_channels_last(node, lambda data: fused_conv(node, data, weight, bias, more), x)
