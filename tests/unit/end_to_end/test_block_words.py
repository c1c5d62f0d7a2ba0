"""Products with weights in blocks whose data are rounded to bytes, compiled, against their definition."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import parse_module
from relex.dialects.relex import BlockScalesOp, DenseWordsOp
from relex.dialects.relex.block_layouts import BLOCK_LAYOUTS
from relex.dialects.relex.block_quantized import dequantized, numbers_of, parts_of
from relex.dialects.relex.block_words import digits_in_words, words_of_digits
from relex.dialects.target.machine import Target
from relex.dialects.target.target_attribute import set_target
from relex.frontend import BlockBuilder, Var, const, op
from relex.passes import DelayScalesPass, MultiplyBlocksPass, RoundDataPass, run_pass
from relex.reference import check_pass, interpret
from relex.runtime import build

RNG = np.random.default_rng(0)
HOST = Target.host()
AVX2 = Target("x86_64-unknown-linux-gnu", "haswell", "")
has_avx2 = HOST.triple == AVX2.triple and "avx2" in HOST.enabled
LAYOUTS = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "MXFP4")
FEW_BITS = ("4_BITS_32_F16", "4_BITS_16_F32", "8_BITS_64_F16", "2_BITS_32_F16", "4_BITS_32_F16_ZEROS")


def some_weight(name: str, rows: int, count: int) -> Any:
    """Blocks of random bytes, in which floats of 16 bits are below 1, and zero points have 4 bits."""
    layout = BLOCK_LAYOUTS[name]
    blocks = RNG.integers(0, 256, (rows, count, layout.bytes)).astype(np.uint8)
    blocks[..., layout.first_scale : layout.first_scale + layout.scale_bytes] %= 60
    if name.endswith("F32"):
        blocks[..., :4] = RNG.random((rows, count, 1), np.float32).view(np.uint8)
    if name.endswith("ZEROS"):
        blocks[..., layout.first_digit] %= 16
    return blocks.reshape(rows, -1)


def rounded(data: Any, size: int) -> Any:
    """Return data in blocks, rounded as the documentation says, in f64."""
    blocks = data.reshape(*data.shape[:-1], data.shape[-1] // size, size)
    scales = np.abs(blocks).max(-1, keepdims=True) * np.float32(1 / 127)
    factors = np.where(scales > 0, np.float32(1) / np.where(scales > 0, scales, np.float32(1)), np.float32(0))
    return (np.rint(blocks * factors).astype(np.float64) * scales).reshape(data.shape)


def layer(name: str, weight: Any, shape: tuple[int | str, ...]) -> ModuleOp:
    x, builder = Var("x", shape, "float32"), BlockBuilder()
    with builder.function("main", [x]):
        dense = op.dense(x, op.dequantize_blocks(const(weight), layout=name))
        builder.emit_func_output(builder.emit(dense))
    return builder.get()


def on(processor: str, module: ModuleOp) -> ModuleOp:
    set_target(module, Target("x86_64-unknown-linux-gnu", processor, ""))
    return module


def has_words(module: ModuleOp) -> bool:
    return any(isinstance(found, DenseWordsOp) for found in module.walk())


def packed(module: ModuleOp) -> ModuleOp:
    for p in (RoundDataPass(), MultiplyBlocksPass(), DelayScalesPass()):
        module = run_pass(p, module)
    return module


def is_near(found: Any, name: str, weight: Any, data: Any) -> bool:
    layout = BLOCK_LAYOUTS[name]
    numbers = dequantized(layout, weight).astype(np.float64)
    x = rounded(data, prod(layout.numbers))
    # Minima are multiplied separately: their sums may cancel the sums of the digits.
    is_apart = layout.minimum is None and not layout.with_minima
    sizes = np.abs(numbers) if is_apart else np.broadcast_to(np.abs(numbers).max(), numbers.shape)
    return bool((np.abs(found - x @ numbers.T) <= (data.shape[-1] + 4) * 2.0**-24 * (np.abs(x) @ sizes.T)).all())


@pytest.mark.parametrize("name", [*LAYOUTS, *FEW_BITS])
def test_layouts(name: str) -> None:
    """Compiled and interpreted, for this machine and for processors with products of bytes, and of 16 bits alone."""
    weight = some_weight(name, 32, 2)
    data = RNG.normal(size=(3, 2 * BLOCK_LAYOUTS[name].size)).astype(np.float32)
    module = layer(name, weight, data.shape)
    assert is_near(build(module, precision="i8")["main"](data), name, weight, data)
    for processor in ("icelake-server", "haswell"):
        made = packed(on(processor, layer(name, weight, data.shape)))
        words = [found for found in made.walk() if isinstance(found, DenseWordsOp)]
        assert len(words) == 1
        assert words[0].in_pairs is (processor == "haswell" and words[0].halves == 1)
        assert is_near(interpret(made)["main"](data), name, weight, data)
    if has_avx2:
        assert is_near(build(module, precision="i8", target=AVX2)["main"](data), name, weight, data)


@pytest.mark.skipif(not has_avx2, reason="needs AVX2")
@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("columns", [1, 17, 100])
@pytest.mark.parametrize("rows", [1, 3, 17, 33, 100])
@pytest.mark.parametrize("name", ["Q8_0", "Q4_0", "Q4_K"])
def test_sizes_with_avx2(name: str, rows: int, columns: int) -> None:
    """Integers are added up to the same bits by any instructions: data and weights are as large as they may be."""
    layout = BLOCK_LAYOUTS[name]
    weight = some_weight(name, columns, 2)
    blocks = weight.reshape(columns, 2, layout.bytes)
    largest = RNG.integers(0, 2, (columns, 1, 1)).astype(np.uint8)
    blocks[..., layout.scale_bytes :] = np.where(largest, 127, 128) if name == "Q8_0" else 255 * largest
    data = RNG.choice([-1, 1], (rows, 2 * layout.size)).astype(np.float32)
    data[: rows // 2] = np.sign(data[: rows // 2, :1])
    found = build(layer(name, weight, data.shape), precision="i8", target=AVX2)["main"](data)
    assert is_near(found, name, weight, data)


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("shape", [(64,), (4, 64), (26, 64), (2, 3, 64)])
@pytest.mark.parametrize("columns", [5, 48, 64])
def test_shapes(shape: tuple[int, ...], columns: int, strict: bool) -> None:
    weight, data = some_weight("Q4_0", columns, 2), RNG.normal(size=shape).astype(np.float32)
    found = build(layer("Q4_0", weight, shape), precision="i8", strict=strict)["main"](data)
    assert is_near(found, "Q4_0", weight, data)


@pytest.mark.parametrize("rows", [0, 1, 13])
def test_dynamic_rows(rows: int) -> None:
    weight, data = some_weight("Q4_K", 48, 2), RNG.normal(size=(rows, 512)).astype(np.float32)
    assert is_near(build(layer("Q4_K", weight, ("n", 512)), precision="i8")["main"](data), "Q4_K", weight, data)


@pytest.mark.parametrize("compiled", [False, True])
def test_zeros_infinities_and_nan(compiled: bool) -> None:
    """A block of zeros is one; an infinite number, or NaN, makes the results of its row NaN."""
    weight = some_weight("Q8_0", 16, 2)
    data = RNG.normal(size=(5, 64)).astype(np.float32)
    data[0] = 0
    data[1, 3], data[2, 40] = np.inf, np.nan
    data[3] *= 1e-44
    module = layer("Q8_0", weight, (5, 64))
    made = build(module, precision="i8") if compiled else interpret(packed(on("icelake-server", module)))
    found = made["main"](data)
    assert (found[0] == 0).all()
    assert np.isnan(found[1:3]).all()
    assert (np.abs(found[3]) < 1e-30).all()
    assert is_near(found[4:], "Q8_0", weight, data[4:])


@pytest.mark.parametrize("name", ["2_BITS_32_F16_ZEROS", "4_BITS_64_F32_ZEROS", "8_BITS_16_F16_ZEROS"])
def test_zero_points(name: str) -> None:
    """They multiply sums of data, and may have more bits than digits, which stay two in a byte."""
    layout, weight = BLOCK_LAYOUTS[name], some_weight(name, 32, 2)
    weight.reshape(32, 2, -1)[..., layout.first_digit] = RNG.integers(0, 256, (32, 2))
    data = RNG.normal(size=(2, 2 * layout.size)).astype(np.float32)
    module = on("icelake-server", layer(name, weight, data.shape))
    made = packed(module)
    (words,) = (found for found in made.walk() if isinstance(found, DenseWordsOp))
    assert words.halves == (1 if name.startswith("8") else 2)
    # What is subtracted may be as large as what is left.
    both = 2 * np.abs(dequantized(layout, weight)).max()
    x = rounded(data, layout.size)
    bound = (data.shape[-1] + 4) * 2.0**-24 * both * np.abs(x).sum(-1, keepdims=True)
    expected = x @ dequantized(layout, weight).astype(np.float64).T
    for found in (interpret(made)["main"](data), build(layer(name, weight, data.shape), precision="i8")["main"](data)):
        assert (np.abs(found - expected) <= bound).all()
    check_pass(DelayScalesPass(), run_pass(MultiplyBlocksPass(), run_pass(RoundDataPass(), module)))


def test_layers_of_the_same_data_round_it_once() -> None:
    x, builder = Var("x", (4, 64), "float32"), BlockBuilder()
    with builder.function("main", [x]):
        parts = [op.dense(x, op.dequantize_blocks(const(some_weight("Q4_0", 16, 2)), layout="Q4_0")) for _ in range(3)]
        builder.emit_func_output(builder.emit(op.concat(parts, axis=1)))
    made = packed(on("icelake-server", builder.get()))
    assert sum(isinstance(found, BlockScalesOp) for found in made.walk()) == 1


@pytest.mark.parametrize("is_rounded", [False, True])
def test_programs_that_round_data_themselves(is_rounded: bool) -> None:
    """Scales of a program stay its own, and layers that round the same data, each by itself, share the bytes."""
    x, builder, weight = Var("x", (4, 64), "float32"), BlockBuilder(), some_weight("Q4_0", 16, 2)
    with builder.function("main", [x]):
        own = op.block_scales(x, 32)
        data = [op.round_blocks(x, 32) if is_rounded else x for _ in range(2)]
        layers = [op.dense(d, op.dequantize_blocks(const(weight), layout="Q4_0")) for d in data]
        builder.emit_func_output([builder.emit(part) for part in (own, *layers)])
    module = builder.get()
    numbers = RNG.normal(size=(4, 64)).astype(np.float32)
    scales, *found = build(module.clone(), precision="i8")["main"](numbers)
    np.testing.assert_array_equal(scales, np.abs(numbers).reshape(4, 2, 32).max(-1) * np.float32(1 / 127))
    assert all(is_near(part, "Q4_0", weight, numbers) for part in found)
    for p in (RoundDataPass(), MultiplyBlocksPass(), DelayScalesPass()):
        module = run_pass(p, on("icelake-server", module))
    kinds = [type(op) for op in module.walk()]
    assert (kinds.count(BlockScalesOp), kinds.count(DenseWordsOp)) == (2, 2)


@pytest.mark.parametrize("name", ["Q4_0", "Q5_1", "Q6_K"])
def test_passes_keep_what_they_promise(name: str) -> None:
    module = on("icelake-server", layer(name, some_weight(name, 3, 1), (2, BLOCK_LAYOUTS[name].size)))
    check_pass(RoundDataPass(), module)
    narrow = run_pass(MultiplyBlocksPass(), run_pass(RoundDataPass(), module))
    check_pass(DelayScalesPass(), narrow)
    assert has_words(run_pass(DelayScalesPass(), narrow))


@pytest.mark.parametrize("name", [name for name in BLOCK_LAYOUTS if BLOCK_LAYOUTS[name].digits is not None])
def test_digits_are_in_their_range(name: str) -> None:
    layout, weight = BLOCK_LAYOUTS[name], some_weight(name, 2, 3)
    digits, *_ = numbers_of(layout, *parts_of(layout, weight))
    assert layout.digits is not None
    assert {digits.min(), digits.max()} <= {*layout.digits}


@pytest.mark.parametrize(("halves", "in_pairs"), [(1, False), (1, True), (2, False)])
def test_words(halves: int, in_pairs: bool) -> None:
    digits = RNG.integers(0, 256 if halves == 1 else 16, (3, 32)).astype(np.uint8)
    words = words_of_digits(digits, halves, in_pairs=in_pairs)
    np.testing.assert_array_equal(digits_in_words(words, halves, in_pairs=in_pairs), digits)


def test_operators_in_text() -> None:
    module = parse_module("""
func.func @main(%x: tensor<2x64xf32>) -> (tensor<2x64xf32>, tensor<2x2xf32>, tensor<2x64xi8>) {
  %y = relex.round_blocks %x size = 32 : (tensor<2x64xf32>) -> tensor<2x64xf32>
  %s = relex.block_scales %x size = 32 : (tensor<2x64xf32>) -> tensor<2x2xf32>
  %d = relex.block_digits %x, %s : (tensor<2x64xf32>, tensor<2x2xf32>) -> tensor<2x64xi8>
  func.return %y, %s, %d : tensor<2x64xf32>, tensor<2x2xf32>, tensor<2x64xi8>
}""")
    data = RNG.normal(size=(2, 64)).astype(np.float32)
    y, scales, digits = build(module)["main"](data)
    np.testing.assert_array_equal(y, np.repeat(scales, 32, -1) * digits)
    np.testing.assert_allclose(y, rounded(data, 32), rtol=1e-6)
    for found, expected in zip(interpret(module)["main"](data), (y, scales, digits), strict=True):
        np.testing.assert_array_equal(found, expected)
