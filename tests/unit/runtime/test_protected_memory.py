"""Arguments and results that end, or begin, where no memory is: a native access outside of them ends the process."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from programs import Array

from relex.runtime import build

PAGE = mmap.PAGESIZE


@dataclass(frozen=True)
class Guarded:
    """Memory between two pages that nobody may touch."""

    memory: mmap.mmap
    pages: int

    @classmethod
    def of(cls, pages: int) -> Guarded:
        guarded = cls(mmap.mmap(-1, (pages + 2) * PAGE), pages)
        guarded.protect(0)
        return guarded

    def protect(self, access: int) -> None:
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        libc = ctypes.CDLL(None, use_errno=True)
        for page in (0, self.pages + 1):
            assert libc.mprotect(ctypes.c_void_p(start + page * PAGE), ctypes.c_size_t(PAGE), access) == 0

    def copy(self, array: Array, *, at_end: bool) -> Array:
        """The array at the end of the memory, or at its beginning."""
        place = (self.pages + 1) * PAGE - array.nbytes if at_end else PAGE
        copy = np.frombuffer(self.memory, array.dtype, array.size, place).reshape(array.shape)
        copy[...] = array
        return copy


@pytest.fixture
def guarded() -> Iterator[list[Guarded]]:
    """Places for four arrays."""
    places = [Guarded.of(80) for _ in range(4)]
    yield places
    for place in places:
        place.protect(mmap.PROT_READ | mmap.PROT_WRITE)


DENSE = """
func.func @main(%x: tensor<{m}x{k}xf32>, %w: tensor<{n}x{k}xf32>, %b: tensor<{n}xf32>) -> tensor<{m}x{n}xf32> {{
  %0 = relex.dense %x, %w : (tensor<{m}x{k}xf32>, tensor<{n}x{k}xf32>) -> tensor<{m}x{n}xf32>
  %1 = relex.add %0, %b : (tensor<{m}x{n}xf32>, tensor<{n}xf32>) -> tensor<{m}x{n}xf32>
  %2 = relex.relu %1 : (tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  func.return %2 : tensor<{m}x{n}xf32>
}}
"""

CHAIN = """
func.func @main(%x: tensor<?x{k}x{t}>, %y: tensor<?x{k}x{t}>) -> tensor<?x{k}x{t}> {{
  %0 = relex.multiply %x, %y : (tensor<?x{k}x{t}>, tensor<?x{k}x{t}>) -> tensor<?x{k}x{t}>
  %1 = relex.add %0, %y : (tensor<?x{k}x{t}>, tensor<?x{k}x{t}>) -> tensor<?x{k}x{t}>
  func.return %1 : tensor<?x{k}x{t}>
}}
"""


def check(function: Any, arrays: list[Array], expected: Array, guarded: list[Guarded]) -> None:
    """Call a function with arguments, and then with a result as well, at both ends of memory."""
    for at_end in (True, False):
        placed = [place.copy(array, at_end=at_end) for place, array in zip(guarded, arrays, strict=False)]
        out = guarded[len(arrays)].copy(np.zeros_like(expected), at_end=at_end)
        for _ in range(2):
            np.testing.assert_allclose(function(*placed), expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(function(*placed, out=out), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("m", "k", "n"), [(1, 1, 1), (1, 17, 3), (3, 17, 33), (17, 33, 17), (17, 65, 65), (70, 31, 47)]
)
def test_dense(m: int, k: int, n: int, guarded: list[Guarded]) -> None:
    rng = np.random.default_rng(0)
    x, w, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((m, k), (n, k), (n,)))
    check(build(DENSE.format(m=m, k=k, n=n))["main"], [x, w, b], np.maximum(x @ w.T + b, 0), guarded)


@pytest.mark.parametrize("k", [1, 3, 17])
@pytest.mark.parametrize(("t", "dtype"), [("f32", np.float32), ("f64", np.float64), ("i8", np.int8)])
def test_chains_of_sizes_that_are_not_known(k: int, t: str, dtype: Any, guarded: list[Guarded]) -> None:
    main = build(CHAIN.format(k=k, t=t))["main"]
    for rows in (0, 1, 3, 17, 31):
        x, y = (np.random.default_rng(i).integers(-4, 4, (rows, k)).astype(dtype) for i in (0, 1))
        check(main, [x, y], x * y + y, guarded)


@pytest.mark.parametrize("size", [0, 1, 7, 9, 17])
def test_booleans_are_looked_at_within_their_memory(size: int, guarded: list[Guarded]) -> None:
    main = build("func.func @main(%x: tensor<?xi1>) -> tensor<?xi1> { func.return %x : tensor<?xi1> }")["main"]
    x = np.arange(size) % 2 == 0
    check(main, [x], x, guarded)


def test_an_access_outside_would_end_the_process() -> None:
    code = (
        "import test_protected_memory as t, numpy as np\n"
        "g = t.Guarded.of(1)\n"
        "x = g.copy(np.zeros(3, np.int8), at_end=True)\n"
        "np.lib.stride_tricks.as_strided(x, (4,), (1,)).sum()\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=False
    )
    assert process.returncode < 0
