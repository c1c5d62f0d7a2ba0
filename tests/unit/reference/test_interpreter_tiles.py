"""Tiles: what instructions compute from their bytes, and what stops a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import Array

from relex.dialects.errors import ExecutionError
from relex.dialects.tir import TILE_PRODUCTS
from relex.reference import interpret
from relex.reference.interpreter.tiles import TILE_FUNCTIONS

RNG = np.random.default_rng(0)


def program(by: str, rows: int, words: int, columns: int, dtype: str, *, inside: str = "") -> str:
    """A function that multiplies tiles at some place of its arguments, and adds the product to another one."""
    shapes = [(rows, 4 * columns), (rows, 4 * words), (words, 4 * columns)]
    return f"""
        func.func @main(%x: memref<40x2x80xi8>, %w: memref<40x64xi8>, %y: memref<20x20x{dtype}>) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c4 = arith.constant 4 : index
          tir.configure_tiles [{", ".join(f"{r}, {size}" for r, size in shapes)}]
          tir.load_tile 0, %y[%c4, %c1] rows 0 step 1 : memref<20x20x{dtype}>
          tir.load_tile 1, %x[%c1, %c1, %c4] rows 0 step 2 : memref<40x2x80xi8>
          tir.load_tile 2, %w[%c0, %c0] rows 0 step 1 : memref<40x64xi8>
          {inside}
          tir.multiply_tiles "{by}" 0, 1, 2
          tir.store_tile 0, %y[%c4, %c1] rows 0 step 1 : memref<20x20x{dtype}>
          tir.release_tiles
          func.return
        }}"""


def run(text: str, x: Array, w: Array, y: Array) -> Array:
    found = y.copy()
    interpret(text)["main"](x, w, found)
    return found


SIGNS = {"tdpbssd": ("i1", "i1"), "tdpbsud": ("i1", "u1"), "tdpbusd": ("u1", "i1"), "tdpbuud": ("u1", "u1")}


@pytest.mark.parametrize("shape", [(16, 16, 16), (1, 1, 1), (7, 3, 11)], ids=str)
@pytest.mark.parametrize("by", SIGNS)
def test_bytes(by: str, shape: tuple[int, int, int]):
    rows, words, columns = shape
    x, w = (RNG.integers(-128, 128, size, np.int8) for size in ((40, 2, 80), (40, 64)))
    y = RNG.integers(-(2**31), 2**31 - 1, (20, 20), np.int32)
    left, right = (np.dtype(sign) for sign in SIGNS[by])
    a = x[1 : 1 + 2 * rows : 2, 1, 4 : 4 + 4 * words].view(left).astype(np.int64)
    b = w[:words, : 4 * columns].view(right).reshape(words, columns, 4).transpose(0, 2, 1).reshape(4 * words, columns)
    expected = y.copy()
    expected[4 : 4 + rows, 1 : 1 + columns] += (a @ b.astype(np.int64)).astype(np.int32)
    np.testing.assert_array_equal(run(program(by, *shape, "i32"), x, w, y), expected)


def pairs(lhs: Any, rhs: Any, total: Any = 0.0) -> np.float32:
    """Multiply numbers of bf16, given as f32, pair by pair."""
    words = [np.asarray(numbers, np.float32).view(np.uint32) >> 16 for numbers in (lhs, rhs)]
    a, b = (word.astype(np.uint16).view(np.uint8) for word in words)
    sums = np.asarray([[total]], np.float32).view(np.uint8)
    return TILE_FUNCTIONS["tdpbf16ps"](sums, a.reshape(1, -1), b.reshape(-1, 4))[0, 0]


def test_order_of_pairs():
    """First and second numbers have separate sums, to which the old one is added last."""
    big, small = 2.0**24, 1.0
    assert pairs([big, small, 0, small], [1, 1, 1, 1]) == big + 2
    assert pairs([big, small, small, 0], [1, 1, 1, 1]) == big
    assert pairs([small, small], [1, 1], total=big) == big + 2
    # Products are not rounded on their own.
    x = 1 + 2.0**-7
    assert pairs([1, 0, x, 0], [-1, 0, x, 0]) == np.float32(x * x - 1)


def test_small_numbers_are_zeros():
    tiny, least = 2.0**-126, 2.0**-133
    assert pairs([tiny, 0], [1, 0]) == tiny
    assert pairs([tiny, 0], [0.5, 0]) == 0
    assert pairs([least, 0], [2.0**100, 0]) == 0
    assert pairs([1, 0], [1, 0], total=least) == 1
    assert pairs([0, 0], [0, 0], total=least) == 0
    assert np.isnan(pairs([np.inf, 0], [0, 0]))


def test_halves_go_to_even():
    x = 1 + 2.0**-7  # The product with 2**-7 + 2**-14 has a last bit of 2**-21.
    assert pairs([1, 0, 2.0**-24, 0], [1, 0, 1, 0]) == 1
    assert pairs([x, 0, 2.0**-24, 0], [x, 0, 1, 0]) == np.float32(x * x)
    assert pairs([1, 2.0**-24], [1, 1]) == 1
    assert pairs([1, 2.0**-24 * x], [1, 1]) == np.nextafter(np.float32(1), np.float32(2))


def test_every_product_has_a_meaning():
    assert list(TILE_PRODUCTS) == list(TILE_FUNCTIONS)


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("tir.load_tile 3, %w[%c0, %c0] rows 0 step 1 : memref<40x64xi8>", "expected tile 3 to be configured"),
        ("tir.load_tile 2, %w[%c0, %c4] rows 0 step 1 : memref<40x64xi8>", "index 1 .* in 0..63, found 64"),
        ("tir.load_tile 2, %w[%c0, %c0] rows 0 step 3 : memref<40x64xi8>", "index 0 .* in 0..39, found 42"),
        ("tir.configure_tiles [16, 64, 15, 64, 16, 64]", "expected rows and columns that fit together"),
        ("tir.release_tiles", "expected tile 0 to be configured"),
    ],
)
def test_stops(inside: str, message: str):
    x, w, y = np.zeros((40, 2, 80), np.int8), np.zeros((40, 64), np.int8), np.zeros((20, 20), np.int32)
    with pytest.raises(ExecutionError, match=message):
        run(program("tdpbssd", 16, 16, 16, "i32", inside=inside), x, w, y)
