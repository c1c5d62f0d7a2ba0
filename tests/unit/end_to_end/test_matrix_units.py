"""Products in tiles of a matrix unit: native code with tiles in software, and with the unit where the host has it."""

from __future__ import annotations

from math import lcm
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16
from programs import Array, random_array
from software_tiles import HOST, TILES, counts, in_software, needs_software_tiles
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.relex.block_layouts import BLOCK_LAYOUTS
from relex.dialects.relex.block_quantized import dequantized
from relex.dialects.target.machine import Target
from relex.dialects.target.target_attribute import set_target
from relex.dialects.tir import BlockOp, MultiplyTilesOp
from relex.dialects.walks import walk_of
from relex.frontend import BlockBuilder, Var, const, op
from relex.lowering.relex_pipeline import RelexPipelinePass
from relex.passes import NarrowProductsPass
from relex.reference import interpret
from relex.runtime import build

RNG = np.random.default_rng(0)
ROWS = (1, 3, 15, 16, 17, 33, 100, 1000)
WITHOUT = Target(HOST.triple, HOST.cpu, f"{HOST.features},-amx-tile,-amx-int8,-amx-bf16")
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
@pytest.mark.parametrize("sizes", [(256, 64), (100, 100), (1000, 33), (64, 1024), (76, 64), (80, 16)], ids=str)
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


def floats(rows: int | str, w: Array, *, constant: bool, dtype: str = "bfloat16") -> ModuleOp:
    """A dense layer of bf16 or f32, and a function of its results."""
    builder = BlockBuilder()
    x, weight = Var("x", (rows, w.shape[1]), dtype), Var("w", w.shape, dtype)
    with builder.function("main", [x] if constant else [x, weight]):
        builder.emit_func_output(builder.emit(op.relu(op.dense(x, const(w) if constant else weight))))
    return builder.get()


def check_floats(found: Array, x: Array, w: Array):
    """The sums of exact products are rounded in f32, in any order, and then to the type of the results."""
    a, b = (np.asarray(array.astype(bfloat16), np.float64) for array in (x, w))
    exact, size = np.maximum(a @ b.T, 0), abs(a) @ abs(b).T
    rounding = 2.0**-8 * exact if found.dtype != np.float32 else 0
    assert (abs(found.astype(np.float64) - exact) <= (a.shape[1] + 2) * 2.0**-24 * size + rounding).all()


@needs_software_tiles
@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["precision", "constant", "argument"])
@pytest.mark.parametrize("sizes", [(64, 256), (100, 100), (33, 1001)], ids=str)
@pytest.mark.parametrize("rows", [*ROWS, "n"])
def test_pairs(rows: int | str, sizes: tuple[int, int], kind: str):
    """Products of bf16, of operands that are rounded to it or have this type."""
    dtype = "float32" if kind == "precision" else "bfloat16"
    w = RNG.standard_normal(sizes).astype(np.float32 if kind == "precision" else bfloat16)
    module = floats(rows, w, constant=kind != "argument", dtype=dtype)
    before = counts()
    main = in_software(module, "bf16" if kind == "precision" else "f32")["main"]
    for count in (1, 16, 37, 100) if isinstance(rows, str) else (rows,):
        x = RNG.standard_normal((count, sizes[1])).astype(w.dtype)
        check_floats(main(*([x, w] if kind == "argument" else [x])), x, w)
    products = counts()[2] - before[2]
    assert (products > 0) == (isinstance(rows, str) or rows >= 15), products


@needs_software_tiles
def test_many_terms():
    """Sums in parts, of rows in blocks that are copied, so that they do not evict each other from caches."""
    w, x = (RNG.standard_normal(size).astype(bfloat16) for size in ((256, 8192), (300, 8192)))
    module = floats(300, w, constant=True)
    lowered = with_tiles(module)
    assert sum(isinstance(op, MultiplyTilesOp) for op in lowered.walk()) > 8
    check_floats(in_software(module)["main"](x), x, w)


