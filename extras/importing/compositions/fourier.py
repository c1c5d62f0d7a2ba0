"""Discrete Fourier transforms along the last dimension, of pairs of tensors: real and imaginary parts."""

from __future__ import annotations

import numpy as np

from relex.dialects.arrays import Array
from relex.frontend import op
from relex.frontend.graph_expressions import Operand
from relex.frontend.importing.import_node import ImportedNode

Complex = tuple[Operand, Operand | None]
"""The real and the imaginary part; None for zeros."""

LARGEST_MATRIX = 32
"""Transforms of more numbers are made of several shorter ones, if that has divisors."""


def fourier(site: ImportedNode, x: Complex, count: int, sign: int) -> tuple[Operand, Operand]:
    """
    Return the sums of `x[j] * exp(sign * 2j * pi * j * k / count)`, by Cooley's and Tukey's method: the numbers are a
    matrix of `a` rows and `b` columns, whose columns are transformed, then multiplied by roots of unity, and whose rows
    are transformed then. Transforms of few numbers, and of a prime number of them, are products with a matrix.
    """
    rows = max((n for n in range(2, LARGEST_MATRIX + 1) if count % n == 0), default=1)
    if count <= LARGEST_MATRIX or rows == 1:
        return _by_matrix(site, x, count, sign)
    columns = count // rows
    real, imaginary = x
    last = site.rank(real)
    across = [*range(last - 1), last, last - 1]
    others = site.shape(real)[:-1]

    def as_columns(part: Operand) -> Operand:
        return op.permute_dims(site.reshape(part, (*others, rows, columns)), across)

    first = (as_columns(real), None if imaginary is None else as_columns(imaginary))
    places = np.outer(np.arange(columns), np.arange(rows))
    turned = _turned(site, _by_matrix(site, first, rows, sign), places, count, sign)
    second = fourier(site, (op.permute_dims(turned[0], across), op.permute_dims(turned[1], across)), columns, sign)
    found = [site.reshape(op.permute_dims(part, across), (*others, count)) for part in second]
    return found[0], found[1]


def _by_matrix(site: ImportedNode, x: Complex, count: int, sign: int) -> tuple[Operand, Operand]:
    real, imaginary = x
    places = np.outer(np.arange(count), np.arange(count))
    cosine, sine = (site.like(matrix, real) for matrix in _roots(places, count, sign))
    if imaginary is None:
        return op.dense(real, cosine), op.dense(real, sine)
    return (
        op.subtract(op.dense(real, cosine), op.dense(imaginary, sine)),
        op.add(op.dense(real, sine), op.dense(imaginary, cosine)),
    )


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


def hermitian(x: Complex, count: int) -> Complex:
    """Return all numbers of the transform of `count` real ones, given the first half."""
    real, imaginary = x
    rest = (count - 1) // 2
    if not rest:
        return x

    def backwards(part: Operand) -> Operand:
        return op.strided_slice(part, [-1], [rest], [0], [-1])

    whole = op.concat(real, backwards(real), axis=-1)
    return whole, None if imaginary is None else op.concat(imaginary, op.negative(backwards(imaginary)), axis=-1)
