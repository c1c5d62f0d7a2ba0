"""Rules for operators whose inputs are matrices, images, positions, sequences or quantized numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from schema_draws import Draw
from schema_rules import rule, sizes_without

# Products.


@rule("MatMul", "MatMulInteger")
def matmul(draw: Draw) -> None:
    """Matrices, stacks of them, or vectors."""
    n, k, m = (draw.pick(0, 1, 2, 3, 5) for _ in range(3))
    batch = draw.shape(0, 2, (1, 2, 3))
    left, right = (*draw.narrowed(batch), n, k), (*draw.narrowed(batch), k, m)
    if draw.operator.name == "MatMul":
        left, right = (shape[-1:] if draw.chance(0.15) else shape for shape in (left, right))
        right = (k,) if len(right) == 1 else right
    draw.data("A", left)
    draw.data("B", right)
    for name, size in (("a_zero_point", n), ("b_zero_point", m)):
        draw.optional(name, draw.pick((), (1,), (size,)))


@rule("Gemm")
def gemm(draw: Draw) -> None:
    """Two matrices and an addend that broadcasts."""
    n, k, m = (draw.pick(0, 1, 2, 3, 5) for _ in range(3))
    whole = draw.dtype("A").kind in "iu"
    shapes: dict[str, tuple[int, ...]] = {}
    shapes["A"] = (k, n) if draw.flag("transA") else (n, k)
    shapes["B"] = (m, k) if draw.flag("transB") else (k, m)
    if draw.version < 11 or draw.chance(0.7):
        shapes["C"] = draw.narrowed((n, m))
    for name, shape in shapes.items():
        # The reference multiplies integers as floats.
        draw.data(name, shape, draw.integers(0, 9, shape) if whole else None)
    draw.choose("alpha", *((1.0, 2.0) if whole else (0.5, 2.0)))
    draw.choose("beta", *((1.0, 3.0) if whole else (0.5, 0.0)))


@rule("Det")
def determinant(draw: Draw) -> None:
    """Square matrices."""
    size = draw.pick(1, 2, 3, 5)
    draw.data("X", (*draw.shape(0, 2), size, size))


@rule("Einsum")
def einsum(draw: Draw) -> None:
    """Some equations."""
    equations = ("ij,jk->ik", "ij->ji", "ij->", "ii->i", "bij,bjk->bik", "i,j->ij", "ij,ij->i", "...ij,...jk->...ik")
    equation = draw.attributes["equation"] = draw.pick(*equations, "bij,bkj", "ijk->kj", "ab,bc,cd->ad")
    sizes = dict(zip("abcdijk", sizes_without(draw, 7, (0, 1, 2, 3)), strict=True))
    for term in equation.partition("->")[0].split(","):
        letters = term.replace("...", "")
        draw.data("Inputs", (*((2,) if "..." in term else ()), *(sizes[letter] for letter in letters)))


# Windows.


def windows(draw: Draw, pixels: Sequence[int], kernel: Sequence[int], pad: bool = True) -> None:
    """Give strides, pads and dilations, so that there is a window at least."""
    rank = len(kernel)
    if draw.has("dilations") and draw.chance(0.3):
        dilations = [draw.pick(1, 2) for _ in kernel]
        if all((k - 1) * d < size for k, d, size in zip(kernel, dilations, pixels, strict=True)):
            draw.attributes["dilations"] = dilations
    if draw.chance(0.5):
        draw.attributes["strides"] = [draw.pick(1, 2, 3) for _ in range(rank)]
    way = draw.pick("NOTSET", "NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
    if not pad or not draw.has("auto_pad"):
        return
    if way != "NOTSET" or draw.chance(0.2):
        draw.attributes["auto_pad"] = way
    if way == "NOTSET" and draw.chance(0.6):
        draw.attributes["pads"] = [draw.between(0, k - 1) for k in (*kernel, *kernel)]
    if draw.has("ceil_mode"):
        draw.choose("ceil_mode", 0, 1)


def image(draw: Draw, channels: int | None = None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape of images of one to three dimensions, and one of windows inside them."""
    rank = draw.random.choices((1, 2, 3), (3, 5, 1))[0]
    pixels = sizes_without(draw, rank, (1, 2, 3, 5) if rank < 3 else (1, 2, 3))
    kernel = tuple(draw.between(1, min(size, 3)) for size in pixels)
    return (draw.pick(0, 1, 1, 2), draw.pick(1, 2, 3) if channels is None else channels, *pixels), kernel


