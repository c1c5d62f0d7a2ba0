"""Where the results of a call go: arrays that the caller passes as `out`, and executables on a device."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import pytest
from programs import LEVELS, Array, interpreted

from relex.dialects.errors import ArityError, DTypeError, OverlapError, ShapeError
from relex.runtime import build

TWO = """
func.func @main(%x: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<?xf32>) {
  %y = relex.relu %x : (tensor<?x3xf32>) -> tensor<?x3xf32>
  %s = relex.sum %x axis = [1] : (tensor<?x3xf32>) -> tensor<?xf32>
  func.return %y, %s : tensor<?x3xf32>, tensor<?xf32>
}
func.func @relu(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = relex.relu %x : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
func.func @nothing(%x: tensor<2xf32>) {
  func.return
}
func.func @named(%out: tensor<2xf32>) -> tensor<2xf32> {
  func.return %out : tensor<2xf32>
}
"""

X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)


@pytest.fixture(scope="module", params=[*LEVELS, "native", "ctypes"])
def functions(request: pytest.FixtureRequest) -> Generator[Any]:
    if request.param in LEVELS:
        yield interpreted(TWO, request.param)
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RELEX_CALLS", request.param)
        yield build(TWO)


@pytest.mark.parametrize("rows", [0, 1, 2, 17])
def test_arrays_of_the_caller_are_filled(functions: Any, rows: int):
    x = np.random.default_rng(0).standard_normal((rows, 3)).astype(np.float32)
    y, s = np.empty((rows, 3), np.float32), np.empty(rows, np.float32)
    found = functions["main"](x, out=(y, s))
    assert found[0] is y
    assert found[1] is s
    np.testing.assert_array_equal(y, np.maximum(x, 0))
    np.testing.assert_allclose(s, x.sum(axis=1), rtol=1e-5)


def test_one_array(functions: Any):
    out = np.empty(2, np.float32)
    for given in (out, (out,), [out]):
        out[...] = np.nan
        assert functions["relu"](X[0, :2], out=given) is out
        assert out.tolist() == [1, 0]


def test_none_is_a_fresh_array(functions: Any):
    assert functions["relu"](x=X[0, :2], out=None).tolist() == [1, 0]


def test_no_results(functions: Any):
    assert functions["nothing"](X[0, :2], out=()) is None


def test_an_argument_of_that_name(functions: Any):
    assert functions["named"](out=X[0, :2]).tolist() == [1, -2]


def read_only() -> Array:
    array = np.empty(2, np.float32)
    array.flags.writeable = False
    return array


MEMORY = np.zeros(8, np.float32)
WRONG: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "too many": (lambda: (MEMORY[:2], MEMORY[2:4]), ArityError, r"relu\(\) expected 1 arrays as 'out', found 2"),
    "none": (lambda: (), ArityError, r"relu\(\) expected 1 arrays as 'out', found 0"),
    "list of numbers": (lambda: [1.0], DTypeError, r"relu\(\) out for result: expected a NumPy array, found float"),
    "masked": (lambda: np.ma.zeros(2, np.float32), DTypeError, "expected a NumPy array, found MaskedArray"),
    "dtype": (lambda: np.empty(2), DTypeError, "expected dtype float32, found float64"),
    "bytes swapped": (lambda: np.empty(2, ">f4"), DTypeError, "expected dtype float32, found >f4"),
    "shape": (lambda: np.empty(3, np.float32), ShapeError, r"expected shape \(2,\), found \(3,\)"),
    "rank": (lambda: np.empty((1, 2), np.float32), ShapeError, r"expected shape \(2,\), found \(1, 2\)"),
    "read-only": (read_only, DTypeError, "expected an array that can be written"),
    "strided": (lambda: np.empty(4, np.float32)[::2], DTypeError, "expected an array that can be written"),
    "not aligned": (lambda: np.empty(9, np.int8)[1:].view(np.float32), DTypeError, "expected an array that can"),
    "the argument": (lambda: MEMORY[:2], OverlapError, r"relu\(\) expected arrays that do not share memory as 'out'"),
    "half of it": (lambda: MEMORY[1:3], OverlapError, "not share memory"),
}


@pytest.mark.parametrize("case", WRONG)
def test_arrays_that_cannot_be_filled(functions: Any, case: str):
    make, error, message = WRONG[case]
    with pytest.raises(error, match=message):
        functions["relu"](MEMORY[:2], out=make())


def test_results_in_one_memory(functions: Any):
    memory = np.zeros(9, np.float32)
    with pytest.raises(OverlapError, match="not share memory"):
        functions["main"](X, out=(memory[:6].reshape(2, 3), memory[5:7]))
    functions["main"](X, out=(memory[:6].reshape(2, 3), memory[6:8]))
    assert memory.tolist() == [1, 0, 3, 0, 5, 0, 2, -5, 0]
