"""Products of pairs of numbers of bf16 in vectors, on processors that multiply them in the time of one of f32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16
from programs import Array
from test_matrix_units import check_floats, floats
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.relex import MatmulPairsOp
from relex.dialects.relex.block_layouts import BLOCK_LAYOUTS
from relex.dialects.relex.block_quantized import dequantized
from relex.dialects.target.features import has_feature
from relex.dialects.target.machine import Target
from relex.dialects.target.target_attribute import set_target
from relex.dialects.tir import BlockOp, PrimFuncOp
from relex.dialects.walks import walk_of
from relex.frontend import BlockBuilder, Var, const, op
from relex.lowering import ExpandDot4Pass
from relex.lowering.llvm.object_code import compile_to_assembly
from relex.lowering.relex_pipeline import Level, RelexPipelinePass
from relex.passes import NarrowProductsPass
from relex.reference import interpret
from relex.runtime import build
from relex.runtime.compilation import lower_program

RNG = np.random.default_rng(0)
HOST = Target.host()
AMD = Target("x86_64-unknown-linux-gnu", "znver4")
INTEL = Target(AMD.triple, "cooperlake")
"""It has the instruction, but does no more with it than with those for f32."""

runs = HOST.triple == AMD.triple and all(has_feature(HOST, name) for name in ("avx512bf16", "avx512vl", "avx512vnni"))


def lowered(module: ModuleOp, level: Level = "core", target: Target = AMD, *, strict: bool = False) -> ModuleOp:
    module = module.clone()
    set_target(module, target)
    return RelexPipelinePass(level, strict=strict, passes=(NarrowProductsPass(),))(module)


def is_packed(module: ModuleOp, target: Target = AMD, *, strict: bool = False) -> bool:
    return "dot2" in str(lowered(module, "loops", target, strict=strict))


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["precision", "constant", "argument"])
@pytest.mark.parametrize("sizes", [(64, 256), (100, 100), (33, 1001)], ids=str)
@pytest.mark.parametrize("rows", [1, 2, 3, 15, 16, 17, 100, "n"])
def test_products(rows: int | str, sizes: tuple[int, int], kind: str) -> None:
    dtype = "float32" if kind == "precision" else "bfloat16"
    w = RNG.standard_normal(sizes).astype(np.float32 if kind == "precision" else bfloat16)
    module = floats(rows, w, constant=kind != "argument", dtype=dtype)
    assert is_packed(module) is (isinstance(rows, str) or rows >= (16 if kind == "argument" else 2))
    if not runs:
        return  # To interpret these takes minutes.
    main = build(module, target=AMD, precision="bf16" if kind == "precision" else "f32")["main"]
    for count in (1, 16, 37) if isinstance(rows, str) else (rows,):
        x = RNG.standard_normal((count, sizes[1])).astype(w.dtype)
        check_floats(main(*([x, w] if kind == "argument" else [x])), x, w)


@pytest.mark.parametrize("terms", [16, 17])
def test_the_interpreter_knows_the_instruction(terms: int) -> None:
    w, x = (RNG.standard_normal(size).astype(bfloat16) for size in ((40, terms * 8), (17, terms * 8)))
    module = ExpandDot4Pass()(lowered(floats(17, w, constant=True)))
    names = {call.intrin.data for call in walk_of(module, llvm.CallIntrinsicOp)}
    assert "llvm.x86.avx512bf16.dpbf16ps.512" in names
    check_floats(interpret(module)["main"](x), x, w)


def test_the_instruction_is_used() -> None:
    module = floats(64, RNG.standard_normal((64, 256)).astype(bfloat16), constant=True)
    set_target(module, AMD)
    text = compile_to_assembly(lower_program(module).module)
    assert "vdpbf16ps" in text
    assert "vfmadd" not in text


@pytest.mark.parametrize("target", [INTEL, Target(AMD.triple, "znver3"), Target(AMD.triple, "haswell")], ids=str)
def test_other_processors_do_not_pack(target: Target) -> None:
    module = floats(64, RNG.standard_normal((64, 256)).astype(np.float32), constant=True, dtype="float32")
    assert not is_packed(module, target)


def test_strict_products_stay() -> None:
    module = floats(64, RNG.standard_normal((64, 256)).astype(bfloat16), constant=True)
    assert is_packed(module)
    assert not is_packed(module, strict=True)


def test_numbers_that_are_none() -> None:
    """Infinity and NaN go where they go in f32; numbers below 2**-126 may count as zeros."""
    w = RNG.standard_normal((32, 64)).astype(bfloat16)
    x = RNG.standard_normal((8, 64)).astype(bfloat16)
    x[0, 3], x[1, 5], x[2] = np.inf, np.nan, 1e-39
    module = floats(8, w, constant=True)
    found = (build(module, target=AMD) if runs else interpret(ExpandDot4Pass()(lowered(module))))["main"](x)
    with np.errstate(all="ignore"):
        wanted = np.maximum(x.astype(np.float32) @ w.astype(np.float32).T, 0)
    np.testing.assert_array_equal(np.isnan(found.astype(np.float32)), np.isnan(wanted))
    np.testing.assert_array_equal(found[0].astype(np.float32), wanted[0])
    assert abs(found[2].astype(np.float32)).max() < 1e-36


@pytest.mark.parametrize("name", ["Q4_0", "Q8_0", "Q4_K"])
def test_weights_in_blocks(name: str) -> None:
    """A weight that each call unpacks in pairs."""
    layout = BLOCK_LAYOUTS[name]
    blocks = RNG.integers(0, 60, (48, 2 * layout.bytes * (256 // layout.size))).astype(np.uint8)
    builder, x = BlockBuilder(), Var("x", (33, 512), "float32")
    with builder.function("main", [x]):
        dense = builder.emit(op.dense(x, op.dequantize_blocks(const(blocks), layout=name)))
        builder.emit_func_output(builder.emit(op.relu(dense)))
    module = builder.get()
    assert is_packed(module)
    data = RNG.standard_normal((33, 512)).astype(np.float32)
    if runs:
        found = build(module, target=AMD, precision="bf16")["main"](data)
        check_floats(found, data, dequantized(layout, blocks))


@pytest.mark.parametrize("images", [2, "n"])
@pytest.mark.parametrize(("size", "strides"), [((14, 14), [1, 1]), ((17, 33), [2, 1])], ids=str)
def test_convolutions(size: tuple[int, int], strides: list[int], images: int | str) -> None:
    weights: list[Array] = [
        RNG.standard_normal((outputs, inputs, side, side)).astype(np.float32) * np.float32((inputs * side**2) ** -0.5)
        for inputs, outputs, side in ((3, 32, 3), (32, 64, 1), (64, 64, 3))
    ]
    x = RNG.standard_normal((2, 3, *size)).astype(np.float32)
    y, builder = Var("x", (images, *x.shape[1:]), "float32"), BlockBuilder()
    with builder.function("main", [y]):
        value: Any = y
        for w in weights:
            steps = strides if w.shape[2] > 1 else [1, 1]
            sums = builder.emit(op.conv2d(value, const(w), strides=steps, padding=[w.shape[2] // 2] * 4))
            value = builder.emit(op.relu(sums))
        builder.emit_func_output(value)
    module = builder.get()
    assert is_packed(module)
    if not runs:
        return
    found, wanted = (build(module, target=t, precision="bf16")["main"](x) for t in (AMD, Target(AMD.triple, "znver3")))
    # Sums that are added up in another order may be rounded to the neighbouring bf16.
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2.0**-8 * abs(wanted).max())
    assert np.linalg.norm(found - wanted) < 2.0**-9 * np.linalg.norm(wanted)


def test_the_operator_is_that_of_tiles() -> None:
    module = floats(64, RNG.standard_normal((64, 256)).astype(bfloat16), constant=True)
    assert any(isinstance(o, MatmulPairsOp) for o in lowered(module, "graph").walk())


@pytest.mark.parametrize("rows", [(128,), (128, 1), (2, 64)], ids=str)
def test_arguments_are_copied_in_words_and_packed_in_tiles(rows: tuple[int, ...]) -> None:
    """A kernel that copies the words of the weight as they are, and one that packs them as it packs an argument."""
    w, builder = Var("w", (96, 256), "bfloat16"), BlockBuilder()
    x = Var("x", (*rows, 256), "bfloat16")
    with builder.function("main", [x, w]):
        builder.emit_func_output(builder.emit(op.dense(x, w)))
    module = builder.get()
    loops = lowered(module, "loops")
    (product,) = (f for f in walk_of(loops, PrimFuncOp) if "dot2" in str(f))
    words = [str(kind) for kind in product.function_type.inputs][:2]
    assert all("i32" in kind for kind in words)
    assert not any("rf" in block.block_name.data.split("_") for block in walk_of(product, BlockOp))
    if runs:
        a, b = (RNG.standard_normal(size).astype(bfloat16) for size in ((*rows, 256), (96, 256)))
        found = build(module, target=AMD)["main"](a, b)
        wide = a.astype(np.float64) @ b.astype(np.float64).T
        np.testing.assert_allclose(found.astype(np.float64), wide, rtol=2.0**-8, atol=1e-4)
