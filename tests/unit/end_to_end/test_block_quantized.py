"""Products with weights in blocks, compiled, against their definition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import RelexError, parse_module
from relex.dialects.array_files.array_files import load_arrays
from relex.dialects.relex.block_layouts import BLOCK_LAYOUTS
from relex.dialects.relex.block_quantized import dequantized, parts_of
from relex.passes import BindParamsPass
from relex.reference import interpret
from relex.runtime import build

RNG = np.random.default_rng(0)
LAYOUTS = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "MXFP4")
FEW_BITS = ("4_BITS_32_F16", "4_BITS_16_F16_ZEROS", "8_BITS_64_F16", "2_BITS_32_F16_ZEROS")


def some_weight(name: str, rows: int, count: int) -> Any:
    """Blocks of random bytes, in which floats of 16 bits are below 1."""
    return RNG.integers(0, 60, (rows, count * BLOCK_LAYOUTS[name].bytes)).astype(np.uint8)


def product_of(name: str, shape: tuple[int, ...], scales: Any, digits: Any) -> ModuleOp:
    """Return a program that multiplies data of a shape with a weight in blocks."""
    types = [f"tensor<{'x'.join(map(str, a.shape))}xui8>" for a in (scales, digits)]
    x, y = (f"tensor<{'x'.join(map(str, s))}xf32>" for s in (shape, (*shape[:-1], len(digits))))
    return parse_module(f"""
func.func @main(%x: {x}, %scales: {types[0]}, %digits: {types[1]}) -> {y} {{
  %y = relex.dense_blocks %x, %scales, %digits layout = "{name}" : ({x}, {", ".join(types)}) -> {y}
  func.return %y : {y}
}}""")


def dense(name: str, shape: tuple[int, ...], weight: Any, *, constant: bool) -> tuple[Any, Any, Any]:
    """Return data, the product with it, and what its error may be, in f64."""
    layout = BLOCK_LAYOUTS[name]
    scales, digits = parts_of(layout, weight)
    module = product_of(name, shape, scales, digits)
    data = RNG.normal(size=shape).astype(np.float32)
    parameters = {"scales": scales, "digits": digits}
    if constant:
        found = build(BindParamsPass("main", parameters)(module))["main"](data)
    else:
        found = build(module)["main"](data, scales, digits)
    numbers = dequantized(layout, weight).astype(np.float64)
    # Minima are multiplied separately: their sums may cancel the sums of the digits.
    sizes = np.abs(numbers) if layout.minimum is None else np.abs(numbers).max()
    bound = (shape[-1] + 2) * 2.0**-24 * (np.abs(data) @ np.broadcast_to(sizes, numbers.shape).T)
    return found, data @ numbers.T, bound


@pytest.mark.parametrize("name", [*LAYOUTS, *FEW_BITS])
def test_layouts(name: str) -> None:
    weight = some_weight(name, 32, 2)
    found, expected, bound = dense(name, (1, 2 * BLOCK_LAYOUTS[name].size), weight, constant=True)
    assert (np.abs(found - expected) <= bound).all()


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("shape", [(64,), (4, 64), (26, 64), (2, 3, 64), (17, 64)])
@pytest.mark.parametrize("columns", [5, 48, 64])
def test_shapes(shape: tuple[int, ...], columns: int, constant: bool) -> None:
    found, expected, bound = dense("Q4_0", shape, some_weight("Q4_0", columns, 2), constant=constant)
    assert (np.abs(found - expected) <= bound).all()


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("columns", [17, 100])
@pytest.mark.parametrize("rows", [32, 33, 1000])
@pytest.mark.parametrize("name", [*LAYOUTS, *FEW_BITS])
def test_many_rows(name: str, rows: int, columns: int) -> None:
    """Constant weights become f32 for rows that make up for it."""
    shape = (rows, 2 * BLOCK_LAYOUTS[name].size)
    found, expected, bound = dense(name, shape, some_weight(name, columns, 2), constant=True)
    assert (np.abs(found - expected) <= bound).all()


@pytest.mark.parametrize("name", ["Q4_0", "Q4_K"])
def test_many_rows_of_many_terms(name: str) -> None:
    """Sums in parts, in which blocks are whole."""
    layout = BLOCK_LAYOUTS[name]
    count = 3 * 4096 // layout.size
    found, expected, bound = dense(name, (33, count * layout.size), some_weight(name, 33, count), constant=True)
    assert (np.abs(found - expected) <= bound).all()


def test_many_rows_unpack_panels_in_place() -> None:
    """The only copy of the unpacked weight is a panel of it; what follows the product follows it there."""
    layout, weight = BLOCK_LAYOUTS["Q4_0"], some_weight("Q4_0", 1024, 8)
    text = PROGRAM.format(rows=64, columns=1024, size=256, bytes=weight.shape[1], name="Q4_0")
    built = build(BindParamsPass("main", {"w": weight})(parse_module(text)))
    data = RNG.normal(size=(64, 256)).astype(np.float32)
    data[3, 5], data[4, 7] = np.nan, np.inf
    found = built["main"](data)
    with np.errstate(invalid="ignore"):
        expected = np.maximum(data.astype(np.float64) @ dequantized(layout, weight).T, 0)
    assert np.isnan(found[3]).all()
    np.testing.assert_array_equal(np.isfinite(found[4]), np.isfinite(expected[4]))
    np.testing.assert_allclose(np.delete(found, (3, 4), 0), np.delete(expected, (3, 4), 0), rtol=1e-4, atol=1e-4)
    ir = str(built.ir("loops"))
    assert "@unpacked_local" in ir
    assert "@unpacked " not in ir


@pytest.mark.parametrize("name", ["Q4_0", "Q4_1"])
@pytest.mark.parametrize("run", [build, interpret])
def test_sums_of_a_group_overflow_before_they_are_scaled(name: str, run: Callable[[ModuleOp], Any]) -> None:
    """The definition and the loops are infinite for the same data, however small the scale is."""
    weight = np.zeros((2, BLOCK_LAYOUTS[name].bytes), np.uint8)
    weight[:, :2] = np.full((2, 1), 2.0**-20, np.float16).view(np.uint8)
    weight[:, -16:] = np.uint8(0xFF)
    scales, digits = parts_of(BLOCK_LAYOUTS[name], weight)
    function = run(product_of(name, (2, 32), scales, digits))["main"]
    data = np.zeros((2, 32), np.float32)
    data[:, :2] = [[1.5e38, 1.5e38], [3e36, 3e36]]
    expected = np.float64(3e36) * 2 * (7 if name == "Q4_0" else 15) * 2.0**-20
    found = function(data, scales, digits)
    assert np.all(found[0] == np.inf)
    np.testing.assert_allclose(found[1], expected, rtol=1e-6)


@pytest.mark.parametrize("name", LAYOUTS)
def test_dequantize(name: str) -> None:
    weight = some_weight(name, 3, 2)
    size = 2 * BLOCK_LAYOUTS[name].size
    module = parse_module(f"""
