"""Discrete Fourier transforms along the last dimension, of pairs of tensors: real and imaginary parts."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f64

from relex.dialects.arrays import Array
from relex.dialects.sizes import IndexExpr, Size, larger
from relex.frontend import op
from relex.frontend.compositions.indexing import numbers_below
from relex.frontend.graph_expressions import Operand
from relex.frontend.importing.conditions import at_least
from relex.frontend.importing.import_node import ImportedNode
from relex.frontend.importing.values import Known, size_argument

Complex = tuple[Operand, Operand | None]
"""The real and the imaginary part; None for zeros."""

LARGEST_MATRIX = 32
"""Transforms of more numbers are made of several shorter ones, if that has divisors."""

LARGEST_DYNAMIC = 4096
"""Transforms of more numbers are refused at a call if their number is dynamic: each is a product with a matrix."""


def fourier(site: ImportedNode, x: Complex, count: Size, sign: int) -> tuple[Operand, Operand]:
    """
    Return the sums of `x[j] * exp(sign * 2j * pi * j * k / count)`, by Cooley's and Tukey's method: the numbers are a
    matrix of `a` rows and `b` columns, whose columns are transformed, then multiplied by roots of unity, and whose rows
    are transformed then. Transforms of few numbers, of a prime number and of a dynamic one are products with a matrix.
    """
    if isinstance(count, IndexExpr):
        site.builder.require(at_least(LARGEST_DYNAMIC, count), "")
        return _by_matrix(site, x, *_dynamic_matrices(site, x[0], count, sign))
    rows = max((n for n in range(2, LARGEST_MATRIX + 1) if count % n == 0), default=1)
    if count <= LARGEST_MATRIX or rows == 1:
        return _by_matrix(site, x, *_matrices(site, x[0], count, sign))
    columns = count // rows
    real, imaginary = x
    last = site.rank(real)
    across = [*range(last - 1), last, last - 1]
    others = site.shape(real)[:-1]

    def as_columns(part: Operand) -> Operand:
        return op.permute_dims(site.reshape(part, (*others, rows, columns)), across)

    first = (as_columns(real), None if imaginary is None else as_columns(imaginary))
    places = np.outer(np.arange(columns), np.arange(rows))
    turned = _turned(site, _by_matrix(site, first, *_matrices(site, real, rows, sign)), places, count, sign)
    second = fourier(site, (op.permute_dims(turned[0], across), op.permute_dims(turned[1], across)), columns, sign)
    found = [site.reshape(op.permute_dims(part, across), (*others, count)) for part in second]
    return found[0], found[1]


def _by_matrix(site: ImportedNode, x: Complex, cosine: Operand, sine: Operand) -> tuple[Operand, Operand]:
    real, imaginary = x
    if imaginary is None:
        return op.dense(real, cosine), op.dense(real, sine)
    return (
        op.subtract(op.dense(real, cosine), op.dense(imaginary, sine)),
        op.add(op.dense(real, sine), op.dense(imaginary, cosine)),
    )


def _matrices(site: ImportedNode, x: Operand, count: int, sign: int) -> list[Operand]:
    """Return the matrices of a transform of the elements of `x`."""
    return [site.like(part, x) for part in _roots(np.outer(np.arange(count), np.arange(count)), count, sign)]


def _dynamic_matrices(site: ImportedNode, x: Operand, count: IndexExpr, sign: int) -> list[Operand]:
    """Return the matrices of a transform, taken from a table of all roots of unity, computed as by `_roots`."""
    numbers, total = numbers_below(count), Known(larger(count, 1))
    turns = op.floor_mod(op.multiply(op.expand_dims(numbers, 1), numbers), total)
    angles = op.divide(op.multiply(op.astype(numbers, f64), 2 * np.pi), op.astype(total, f64))
    is_quarter = op.equal(op.floor_mod(op.multiply(numbers, 4), op.multiply(total, 2)), total)
    is_half = op.equal(op.floor_mod(op.multiply(numbers, 2), total), 0)
    cosine = op.where(is_quarter, 0.0, op.cos(angles))
    sine = op.where(is_half, 0.0, op.multiply(op.sin(angles), float(sign)))
    return [op.take(op.astype(part, site.element_type(x)), turns, 0) for part in (cosine, sine)]


def _roots(places: Array, count: int, sign: int) -> tuple[Array, Array]:
    """Return the parts of `exp(sign * 2j * pi * places / count)`. The remainder keeps angles small, and their functions
    exact; at quarters of a turn one part is 0, so that the middle of the transform of real numbers is real."""
    turns = places % count
    angles = 2 * np.pi * turns / count
    cosine = np.where(4 * turns % (2 * count) == count, 0.0, np.cos(angles))
    sine = np.where(2 * turns % count == 0, 0.0, sign * np.sin(angles))
    return cosine, sine


def _turned(
    site: ImportedNode, x: tuple[Operand, Operand], places: Array, count: int, sign: int
) -> tuple[Operand, Operand]:
    """Multiply numbers by numbers of absolute value 1."""
    real, imaginary = (site.tensor(part) for part in x)
    cosine, sine = (site.like(matrix, real) for matrix in _roots(places, count, sign))
    return (
        op.subtract(op.multiply(real, cosine), op.multiply(imaginary, sine)),
        op.add(op.multiply(real, sine), op.multiply(imaginary, cosine)),
    )


def hermitian(x: Complex, count: Size) -> Complex:
    """Return all numbers of the transform of `count` real ones, given the first half."""
    real, imaginary = x
    rest = (count - 1) // 2
    if rest == 0:
        return x

    def backwards(part: Operand) -> Operand:
        return op.strided_slice(part, [-1], [size_argument(rest)], [0], [-1])

    whole = op.concat(real, backwards(real), axis=-1)
    return whole, None if imaginary is None else op.concat(imaginary, op.negative(backwards(imaginary)), axis=-1)