@rule("Conv", "ConvInteger", "QLinearConv")
def convolution(draw: Draw) -> None:
    """Channels in groups, and windows."""
    group = draw.pick(1, 1, 2, 3)
    inputs, outputs = (group * draw.pick(1, 2) for _ in range(2))
    shape, kernel = image(draw, inputs)
    x, w = ("X", "W") if draw.takes("X") else ("x", "w")
    draw.data(x, shape)
    draw.data(w, (outputs, inputs // group, *kernel))
    if group > 1 or draw.chance(0.2):
        draw.attributes["group"] = group
    if draw.chance(0.5):
        draw.attributes["kernel_shape"] = list(kernel)
    windows(draw, shape[2:], kernel)
    match draw.operator.name:
        case "Conv":
            draw.optional("B", (outputs,))
        case "ConvInteger":
            draw.optional("x_zero_point", draw.pick((), (1,)))
            draw.optional("w_zero_point", draw.pick((), (outputs,)))
        case _:
            scales(draw, "x_scale", "x_zero_point", ())
            scales(draw, "w_scale", "w_zero_point", draw.pick((), (outputs,)))
            scales(draw, "y_scale", "y_zero_point", ())
            draw.optional("B", (outputs,))


def scales(draw: Draw, scale: str, zero: str, shape: Sequence[int]) -> None:
    """Give a scale and a zero point."""
    draw.data(scale, shape, draw.uniform(0.05, 1, shape))
    draw.data(zero, shape)


@rule("ConvTranspose")
def transposed(draw: Draw) -> None:
    """Channels in groups, and windows."""
    group = draw.pick(1, 1, 2)
    inputs, outputs = (group * draw.pick(1, 2) for _ in range(2))
    shape, kernel = image(draw, inputs)
    draw.data("X", shape)
    draw.data("W", (inputs, outputs // group, *kernel))
    draw.optional("B", (outputs,))
    if group > 1:
        draw.attributes["group"] = group
    strides = [draw.pick(1, 2, 3) for _ in kernel]
    draw.attributes["strides"] = strides
    if draw.chance(0.3):
        draw.attributes["dilations"] = [draw.pick(1, 2) for _ in kernel]
    match draw.pick("pads", "auto", "none", "shape"):
        case "pads":
            draw.attributes["pads"] = [draw.between(0, (k - 1) // 2) for k in (*kernel, *kernel)]
            if draw.chance(0.4):
                draw.attributes["output_padding"] = [draw.between(0, s - 1) for s in strides]
        case "auto":
            draw.attributes["auto_pad"] = draw.pick("SAME_UPPER", "SAME_LOWER", "VALID")
        case "shape":
            full = [s * (size - 1) + k for s, size, k in zip(strides, shape[2:], kernel, strict=True)]
            draw.attributes["output_shape"] = [draw.between(max(1, n - 2), n) for n in full]
            draw.attributes.pop("dilations", None)
        case _:
            pass


@rule("AveragePool", "MaxPool", "LpPool")
def pools(draw: Draw) -> None:
    """Windows, and where the maxima are."""
    shape, kernel = image(draw)
    draw.data("X", shape)
    draw.attributes["kernel_shape"] = list(kernel)
    windows(draw, shape[2:], kernel)
    draw.choose("storage_order", 0, 1)


@rule("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pools(draw: Draw) -> None:
    """All pixels."""
    draw.data("X", image(draw)[0])


@rule("MaxUnpool")
def unpooled(draw: Draw) -> None:
    """Different places, in windows that do not overlap."""
    n, c, h, w = draw.pick(1, 2), draw.pick(1, 2), draw.pick(1, 2, 3), draw.pick(1, 2, 3)
    shape = (n, c, h, w)
    draw.data("X", shape)
    draw.data("I", shape, lambda: draw.numbers.permutation(n * c * h * w * 4)[: n * c * h * w])
    draw.attributes["kernel_shape"] = [2, 2]
    draw.attributes["strides"] = [2, 2]


@rule("Col2Im")
def columns(draw: Draw) -> None:
    """Blocks, one for each place in an image."""
    size, block = (draw.pick(3, 5), draw.pick(3, 5)), (draw.pick(1, 2), draw.pick(1, 3))
    strides = [draw.pick(1, 2) for _ in block]
    places = [(s - b) // step + 1 for s, b, step in zip(size, block, strides, strict=True)]
    draw.data("input", (draw.pick(1, 2), draw.pick(1, 2) * block[0] * block[1], places[0] * places[1]))
    draw.fixed("image_shape", size)
    draw.fixed("block_shape", block)
    draw.attributes["strides"] = strides


# Images.


@rule("Resize", "Upsample")
def resized(draw: Draw) -> None:
    """Scales or sizes, for all dimensions or some."""
    rank = draw.pick(1, 2, 3, 4)
    shape = sizes_without(draw, rank, (1, 2, 3, 5))
    image = range(max(rank - 2, 0), rank)
    factors = [draw.pick(1.0, 2.0, 1.5, 0.6, 3.0) if d in image else 1.0 for d in range(rank)]
    if draw.operator.name == "Upsample":
        factors = [max(factor, 1.0) for factor in factors]
    modes = ["nearest", "linear"] + ["cubic", "cubic"] * (draw.version >= 11 and rank >= 2)
    mode = draw.choose("mode", *modes)
    draw.data("X", shape)
    ways = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    if draw.version >= 19:
        ways.append("half_pixel_symmetric")
    draw.choose("coordinate_transformation_mode", *ways)
    if mode == "nearest":
        draw.choose("nearest_mode", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    if mode == "cubic":
        draw.choose("cubic_coeff_a", -0.5)
    if mode == "cubic":
        draw.choose("exclude_outside", 0, 1)
    if mode != "nearest":
        draw.choose("antialias", 0, 1)
    axes = list(range(rank))
    if draw.has("axes") and draw.chance(0.4):
        axes = list(image)
        draw.attributes["axes"] = axes
    if draw.takes("sizes") and draw.chance(0.5):
        if draw.has("keep_aspect_ratio_policy") and axes == list(image):
            draw.choose("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller")
        if draw.version < 13:
            draw.fixed("scales", np.zeros(0, np.float32))
        draw.fixed("sizes", [max(1, int(shape[a] * factors[a])) for a in axes])
    else:
        draw.fixed("scales", np.array([factors[a] for a in axes], np.float32))
    if draw.version < 13:
        draw.fixed("roi", np.zeros(0, np.float32))


@rule("GridSample")
def grid(draw: Draw) -> None:
    """Positions inside and a little outside."""
    rank = 2 if draw.version < 20 else draw.pick(2, 3)
    n = draw.pick(1, 2)
    shape = (n, draw.pick(1, 3), *sizes_without(draw, rank, (1, 2, 3, 5)))
    places = (n, *sizes_without(draw, rank, (1, 2, 3)), rank)
    names = ["bilinear", "nearest", "bicubic"] if draw.version < 20 else ["linear", "nearest", "cubic"]
    draw.choose("mode", *(names if rank == 2 else names[:2]))
    draw.choose("padding_mode", "zeros", "border", "reflection")
    draw.data(draw.schema.inputs[0].name, shape)
    draw.data("grid", places, draw.uniform(-1.3, 1.3, places))


@rule("AffineGrid")
def affine(draw: Draw) -> None:
    """A matrix for each image."""
    rank, n = draw.pick(2, 3), draw.pick(1, 2)
    draw.data("theta", (n, rank, rank + 1))
    draw.fixed("size", [n, 1, *sizes_without(draw, rank)])


@rule("RoiAlign")
def regions(draw: Draw) -> None:
    """Regions of images."""
    n, c, count = draw.pick(1, 2), draw.pick(1, 2), draw.pick(1, 2, 3)
    draw.data("X", (n, c, 5, 5))
    corners = [draw.uniform(0, 2, (count, 2)), draw.uniform(2.5, 4.5, (count, 2))]
    draw.data("rois", (count, 4), lambda: np.concatenate([corner() for corner in corners], 1))
    draw.data("batch_indices", (count,), draw.integers(0, n, (count,)))
    draw.attributes.update(
        output_height=draw.pick(1, 2), output_width=draw.pick(1, 3), sampling_ratio=draw.pick(0, 1, 2)
    )
    draw.choose("mode", "avg", "max")
    draw.choose("spatial_scale", 0.5)
    draw.choose("coordinate_transformation_mode", "half_pixel", "output_half_pixel")


@rule("MaxRoiPool")
def pooled_regions(draw: Draw) -> None:
    """Regions of images."""
    draw.data("X", (1, 2, 5, 5))
    draw.data("rois", (2, 5), lambda: np.array([[0, 0, 0, 3, 3], [0, 1, 1, 4, 4]]))
    draw.attributes["pooled_shape"] = [2, 2]


@rule("DeformConv")
def deformed(draw: Draw) -> None:
    """Offsets of windows, and a mask."""
    n, groups, offsets = draw.pick(1, 2), draw.pick(1, 2), draw.pick(1, 2)
    c, m = 2 * draw.pick(1, 2), groups * draw.pick(1, 2)
    h, w, kh, kw = draw.pick(3, 5), draw.pick(3, 5), draw.pick(1, 2, 3), draw.pick(1, 2)
    strides = [draw.pick(1, 2), draw.pick(1, 2)]
    oh, ow = (h - kh) // strides[0] + 1, (w - kw) // strides[1] + 1
    draw.data("X", (n, c, h, w))
    draw.data("W", (m, c // groups, kh, kw))
    shape = (n, offsets * kh * kw * 2, oh, ow)
    draw.data("offset", shape, draw.uniform(-1.5, 1.5, shape))
    draw.optional("B", (m,))
    draw.optional("mask", (n, offsets * kh * kw, oh, ow))
    draw.attributes.update(group=groups, offset_group=offsets, strides=strides, kernel_shape=[kh, kw])
    draw.attributes["pads"] = [0, 0, 0, 0]
