"""Complex numbers made of real ones, arithmetic on them, and Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

from relex.dialects.sizes import Size, count, larger
from relex.frontend import op
from relex.frontend.compositions.fourier import fourier, hermitian
from relex.frontend.compositions.indexing import part_at, stacked
from relex.frontend.compositions.special_functions import hypot
from relex.frontend.importing.values import size_argument
from relex.frontend.torch import Known, Operand, Tensor, TorchNode, imports, refuse
from relex.frontend.torch.complex_numbers import Pair, as_pair, of_pairs, pair


@imports("aten.complex")
def from_parts(node: TorchNode, real: Tensor, imaginary: Tensor) -> Pair:
    """Complex numbers of their parts."""
    sizes = node.shape(op.add(real, imaginary))
    return pair(node, node.broadcast_to(real, sizes), node.broadcast_to(imaginary, sizes))


@imports("aten.polar")
def from_angles(node: TorchNode, length: Tensor, angle: Tensor) -> Pair:
    """Complex numbers of their absolute values and angles."""
    return pair(node, op.multiply(length, op.cos(angle)), op.multiply(length, op.sin(angle)))


@imports("aten.view_as_complex")
def as_complex(node: TorchNode, x: Tensor) -> Pair:
    """Complex numbers of a last dimension of two."""
    return pair(node, part_at(x, -1, 0), part_at(x, -1, 1))


@of_pairs("aten.view_as_real", "aten.view_as_real_copy")
def as_real(node: TorchNode, x: Pair) -> Operand:
    """The parts, as a last dimension."""
    return stacked(x.parts, node.rank(x.real))


@of_pairs("aten.real")
def real(node: TorchNode, x: Pair) -> Operand:
    """The real part."""
    return x.real


@of_pairs("aten.imag")
def imaginary(node: TorchNode, x: Pair) -> Operand:
    """The imaginary part."""
    return x.imaginary


@of_pairs("aten.abs")
def absolute(node: TorchNode, x: Pair) -> Operand:
    """The absolute value."""
    return hypot(*x.parts)


@imports("aten._conj", "aten._conj_physical", "aten.resolve_conj")
def of_real(node: TorchNode, x: Tensor) -> Operand:
    """A real number is its own conjugate."""
    return x


@of_pairs("aten._conj", "aten._conj_physical", "aten._conj_copy")
def conjugate(node: TorchNode, x: Pair) -> Pair:
    """The conjugate."""
    return pair(node, x.real, op.negative(x.imaginary))


@of_pairs("aten.scalar_tensor")
def scalar(node: TorchNode, x: Any, *options: Any) -> Pair:
    """A complex number."""
    return as_pair(node, x)


@of_pairs("aten._to_copy")
def converted(node: TorchNode, x: Any, *options: Any) -> Any:
    """The same numbers in another type; of complex numbers, real ones keep the real part."""
    if not node.results[0].is_complex():
        return TorchNode(node.fx, node.builder).typed(x.real)
    return pair(node, *(node.typed(part) for part in as_pair(node, x).parts))


@of_pairs("aten.mul")
def product(node: TorchNode, x: Any, y: Any) -> Pair:
    """The product."""
    if not isinstance(y, Pair | complex):
        return pair(node, *(op.multiply(part, node.typed(y)) for part in x.parts))
    if not isinstance(x, Pair):
        return product(node, y, x) if isinstance(y, Pair) else product(node, as_pair(node, y), x)
    (a, b), (c, d) = x.parts, as_pair(node, y).parts
    return pair(
        node,
        op.subtract(op.multiply(a, c), op.multiply(b, d)),
        op.add(op.multiply(a, d), op.multiply(b, c)),
    )


@of_pairs("aten.div")
def quotient(node: TorchNode, x: Any, y: Any, *options: Any) -> Pair:
    """The quotient by real numbers."""
    if not isinstance(x, Pair) or isinstance(y, Pair | complex):
        refuse("a quotient by complex numbers")
    return pair(node, *(op.divide(part, node.typed(y)) for part in x.parts))


# Fourier transforms


@imports("aten._fft_r2c")
def of_real_numbers(node: TorchNode, x: Tensor, axes: Sequence[int], mode: int, is_half: bool) -> Pair:
    """The transform of real numbers along dimensions; along the last one only the first half, on request."""
    *others, last = node.dimensions(axes, x)
    size = node.shape(x)[last]
    width = size // 2 + 1 if is_half else size
    found = _along(node, x, None, last, size, -1, width)
    for axis in others:
        found = _along(node, *found.parts, axis, node.shape(x)[axis], -1)
    return _scaled(node, found, mode, [node.shape(x)[axis] for axis in node.dimensions(axes, x)])


@of_pairs("aten._fft_c2c")
def of_pairs_of_numbers(node: TorchNode, x: Pair, axes: Sequence[int], mode: int, is_forward: bool) -> Pair:
    """The transform of complex numbers along dimensions, or its inverse."""
    chosen = node.dimensions(axes, x.real)
    sizes = [node.shape(x.real)[axis] for axis in chosen]
    for axis, size in zip(chosen, sizes, strict=True):
        x = _along(node, *x.parts, axis, size, -1 if is_forward else 1)
    return _scaled(node, x, mode, sizes)


@of_pairs("aten._fft_c2r")
def to_real_numbers(node: TorchNode, x: Pair, axes: Sequence[int], mode: int, size: Size) -> Operand:
    """The inverse of the transform of real numbers, given the first half along the last of the dimensions."""
    *others, last = node.dimensions(axes, x.real)
    sizes = [node.shape(x.real)[axis] for axis in others]
    for axis, length in zip(others, sizes, strict=True):
        x = _along(node, *x.parts, axis, length, 1)
    moved = [node.tensor(_to_end(node, part, last)) for part in x.parts]
    whole, rest = hermitian((moved[0], moved[1]), size)
    found = node.tensor(fourier(node, (whole, rest), size, 1)[0])
    return _scaled_part(node, node.tensor(_from_end(node, found, last)), mode, [*sizes, size])


def _along(
    node: TorchNode, x: Tensor, rest: Tensor | None, axis: int, size: Size, sign: int, width: Size | None = None
) -> Pair:
    """Return the first numbers of the transform along a dimension."""
    parts = [None if part is None else node.tensor(_to_end(node, part, axis)) for part in (x, rest)]
    assert parts[0] is not None
    found = fourier(node, (parts[0], parts[1]), size, sign)
    if width is not None and width != size:
        end = size_argument(width)
        found = (op.strided_slice(found[0], [-1], [0], [end]), op.strided_slice(found[1], [-1], [0], [end]))
    return pair(node, *(_from_end(node, node.tensor(part), axis) for part in found))


def _to_end(node: TorchNode, x: Tensor, axis: int) -> Operand:
    rank = node.rank(x)
    return x if axis == rank - 1 else op.permute_dims(x, [*(d for d in range(rank) if d != axis), axis])


def _from_end(node: TorchNode, x: Tensor, axis: int) -> Operand:
    rank = node.rank(x)
    return x if axis == rank - 1 else op.permute_dims(x, [*range(axis), rank - 1, *range(axis, rank - 1)])


def _scaled(node: TorchNode, x: Pair, mode: int, sizes: Sequence[Size]) -> Pair:
    return pair(node, *(_scaled_part(node, part, mode, sizes) for part in x.parts))


def _scaled_part(node: TorchNode, x: Tensor, mode: int, sizes: Sequence[Size]) -> Operand:
    """Divide by the number of elements, or by its root, or by nothing."""
    total = larger(count(sizes), 1)
    if isinstance(total, int):
        factor = {0: 1.0, 1: 1 / sqrt(total), 2: 1 / total}[mode]
        return x if factor == 1 else op.multiply(x, node.like(factor, x))
    divisor = op.astype(Known(total), x.element_type)
    return [x, op.divide(x, op.sqrt(divisor)), op.divide(x, divisor)][mode]
