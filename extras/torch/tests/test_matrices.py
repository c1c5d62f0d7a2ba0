"""Systems of linear equations and factors of matrices, as PyTorch finds them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from math import inf, nan
from typing import Any

import pytest
from compiling import compiled_alone

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
linalg: Any = torch.linalg
pytestmark = pytest.mark.usefixtures("fresh")


def positive(x: Any) -> Any:
    return x @ x.mT + 3 * torch.eye(x.shape[-1], dtype=x.dtype)


def solved(x: Any) -> Any:
    return linalg.solve(x, x)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "inverse": linalg.inv,
    "solutions": lambda x: [linalg.solve(x, x[..., :2] * 2), linalg.solve(x, x[..., 0]), linalg.solve(x[0], x)],
    "solutions on the right": lambda x: linalg.solve(x, x[:, :2], left=False),
    "determinants": lambda x: [linalg.det(x), *linalg.slogdet(x), torch.logdet(positive(x))],
    "roots": lambda x: [linalg.cholesky(positive(x)), linalg.cholesky(positive(x), upper=True)],
    "by roots": lambda x: [
        torch.cholesky_solve(x, linalg.cholesky(positive(x))),
        torch.cholesky_solve(x, linalg.cholesky(positive(x), upper=True), upper=True),
        torch.cholesky_inverse(linalg.cholesky(positive(x[0]))),
        torch.cholesky(positive(x)),
    ],
    "triangles": lambda x: [
        linalg.solve_triangular(x, x * 2, upper=upper, left=left, unitriangular=unit)
        for upper in (False, True)
        for left in (False, True)
        for unit in (False, True)
    ],
    "triangles in order": lambda x: [*torch.triangular_solve(x, positive(x), transpose=True)],
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_systems_of_equations(name: str) -> None:
    """Of fixed and dynamic sizes, and of one row."""
    function = FUNCTIONS[name]
    x = torch.randn(2, 3, 3)
    torch.testing.assert_close(compiled_alone(function, dynamic=False)(x), function(x), rtol=1e-3, atol=1e-4)
    compiled = compiled_alone(function, dynamic=True)
    for sizes in ((2, 4, 4), (3, 6, 6)):
        x = torch.randn(sizes, dtype=torch.float64)
        torch.testing.assert_close(compiled(x), function(x), rtol=1e-10, atol=1e-11)


SHAPES = (5, 3), (3, 5), (2, 4, 4), (1, 1)


@pytest.mark.parametrize("sizes", SHAPES)
def test_factors(sizes: tuple[int, ...]) -> None:
    def factors(x: Any) -> list[Any]:
        reduced, complete = linalg.qr(x), linalg.qr(x, mode="complete")
        packed, pivots = linalg.lu_factor(x)
        return [*reduced, *complete, linalg.qr(x, mode="r")[1], *linalg.lu(x), packed, pivots]

    compiled = compiled_alone(factors)
    x = torch.randn(sizes)
    torch.testing.assert_close(compiled(x), factors(x), rtol=1e-4, atol=1e-5)


def test_factors_of_nothing() -> None:
    def factors(x: Any) -> list[Any]:
        return [*linalg.qr(x), *linalg.lu(x), *linalg.lu_factor_ex(x)]

    for x in (torch.zeros(2, 3), torch.zeros(2, 2, 2)):
        torch.testing.assert_close(compiled_alone(factors)(x), factors(x))


def test_reflections_of_small_and_large_numbers() -> None:
    """Whose squares are zero or infinite."""

    def factors(x: Any) -> list[Any]:
        return [*linalg.qr(x)]

    compiled, x = compiled_alone(factors), torch.randn(4, 3)
    for scale in (1e-25, 1e20, 1e30):
        torch.testing.assert_close(compiled(x * scale), factors(x * scale), rtol=1e-4, atol=1e-6 * scale)
    x = torch.eye(3)
    x[1, 0] = 1e-25
    torch.testing.assert_close(compiled(x), factors(x), rtol=1e-4, atol=1e-30)


def test_infinite_elements_change_only_rows_below_them() -> None:
    """Or above them, in upper triangles."""

    def solved(a: Any, b: Any) -> list[Any]:
        lower = linalg.solve_triangular(a, b, upper=False)
        return [lower, linalg.solve_triangular(a.mT, b, upper=True)]

    compiled, b = compiled_alone(solved), torch.tensor([[1.0], [inf], [3.0]])
    for a in (torch.eye(3), torch.tensor([[4.0, 0, 0], [1, 3, 0], [1, 1, 1]])):
        torch.testing.assert_close(compiled(a, b), solved(a, b), equal_nan=True)

    def factors(x: Any) -> list[Any]:
        return [*linalg.lu_factor_ex(x), *linalg.cholesky_ex(x), *linalg.slogdet(x)]

    compiled = compiled_alone(factors)
    for matrix in ([[4.0, 1.0], [1.0, inf]], [[1.0, 3.0], [2.0, inf]]):
        x = torch.tensor(matrix)
        torch.testing.assert_close(compiled(x), factors(x), equal_nan=True)


def test_pivots_are_numbers() -> None:
    """What is not a number is a pivot only where it stands on the diagonal already."""

    def found(x: Any) -> list[Any]:
        inverse, info = linalg.inv_ex(x)
        return [*linalg.lu_factor_ex(x), *linalg.lu(x), inverse, info, linalg.solve_ex(x, x)[0], linalg.det(x)]

    compiled = compiled_alone(found, dynamic=False)
    for place in range(16):
        x = torch.randn(4, 4, generator=torch.Generator().manual_seed(place), dtype=torch.float64)
        x.view(-1)[place] = nan
        torch.testing.assert_close(compiled(x), found(x), equal_nan=True)


def test_the_sign_of_a_determinant_that_is_no_number() -> None:
    def signed(x: Any) -> list[Any]:
        return [*linalg.slogdet(x)]

    x = torch.tensor([[nan, 1.0], [1.0, 2.0]])
    torch.testing.assert_close(compiled_alone(signed)(x), signed(x), equal_nan=True)


SQUARES = (0, 3, 3), (2, 0, 0), (0, 0)


@pytest.mark.parametrize("sizes", SQUARES)
def test_squares_without_rows_or_without_batch(sizes: tuple[int, ...]) -> None:
    def found(x: Any) -> list[Any]:
        y = x[..., :2]
        return [
            linalg.inv(x),
            linalg.det(x),
            *linalg.slogdet(x),
            linalg.cholesky(x),
            linalg.solve(x, y),
            linalg.solve_triangular(x, y, upper=True),
        ]

    x = torch.zeros(sizes)
    torch.testing.assert_close(compiled_alone(found, dynamic=False)(x), found(x))


def test_factors_of_matrices_without_rows_or_columns() -> None:
    def factors(x: Any) -> list[Any]:
        return [*linalg.qr(x), *linalg.qr(x, mode="complete"), *linalg.lu(x), *linalg.lu_factor_ex(x)]

    for sizes in ((0, 3), (3, 0)):
        x = torch.zeros(sizes)
        torch.testing.assert_close(compiled_alone(factors, dynamic=False)(x), factors(x))


@pytest.mark.parametrize(
    ("function", "wrong"),
    [
        (linalg.inv, torch.zeros(2, 2)),
        (solved, torch.ones(3, 3)),
        (linalg.cholesky, -torch.eye(2)),
        (torch.cholesky, -torch.eye(2)),
        (torch.cholesky_inverse, torch.tensor([[0.0, 0.0], [1.0, 1.0]])),
    ],
    ids=["inverse", "solution", "root", "old root", "inverse by root"],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_matrices_that_have_none(function: Callable[[Any], Any], wrong: Any) -> None:
    compiled, right = compiled_alone(function), torch.eye(len(wrong)) * 4
    torch.testing.assert_close(compiled(right), function(right))
    for call in (function, compiled):
        with pytest.raises(RuntimeError):
            call(wrong)


def test_exported_programs_check_matrices() -> None:
    import relex
    from relex.frontend.torch import from_exported

    class Inverse(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return linalg.inv(x)

    main = relex.build(from_exported(torch.export.export(Inverse(), (torch.eye(3),))))["main"]
    assert (main(2 * torch.eye(3)) == 0.5 * torch.eye(3).numpy()).all()
    with pytest.raises(RuntimeError, match="expected a matrix that is not singular"):
        main(torch.zeros(3, 3))


REFUSED: dict[str, Callable[[Any], Any]] = {
    "use linalg.lu_factor": lambda x: torch.ops.aten._linalg_det(x)[1],
    "expected pivot=True": lambda x: linalg.lu_factor(x, pivot=False)[0],
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused_factors(message: str) -> None:
    with pytest.raises(import_module("torch._dynamo").exc.BackendCompilerFailed, match=message):
        compiled_alone(REFUSED[message])(torch.eye(3))
