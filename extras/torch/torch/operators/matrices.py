"""Systems of linear equations, and matrices as products of simpler ones: loops over columns, as LAPACK's basic routines
are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i32, i64

from relex.dialects.sizes import Size, smaller
from relex.frontend import op
from relex.frontend.compositions.indexing import numbers_below
from relex.frontend.compositions.truth import all_of
from relex.frontend.importing.loops import Row
from relex.frontend.torch import Known, Operand, Tensor, TorchNode, imports, refuse
from relex.frontend.torch.batched_matrices import (
    again,
    at,
    batched,
    flipped,
    identity,
    leading,
    outer,
    over_columns,
    reduced,
    triangle,
)
from relex.frontend.torch.operators.windows import is_used


@dataclass
class _Factors:
    """What Gaussian elimination finds in matrices of a batch."""

    packed: Tensor
    """The upper triangle, and below it the lower one, whose diagonal is 1."""
    order: Tensor
    """The row of the matrix that each row comes from."""
    info: Tensor
    """The first pivot that is zero, counted from 1; 0 if none is."""
    pivots: Tensor
    """The row that each one was exchanged with, counted from 1."""


def _eliminated(node: TorchNode, a: Tensor) -> _Factors:
    """Eliminate with the largest pivot of each column. As in LAPACK, what is not a number is one only where it is on
    the diagonal already."""
    batch, height, width = node.shape(a)
    rows, columns = node.tensor(numbers_below(height)), node.tensor(numbers_below(width))

    def trip(j: Tensor, state: Sequence[Tensor]) -> tuple[list[Operand], list[Row]]:
        x, order, info = state
        column = node.tensor(op.abs(at(x, j, 2)))
        is_other = op.logical_and(op.greater(rows, j), op.logical_not(op.isnan(column)))
        choices = op.where(op.logical_or(op.equal(rows, j), is_other), column, node.like(-1, x))
        place = node.tensor(op.argmax(choices, 1, True))
        swapped = node.tensor(op.where(op.equal(rows, j), place, op.where(op.equal(rows, place), j, rows)))
        y = node.tensor(op.gather_nd(x, op.expand_dims(swapped, 2), 1))
        pivot = node.tensor(op.expand_dims(at(at(y, j, 1), j, 1), 1))
        is_zero = op.equal(pivot, 0.0)
        shares = node.tensor(op.divide(at(y, j, 2), op.where(is_zero, node.like(1, y), pivot)))
        is_below = op.expand_dims(op.greater(rows, j), 1)
        rest = reduced(y, shares, at(y, j, 1), op.logical_and(is_below, op.greater(columns, j)))
        new = op.where(op.logical_and(is_below, op.equal(columns, j)), op.expand_dims(shares, 2), rest)
        first = op.logical_and(op.equal(info, 0), op.squeeze(is_zero, 1))
        found = op.where(first, op.astype(op.add(j, 1), i32), info)
        return [new, op.gather_elements(order, swapped, 1), found], [Row(op.squeeze(op.add(place, 1), 1), j, 1)]

    start = [a, node.broadcast_to(rows, [batch, height]), node.full([batch], 0, i32)]
    packed, order, info, *pivots = over_columns(node, smaller(height, width), trip, start)
    return _Factors(packed, order, info, *(pivots or [node.tensor(node.full([batch, 0], 0, i64))]))


def _substituted(node: TorchNode, a: Tensor, b: Operand, *, upper: bool, unit: bool) -> Tensor:
    """Solve `a x = b` for triangular matrices, of which the other triangle is not read."""
    size = node.shape(a)[1]
    rows = node.tensor(numbers_below(size))

    def trip(i: Tensor, state: Sequence[Tensor]) -> tuple[list[Operand], list[Row]]:
        j = node.tensor(op.subtract(Known(size - 1), i)) if upper else i
        column = at(a, j, 2)
        row = at(state[0], j, 1)
        if not unit:
            row = op.divide(row, op.expand_dims(at(column, j, 1), 1))
        is_left = op.expand_dims((op.less if upper else op.greater)(rows, j), 1)
        here = op.expand_dims(op.equal(rows, j), 1)
        return [op.where(here, op.expand_dims(row, 1), reduced(state[0], column, row, is_left))], []

    return over_columns(node, size, trip, [b])[0]


def _solved(node: TorchNode, factors: _Factors, b: Operand) -> Tensor:
    ordered = op.gather_nd(b, op.expand_dims(factors.order, 2), 1)
    half = _substituted(node, factors.packed, ordered, upper=False, unit=True)
    return _substituted(node, factors.packed, half, upper=True, unit=False)


@imports("aten.linalg_inv_ex")
def inverse(node: TorchNode, a: Tensor, check_errors: bool = False) -> list[Operand]:
    """The inverse, and the first pivot that is zero."""
    x = batched(node, a)
    factors = _eliminated(node, x)
    found = _solved(node, factors, identity(node, x, node.shape(x)[1]))
    return [again(node, found, a), again(node, factors.info, a)]


@imports("aten._linalg_solve_ex")
def solve(node: TorchNode, a: Tensor, b: Tensor, left: bool = True, check_errors: bool = False) -> list[Operand]:
    """The solution of a system of equations; `left` is on which side of it the matrix is."""
    if is_used(node, 1) or is_used(node, 2):
        refuse("the factors that it computes; use linalg.lu_factor")
    is_vector = node.rank(b) == 1 or (node.rank(a) - 1 == node.rank(b) and node.shape(b) == node.shape(a)[:-1])
    given: Operand = op.expand_dims(b, -1) if is_vector else b
    x, y = _broadcast(node, a, given)
    if not left:
        x, y = node.tensor(flipped(x)), node.tensor(flipped(y))
    factors = _eliminated(node, x)
    found: Operand = _solved(node, factors, y)
    found = found if left else flipped(found)
    whole = node.shape(given)[-2:]
    batch = _batch_of(node, a, given)
    result = node.reshape(found, [*batch, *whole])
    info = node.reshape(factors.info, batch)
    return [op.squeeze(result, -1) if is_vector else result, factors.packed, factors.pivots, _for_each(node, info, a)]


def _for_each(node: TorchNode, info: Operand, a: Tensor) -> Operand:
    """Return what is known of each matrix once, where the batch of the other side is larger."""
    missing = node.rank(info) - (node.rank(a) - 2)
    for _ in range(missing):
        info = op.max(info, [0], False)
    return info


def _batch_of(node: TorchNode, a: Operand, b: Operand) -> list[Size]:
    sizes = [node.shape(x)[:-2] for x in (a, b)]
    rank = max(map(len, sizes))
    pairs = zip(*((*([1] * (rank - len(s))), *s) for s in sizes), strict=True)
    return [y if x == 1 else x for x, y in pairs]


def _broadcast(node: TorchNode, a: Operand, b: Operand) -> tuple[Tensor, Tensor]:
    """Return matrices of two operands in one batch."""
    batch = _batch_of(node, a, b)
    x, y = (batched(node, node.broadcast_to(m, [*batch, *node.shape(m)[-2:]])) for m in (a, b))
    return x, y


def _sign_of_order(node: TorchNode, factors: _Factors) -> Operand:
    """Return -1 where an odd number of rows were exchanged, else 1."""
    numbers = op.add(numbers_below(node.shape(factors.pivots)[1]), 1)
    moved = op.astype(op.not_equal(factors.pivots, numbers), i64)
    odd = op.floor_mod(op.sum(moved, [1], False), 2)
    return node.typed(op.subtract(1, op.multiply(odd, 2)), node.element_type(factors.packed))


def _diagonal(node: TorchNode, x: Tensor) -> Operand:
    return op.sum(triangle(node, x, op.equal), [1], False)


@imports("aten._linalg_det")
def determinant(node: TorchNode, a: Tensor) -> list[Operand]:
    """The determinant."""
    if is_used(node, 1) or is_used(node, 2):
        refuse("the factors that it computes; use linalg.lu_factor")
    factors = _eliminated(node, batched(node, a))
    found = op.multiply(op.prod(_diagonal(node, factors.packed), [1], False), _sign_of_order(node, factors))
    return [again(node, found, a), factors.packed, factors.pivots]


@imports("aten._linalg_slogdet")
def logarithm_of_determinant(node: TorchNode, a: Tensor) -> list[Operand]:
    """The sign of the determinant, and the logarithm of its absolute value."""
    if is_used(node, 2) or is_used(node, 3):
        refuse("the factors that it computes; use linalg.lu_factor")
    factors = _eliminated(node, batched(node, a))
    values = node.tensor(_diagonal(node, factors.packed))
    signs = op.where(op.isnan(values), node.like(0, values), op.sign(values))
    sign = op.multiply(op.prod(signs, [1], False), _sign_of_order(node, factors))
    size = op.sum(op.log(op.abs(values)), [1], False)
    return [again(node, sign, a), again(node, size, a), factors.packed, factors.pivots]


@imports("aten.linalg_lu_factor_ex")
def factors_in_one(node: TorchNode, a: Tensor, pivot: bool = True, check_errors: bool = False) -> list[Operand]:
    """The lower and upper triangles of Gaussian elimination in one matrix, the exchanged rows, and the first pivot that
    is zero."""
    if not pivot:
        refuse("elimination without exchanged rows; expected pivot=True")
    factors = _eliminated(node, batched(node, a))
    pivots = op.astype(factors.pivots, i32)
    return [again(node, factors.packed, a), again(node, pivots, a), again(node, factors.info, a)]


@imports("aten.linalg_lu")
def factors(node: TorchNode, a: Tensor, pivot: bool = True) -> list[Operand]:
    """The order of rows as a matrix, and the lower and upper triangles of Gaussian elimination."""
    if not pivot:
        refuse("elimination without exchanged rows; expected pivot=True")
    x = batched(node, a)
    height, width = node.shape(x)[1:]
    made, least = _eliminated(node, x), smaller(height, width)
    numbers = op.expand_dims(numbers_below(height), 1)
    order = op.astype(op.equal(numbers, op.expand_dims(made.order, 1)), x.element_type)
    below = leading(triangle(node, made.packed, op.greater), least, 2)
    ones = op.astype(op.equal(numbers, numbers_below(least)), x.element_type)
    upper = leading(triangle(node, made.packed, op.less_equal), least, 1)
    return [again(node, part, a) for part in (order, op.add(below, ones), upper)]


@imports("aten.linalg_cholesky_ex")
def cholesky(node: TorchNode, a: Tensor, upper: bool = False, check_errors: bool = False) -> list[Operand]:
    """The lower or upper triangle that is a root of a matrix, and the first minor that is not positive."""
    x = batched(node, a)
    x = node.tensor(flipped(x)) if upper else x
    rows = node.tensor(numbers_below(node.shape(x)[1]))

    def trip(j: Tensor, state: Sequence[Tensor]) -> tuple[list[Operand], list[Row]]:
        y, info = state
        column = node.tensor(at(y, j, 2))
        corner = node.tensor(at(column, j, 1))
        first = op.logical_and(op.equal(info, 0), op.logical_not(op.greater(corner, 0.0)))
        end = node.tensor(op.expand_dims(op.sqrt(corner), 1))
        scaled = node.tensor(op.where(op.equal(rows, j), end, op.divide(column, end)))
        is_below = op.greater(rows, j)
        rest = reduced(y, scaled, scaled, op.logical_and(op.expand_dims(is_below, 1), is_below))
        new = op.where(op.equal(rows, j), op.expand_dims(scaled, 2), rest)
        return [new, op.where(first, op.astype(op.add(j, 1), i32), info)], []

    found, info = over_columns(node, node.shape(x)[1], trip, [x, node.full([node.shape(x)[0]], 0, i32)])
    root = triangle(node, found, op.greater_equal)
    return [again(node, flipped(root) if upper else root, a), again(node, info, a)]


@imports("aten.cholesky", "aten.linalg_cholesky")
def checked_cholesky(node: TorchNode, a: Tensor, upper: bool = False) -> Operand:
    """The triangle that is a root of a matrix, which must be positive definite."""
    root, info = cholesky(node, a, upper)
    return _checked(node, info, root)


@imports("aten.inverse", "aten.linalg_inv")
def checked_inverse(node: TorchNode, a: Tensor) -> Operand:
    """The inverse of a matrix, which must not be singular."""
    found, info = inverse(node, a)
    return _checked(node, info, found)


@imports("aten.linalg_solve")
def checked_solution(node: TorchNode, a: Tensor, b: Tensor, left: bool = True) -> Operand:
    """The solution of a system of equations, whose matrix must not be singular."""
    found, _, _, info = solve(node, a, b, left)
    return _checked(node, info, found)


@imports("aten.linalg_lu_factor")
def checked_factors(node: TorchNode, a: Tensor, pivot: bool = True) -> list[Operand]:
    """The triangles of Gaussian elimination in one matrix, which must not be singular, and the exchanged rows."""
    packed, pivots, info = factors_in_one(node, a, pivot)
    return [_checked(node, info, packed), pivots]


def _checked(node: TorchNode, info: Operand, found: Operand) -> Operand:
    expect_found(node, node.tensor(info), node.name.replace("linalg_", "linalg."), is_matrix=True)
    return found


@imports("aten._linalg_check_errors")
def expect_found(node: TorchNode, info: Tensor, name: str, is_matrix: bool) -> None:
    """Stop the program if a matrix was found to be singular, or not positive definite."""
    what = "a positive-definite matrix" if "cholesky" in name else "a matrix that is not singular"
    node.expect(op.reshape(all_of(node, op.equal(info, 0)), []), f"{name}: expected {what}")


def _triangular(
    node: TorchNode, a: Operand, b: Operand, *, upper: bool, left: bool = True, unit: bool = False
) -> Operand:
    x, y = _broadcast(node, a, b)
    if not left:
        x, y, upper = node.tensor(flipped(x)), node.tensor(flipped(y)), not upper
    found: Operand = _substituted(node, x, y, upper=upper, unit=unit)
    return node.reshape(found if left else flipped(found), [*_batch_of(node, a, b), *node.shape(b)[-2:]])


@imports("aten.linalg_solve_triangular")
def solve_triangular(
    node: TorchNode, a: Tensor, b: Tensor, upper: bool, left: bool = True, unitriangular: bool = False
) -> Operand:
    """The solution of a system of equations in a triangle."""
    return _triangular(node, a, b, upper=upper, left=left, unit=unitriangular)


@imports("aten.triangular_solve")
def solve_triangular_in_order(
    node: TorchNode, b: Tensor, a: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> list[Operand]:
    """The solution of a system of equations in a triangle, and the matrix."""
    axes = [*range(node.rank(a) - 2), node.rank(a) - 1, node.rank(a) - 2]
    x = op.permute_dims(a, axes) if transpose else a
    found = _triangular(node, x, b, upper=upper != transpose, unit=unitriangular)
    return [found, node.broadcast_to(a, [*_batch_of(node, a, b), *node.shape(a)[-2:]])]


@imports("aten.cholesky_solve")
def solve_by_root(node: TorchNode, b: Tensor, root: Tensor, upper: bool = False) -> Operand:
    """The solution of a system of equations, by the triangle that is a root of the matrix."""
    axes = [*range(node.rank(root) - 2), node.rank(root) - 1, node.rank(root) - 2]
    other = op.permute_dims(root, axes)
    lower, higher = (other, root) if upper else (root, other)
    return _triangular(node, higher, _triangular(node, lower, b, upper=False), upper=True)


@imports("aten.cholesky_inverse")
def inverse_by_root(node: TorchNode, root: Tensor, upper: bool = False) -> Operand:
    """The inverse of a matrix, by the triangle that is a root of it."""
    x = batched(node, root)
    is_singular = op.equal(_diagonal(node, x), 0.0)
    holds = op.reshape(all_of(node, op.logical_not(is_singular)), [])
    node.expect(holds, "cholesky_inverse: expected a matrix that is not singular")
    ones = again(node, identity(node, x, node.shape(x)[1]), root)
    return solve_by_root(node, node.tensor(ones), root, upper)


@imports("aten.linalg_qr")
def orthogonal(node: TorchNode, a: Tensor, mode: str = "reduced") -> list[Operand]:
    """An orthogonal matrix and an upper triangle whose product is a matrix, by Householder's reflections."""
    x = batched(node, a)
    height, width = node.shape(x)[1:]
    rows, least = node.tensor(numbers_below(height)), smaller(height, width)

    def trip(j: Tensor, state: Sequence[Tensor]) -> tuple[list[Operand], list[Row]]:
        y, q = state
        whole = node.tensor(op.where(op.greater_equal(rows, j), at(y, j, 2), node.like(0, y)))
        # Squares of small or large numbers are zero or infinite.
        largest = node.tensor(op.max(op.abs(whole), [1], True))
        column = node.tensor(op.divide(whole, op.where(op.equal(largest, 0.0), node.like(1, y), largest)))
        below = node.tensor(op.where(op.greater(rows, j), column, node.like(0, y)))
        corner = node.tensor(op.expand_dims(at(column, j, 1), 1))
        rest = op.sum(op.multiply(below, below), [1], True)
        is_done = node.tensor(op.equal(op.max(op.abs(below), [1], True), 0.0))
        length = op.sqrt(op.add(op.multiply(corner, corner), rest))
        end = op.where(op.less(corner, 0.0), length, op.negative(length))
        head = node.tensor(op.where(is_done, node.like(1, y), op.subtract(corner, end)))
        vector = op.where(op.equal(rows, j), node.like(1, y), op.divide(below, head))
        share = op.where(is_done, node.like(0, y), op.divide(op.subtract(end, corner), end))
        scaled = node.tensor(op.multiply(vector, share))
        across = op.sum(op.multiply(op.expand_dims(vector, 2), y), [1], False)
        down = op.sum(op.multiply(q, op.expand_dims(vector, 1)), [2], False)
        return [op.subtract(y, outer(scaled, across)), op.subtract(q, outer(down, scaled))], []

    made, turned = over_columns(node, least, trip, [x, identity(node, x, height)])
    upper = triangle(node, made, op.less_equal)
    q: Operand = turned
    if mode != "complete":
        upper, q = leading(upper, least, 1), leading(q, least, 2)
    found = again(node, upper, a)
    return [node.full([0], 0, node.result_type) if mode == "r" else again(node, q, a), found]
