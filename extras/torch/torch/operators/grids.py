"""Images sampled at the positions of a grid."""

from __future__ import annotations

from math import inf

from relex.dialects.sizes import Size, count
from relex.frontend import op
from relex.frontend.compositions.grids import Taps, bounded, number, sampled, taps
from relex.frontend.compositions.indexing import part_at
from relex.frontend.torch import Operand, Tensor, TorchNode, imports

MODES = ("linear", "nearest", "cubic")
PADDINGS = ("zeros", "border", "reflection")


@imports("aten.grid_sampler_2d", "aten.grid_sampler_3d")
def grid_sampler(node: TorchNode, x: Tensor, grid: Tensor, mode: int, padding: int, aligned: bool) -> Operand:
    """The data at the positions of a grid, which go from -1 to 1 along each dimension."""
    data, wanted = node.widened(x), node.widened(grid)
    n, c, *sizes = node.shape(x)
    places = node.shape(grid)[1:-1]
    columns: list[Taps] = []
    for d, size in enumerate(sizes):
        # Positions list the last dimension first.
        position = _scaled(node, part_at(wanted, -1, len(sizes) - 1 - d), size, aligned)
        if len(sizes) == 3:
            position = _of_volume(node, node.tensor(position), size, PADDINGS[padding])
        if MODES[mode] != "cubic" and PADDINGS[padding] != "zeros":
            position = bounded(node, position, size, PADDINGS[padding], aligned)
        columns.append(taps(node, node.tensor(position), MODES[mode]))
    flat = op.permute_dims(node.reshape(data, [n, c, count(sizes)]), [0, 2, 1])
    # Positions that are bounded have neighbors outside, which count nothing.
    how = PADDINGS[padding] if MODES[mode] == "cubic" else "zeros"
    total = sampled(node, flat, columns, sizes, [n, count(places)], how, aligned)
    return node.typed(node.reshape(op.permute_dims(total, [0, 2, 1]), [n, c, *places]))


def _of_volume(node: TorchNode, position: Operand, size: Size, padding: str) -> Operand:
    """Return positions in place of those that are no integers, as torch takes them: for outside, or, where there is no
    outside, for the last ones. In images, it multiplies by NaN."""
    if padding == "zeros":
        return op.where(op.less(op.abs(position), 2.0**31), position, node.like(-100, position))
    is_known = op.less(op.abs(position), inf) if padding == "reflection" else op.logical_not(op.isnan(position))
    return op.where(is_known, position, op.subtract(number(node, size, position), 1.0))


def _scaled(node: TorchNode, x: Operand, size: Size, aligned: bool) -> Operand:
    """Return positions between -1 and 1 as positions in a dimension."""
    length = number(node, size, x)
    if aligned:
        return op.multiply(op.add(x, 1.0), op.multiply(op.subtract(length, 1.0), 0.5))
    return op.subtract(op.multiply(op.add(x, 1.0), op.multiply(length, 0.5)), 0.5)