func.func @main(%w: tensor<3x{weight.shape[1]}xui8>) -> tensor<3x{size}xf32> {{
  %y = relex.dequantize_blocks %w layout = "{name}" : (tensor<3x{weight.shape[1]}xui8>) -> tensor<3x{size}xf32>
  func.return %y : tensor<3x{size}xf32>
}}""")
    np.testing.assert_array_equal(build(module)["main"](weight), dequantized(BLOCK_LAYOUTS[name], weight))


PROGRAM = """
func.func @main(%x: tensor<{rows}x{size}xf32>, %w: tensor<{columns}x{bytes}xui8>) -> tensor<{rows}x{columns}xf32> {{
  %0 = relex.dequantize_blocks %w layout = "{name}" : (tensor<{columns}x{bytes}xui8>) -> tensor<{columns}x{size}xf32>
  %1 = relex.dense %x, %0 : (tensor<{rows}x{size}xf32>, tensor<{columns}x{size}xf32>) -> tensor<{rows}x{columns}xf32>
  %2 = relex.relu %1 : (tensor<{rows}x{columns}xf32>) -> tensor<{rows}x{columns}xf32>
  func.return %2 : tensor<{rows}x{columns}xf32>
}}"""


@pytest.mark.parametrize("name", ["Q4_0", "Q4_K"])
def test_dynamic_rows_of_a_layer(name: str) -> None:
    """Constant weights are never unpacked as a whole, with what follows the product, for any number of rows."""
    layout, weight = BLOCK_LAYOUTS[name], some_weight(name, 64, 2)
    size = 2 * layout.size
    program = parse_module(PROGRAM.format(rows="?", columns=64, size=size, bytes=weight.shape[1], name=name))
    built = build(BindParamsPass("main", {"w": weight})(program))
    assert f"64x{size}xf32" not in str(built.ir("loops"))
    numbers = dequantized(layout, weight).astype(np.float64)
    for rows in (0, 1, 4, 7):
        data = RNG.normal(size=(rows, size)).astype(np.float32)
        found = built["main"](data)
        bound = (size + 2) * 2.0**-24 * (np.abs(data).sum(1, keepdims=True) * np.abs(numbers).max())
        assert (np.abs(found - np.maximum(data @ numbers.T, 0)) <= bound).all()


def argument_layer(name: str, weight: Any, *, rows: int | str = "?", columns: int | str | None = None) -> ModuleOp:
    """Return a layer whose weight is an argument."""
    count, size = weight.shape[1], weight.shape[1] // BLOCK_LAYOUTS[name].bytes * BLOCK_LAYOUTS[name].size
    columns = len(weight) if columns is None else columns
    return parse_module(PROGRAM.format(rows=rows, columns=columns, size=size, bytes=count, name=name))


def expect_product(found: Any, data: Any, name: str, weight: Any) -> None:
    numbers = dequantized(BLOCK_LAYOUTS[name], weight).astype(np.float64)
    bound = (data.shape[-1] + 2) * 2.0**-24 * (np.abs(data) @ np.abs(numbers).T)
    assert (np.abs(found - np.maximum(data @ numbers.T, 0)) <= bound).all()


@pytest.mark.parametrize("name", [*LAYOUTS, *FEW_BITS])
def test_layouts_of_arguments(name: str) -> None:
    """A weight that is an argument is read as it is, whatever its layout, and never unpacked as a whole."""
    weight = some_weight(name, 36, 4)
    built = build(argument_layer(name, weight, rows=3))
    assert str(built.ir("loops")).count("vectorized") > 0
    assert f"36x{4 * BLOCK_LAYOUTS[name].size}xf32" not in str(built.ir("loops"))
    data = RNG.normal(size=(3, 4 * BLOCK_LAYOUTS[name].size)).astype(np.float32)
    expect_product(built["main"](data, weight), data, name, weight)


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("columns", [0, 1, 5, 48])
@pytest.mark.parametrize("rows", [0, 1, 3, 17, 64])
@pytest.mark.parametrize("name", ["Q8_0", "Q4_K", "4_BITS_32_F16"])
def test_shapes_of_arguments(name: str, rows: int, columns: int) -> None:
    weight = some_weight(name, columns, 5)
    data = RNG.normal(size=(rows, 5 * BLOCK_LAYOUTS[name].size)).astype(np.float32)
    expect_product(build(argument_layer(name, weight, rows=rows))["main"](data, weight), data, name, weight)


def test_any_rows_and_columns_of_arguments() -> None:
    weight = some_weight("Q4_0", 44, 8)
    layers = [build(argument_layer("Q4_0", weight, columns=columns))["main"] for columns in (44, "?")]
    for rows in (0, 1, 4, 7):
        data = RNG.normal(size=(rows, 256)).astype(np.float32)
        for layer in layers:
            expect_product(layer(data, weight), data, "Q4_0", weight)


def test_arguments_that_are_mapped_or_strided(tmp_path: Path) -> None:
    """Arrays of a file are read as they are; strided ones are copied; scales that are NaN make their row NaN."""
    weight = some_weight("Q8_0", 16, 8)
    weight[3, 34:36] = 255
    np.savez(tmp_path / "weights.npz", w=weight)
    mapped = load_arrays(tmp_path / "weights.npz", mapped=True)["w"]
    layer = build(argument_layer("Q8_0", weight))["main"]
    data = RNG.normal(size=(2, 256)).astype(np.float32)
    found = layer(data, mapped)
    assert not mapped.flags.writeable
    assert np.isnan(found[:, 3]).all()
    assert not np.isnan(np.delete(found, 3, 1)).any()
    wide = np.repeat(weight, 2, 0)
    np.testing.assert_array_equal(layer(data, wide[::2]), found)


@pytest.mark.parametrize("wrong", [np.zeros((16, 33), np.uint8), np.zeros((16, 272), np.int8), np.zeros(272, np.uint8)])
def test_wrong_arguments(wrong: Any) -> None:
    layer = build(argument_layer("Q8_0", some_weight("Q8_0", 16, 8)))["main"]
    with pytest.raises(RelexError, match=r"argument 'w': expected (shape .16, 272.|dtype uint8), found"):
        layer(np.zeros((1, 256), np.float32), wrong)


def test_rounded_data_of_arguments() -> None:
    """With data in bytes, a weight that is an argument gives what it does as a constant, up to the rounding of sums."""
    weight = some_weight("Q4_0", 64, 8)
    layer = argument_layer("Q4_0", weight, rows=4)
    data = RNG.normal(size=(4, 256)).astype(np.float32)
    constant = build(BindParamsPass("main", {"w": weight})(layer), precision="i8")["main"](data)
    np.testing.assert_allclose(build(layer, precision="i8")["main"](data, weight), constant, rtol=1e-5, atol=1e-3)