@needs_software_tiles
@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("sizes", [(32, 17), (33, 33), (1000, 100), (512, 300)], ids=str)
@pytest.mark.parametrize("name", ["Q4_0", "Q5_1", "Q8_0", "Q4_K", "Q6_K", "IQ4_XS", "2_BITS_16_F16_ZEROS"])
def test_weights_in_blocks(name: str, sizes: tuple[int, int]):
    """Weights that each call unpacks into the order of tiles, where the words of a row fill tiles."""
    layout, (columns, rows) = BLOCK_LAYOUTS[name], sizes
    terms = 2 * lcm(layout.size, 32)
    blocks = RNG.integers(0, 60, (columns, terms // layout.size * layout.bytes)).astype(np.uint8)
    builder, x = BlockBuilder(), Var("x", (rows, terms), "float32")
    with builder.function("main", [x]):
        dense = builder.emit(op.dense(x, op.dequantize_blocks(const(blocks), layout=name)))
        builder.emit_func_output(builder.emit(op.relu(dense)))
    module, before = builder.get(), counts()
    data = RNG.standard_normal((rows, terms)).astype(np.float32)
    found = in_software(module, "bf16")["main"](data)
    assert counts()[2] > before[2]
    check_floats(found, data, dequantized(layout, blocks))


@needs_software_tiles
def test_many_terms_in_blocks():
    """Sums in parts, each with its own part of the blocks, which are whole."""
    layout = BLOCK_LAYOUTS["Q4_K"]
    blocks = RNG.integers(0, 60, (96, 24 * layout.bytes)).astype(np.uint8)
    builder, x = BlockBuilder(), Var("x", (300, 24 * layout.size), "float32")
    with builder.function("main", [x]):
        dense = op.dense(x, op.dequantize_blocks(const(blocks), layout="Q4_K"))
        builder.emit_func_output(builder.emit(op.relu(dense)))
    data = RNG.standard_normal((300, 24 * layout.size)).astype(np.float32)
    check_floats(in_software(builder.get(), "bf16")["main"](data), data, dequantized(layout, blocks))


def test_weights_in_blocks_are_unpacked_in_place():
    """No copy of the unpacked weight but the one in the order of tiles."""
    builder, x = BlockBuilder(), Var("x", (64, 256), "float32")
    blocks = RNG.integers(0, 60, (512, 8 * 18)).astype(np.uint8)
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(op.dense(x, op.dequantize_blocks(const(blocks), layout="Q4_0"))))
    module = builder.get()
    set_target(module, TILES)
    lowered = RelexPipelinePass("loops", passes=(NarrowProductsPass(),))(module)
    names = [block.block_name.data for block in walk_of(lowered, BlockOp)]
    assert "unpacked" not in names
    assert any(name.startswith("unpacked_local") for name in names)


def test_pairs_mean_the_same_to_the_interpreter():
    w, x = (RNG.standard_normal(size).astype(bfloat16) for size in ((40, 200), (33, 200)))
    module = floats(33, w, constant=False)
    assert uses_tiles(module)
    check_floats(interpret(with_tiles(module))["main"](x, w), x, w)


def test_strict_products_stay():
    module = floats(33, RNG.standard_normal((40, 200)).astype(bfloat16), constant=True)
    set_target(module, TILES)
    lowered = RelexPipelinePass("core", strict=True)(module)
    assert not any(isinstance(o, MultiplyTilesOp) for o in lowered.walk())


@needs_software_tiles
@pytest.mark.sampled
@pytest.mark.parametrize("images", [2, "n"])
@pytest.mark.parametrize(("size", "strides"), [((14, 14), [1, 1]), ((28, 20), [1, 1]), ((17, 33), [2, 1])], ids=str)
def test_convolutions(size: tuple[int, int], strides: list[int], images: int | str):
    """Convolutions of quantized networks, from the second one on, whose data has blocks of channels."""
    kinds = [(32, 64, 3), (64, 64, 3), (64, 96, 1)]
    weights = [random_array(RNG, "int8", (outputs, inputs, side, side)) for inputs, outputs, side in kinds]
    x = random_array(RNG, "uint8", (2, 32, *size))
    y, builder = Var("x", (images, *x.shape[1:]), "uint8"), BlockBuilder()
    with builder.function("main", [y]):
        value: Any = y
        for w in weights:
            whole = op.subtract(op.astype(value, "int32"), const(np.int32(3)))
            data = op.multiply(op.astype(whole, "float32"), const(np.float32(0.5)))
            factor = op.multiply(op.astype(const(w), "float32"), const(np.float32(2.0**-11)))
            sums = op.conv2d(data, factor, strides=strides if w.shape[2] > 1 else [1, 1], padding=[w.shape[2] // 2] * 4)
            digits = op.astype(op.clip(op.round(op.divide(sums, const(np.float32(0.5)))), -(2.0**24), 2.0**24), "int32")
            value = op.astype(op.clip(op.add(digits, const(np.int32(3))), 0, 255), "uint8")
        builder.emit_func_output(builder.emit(value))
    module = builder.get()
    before, found = counts()[2], in_software(module)["main"](x)
    assert counts()[2] > before
    # All sums are exact.
    np.testing.assert_array_equal(found, interpret(module)["main"](x))
    assert len(np.unique(found)) > 20


@needs_software_tiles
@pytest.mark.sampled
@pytest.mark.parametrize("images", [2, "n"])
@pytest.mark.parametrize(("size", "strides"), [((14, 14), [1, 1]), ((28, 20), [1, 1]), ((17, 33), [2, 1])], ids=str)
def test_convolutions_of_pairs(size: tuple[int, int], strides: list[int], images: int | str):
    """Convolutions of f32 in bf16, with a layer that two others read, and a sum with it."""
    kinds = [(3, 32, 3), (32, 64, 1), (64, 64, 3), (64, 96, 1)]
    weights = [
        RNG.standard_normal((outputs, inputs, side, side)).astype(np.float32) * (inputs * side**2) ** -0.5
        for inputs, outputs, side in kinds
    ]
    x = RNG.standard_normal((2, 3, *size)).astype(np.float32)
    y, builder = Var("x", (images, *x.shape[1:]), "float32"), BlockBuilder()

    def convolved(value: Any, w: Array) -> Any:
        return op.relu(op.conv2d(value, const(w), strides=strides, padding=[w.shape[2] // 2] * 4))

    with builder.function("main", [y]):
        first, second, third, last = weights
        value = builder.emit(convolved(y, first))
        value = builder.emit(convolved(value, second))
        strides = [1, 1]
        value = builder.emit(op.add(value, convolved(value, third)))
        builder.emit_func_output(builder.emit(convolved(value, last)))
    module = builder.get()
    before, found = counts()[2], in_software(module, "bf16")["main"](x)
    assert counts()[2] > before
    wanted = build(module, target=WITHOUT, precision="bf16")["main"](x)
    # Sums that are added up in another order may be rounded to the neighbouring bf16.
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2.0**-8 * abs(wanted).max())
    assert np.linalg.norm(found - wanted) < 2.0**-10 * np.linalg.norm(wanted)


@needs_software_tiles
def test_batches():
    """Each of a batch of products has a matrix of columns."""
    builder = BlockBuilder()
    sizes = (3, 20, 128), (3, 128, 40)
    x, y = (Var(name, size, "bfloat16") for name, size in zip("xy", sizes, strict=True))
    with builder.function("main", [x, y]):
        builder.emit_func_output(builder.emit(op.matmul(x, y)))
    a, b = (RNG.standard_normal(size).astype(bfloat16) for size in sizes)
    before, found = counts()[2], in_software(builder.get())["main"](a, b)
    assert counts()[2] > before
    wide = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(found.astype(np.float64), wide, rtol=2.0**-8, atol=1e-4)


@pytest.mark.parametrize(
    "shapes",
    [((3, 256), 64), ((64, 256), 8), ((64, 8), 64), ((16, 64), 16)],
    ids=["rows", "columns", "terms", "steps"],
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
