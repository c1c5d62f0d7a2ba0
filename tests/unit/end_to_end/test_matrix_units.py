"""Products in tiles of a matrix unit: native code with tiles in software, and with the unit where the host has it."""

from __future__ import annotations

import numpy as np
import pytest
from programs import Array, random_array
from software_tiles import HOST, TILES, counts, in_software, needs_software_tiles
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.target.target_attribute import set_target
from relex.dialects.tir import MultiplyTilesOp
from relex.frontend import BlockBuilder, Var, const, op
from relex.lowering.relex_pipeline import RelexPipelinePass
from relex.reference import interpret
from relex.runtime import build

RNG = np.random.default_rng(0)
ROWS = (1, 3, 15, 16, 17, 33, 100, 1000)
has_unit = pytest.mark.skipif("amx-int8" not in HOST.enabled, reason="needs AMX, and the system's permission")


def product(rows: int | str, w: Array, *, constant: bool, dtype: str = "uint8", zero: int = 0) -> ModuleOp:
    """A product of bytes with a matrix, a constant or an argument, and a row that is added."""
    builder, bias = BlockBuilder(), const(np.arange(w.shape[1], dtype=np.int32))
    x, weight = Var("x", (rows, w.shape[0]), dtype), Var("w", w.shape, "int8")
    with builder.function("main", [x] if constant else [x, weight]):
        wide = op.subtract(op.astype(x, "int32"), const(np.int32(zero)))
        factor = op.astype(const(w) if constant else weight, "int32")
        builder.emit_func_output(builder.emit(op.add(op.matmul(wide, factor), bias)))
    return builder.get()


def expected(x: Array, w: Array, zero: int = 0) -> Array:
    return (x.astype(np.int32) - zero) @ w.astype(np.int32) + np.arange(w.shape[1], dtype=np.int32)


def with_tiles(module: ModuleOp) -> ModuleOp:
    """The program at the core level, for this machine with tiles."""
    module = module.clone()
    set_target(module, TILES)
    return RelexPipelinePass("core")(module)


def uses_tiles(module: ModuleOp) -> bool:
    return any(isinstance(o, MultiplyTilesOp) for o in with_tiles(module).walk())


@needs_software_tiles
@pytest.mark.sampled
@pytest.mark.parametrize("constant", [True, False], ids=["constant", "argument"])
@pytest.mark.parametrize("sizes", [(256, 64), (100, 100), (1000, 33), (64, 1024), (80, 16)], ids=str)
@pytest.mark.parametrize("rows", ROWS)
def test_bytes(rows: int, sizes: tuple[int, int], constant: bool):
    w = random_array(RNG, "int8", sizes)
    x = random_array(RNG, "uint8", (rows, sizes[0]))
    module = product(rows, w, constant=constant)
    before = counts()
    found = in_software(module)["main"](*([x] if constant else [x, w]))
    np.testing.assert_array_equal(found, expected(x, w))
    configured, released, products = (after - old for after, old in zip(counts(), before, strict=True))
    assert configured == released
    assert (products > 0) == uses_tiles(module)
    assert configured <= max(1, products)
    if rows >= 15 and sizes[0] > 80:
        assert products


@needs_software_tiles
@pytest.mark.sampled
@pytest.mark.parametrize("constant", [True, False], ids=["constant", "argument"])
@pytest.mark.parametrize("sizes", [(256, 64), (100, 100), (1000, 33), (128, 1024)], ids=str)
def test_open_rows(sizes: tuple[int, int], constant: bool):
    """Rows that are counted at run time: each number has tiles of several heights."""
    w = random_array(RNG, "int8", sizes)
    main = in_software(product("n", w, constant=constant))["main"]
    for rows in (0, *ROWS, 47, 51):
        x = random_array(RNG, "uint8", (rows, sizes[0]))
        np.testing.assert_array_equal(main(*([x] if constant else [x, w])), expected(x, w))


@needs_software_tiles
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_extremes_and_zero_points(dtype: str):
    """No instruction saturates, and sums wrap around."""
    x, w = random_array(RNG, dtype, (40, 2**10)), random_array(RNG, "int8", (2**10, 40))
    x[0], x[1] = np.iinfo(dtype).min, np.iinfo(dtype).max
    w[:, 0], w[:, 1] = -128, 127
    main = in_software(product(40, w, constant=True, dtype=dtype, zero=7))["main"]
    np.testing.assert_array_equal(main(x), expected(x, w, 7))


@pytest.mark.parametrize("rows", [33, "n"])
def test_interpreter(rows: int | str):
    """Instructions on tiles mean the same to the interpreter."""
    w, x = random_array(RNG, "int8", (100, 40)), random_array(RNG, "uint8", (33, 100))
    module = product(rows, w, constant=False)
    assert uses_tiles(module)
    found = interpret(with_tiles(module))["main"](x, w)
    np.testing.assert_array_equal(found, expected(x, w))


@pytest.mark.parametrize(
    "shapes",
    [((3, 256), 64), ((64, 256), 8), ((64, 8), 64), ((16, 64), 16), ((64, 76), 64)],
    ids=["rows", "columns", "terms", "steps", "words that do not fill tiles"],
)
def test_small_products_stay(shapes: tuple[tuple[int, int], int]):
    (rows, terms), columns = shapes
    assert not uses_tiles(product(rows, random_array(RNG, "int8", (terms, columns)), constant=True))


@has_unit
@pytest.mark.sampled
@pytest.mark.parametrize("sizes", [(256, 64), (100, 100), (1000, 33)], ids=str)
@pytest.mark.parametrize("rows", [*ROWS, "n"])
def test_on_the_unit(rows: int | str, sizes: tuple[int, int]):
    w, x = (
        random_array(RNG, "int8", sizes),
        random_array(RNG, "uint8", (rows if isinstance(rows, int) else 77, sizes[0])),
    )
    np.testing.assert_array_equal(build(product(rows, w, constant=True))["main"](x), expected(x, w))
