"""Operands of products that are rounded to bf16, and weights that are stored so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.errors import RelexError
from relex.dialects.relex import ConstantOp, DenseBlocksOp, DenseOp
from relex.dialects.relex.block_layouts import BLOCK_LAYOUTS
from relex.dialects.relex.block_quantized import dequantized
from relex.dialects.target.machine import Target
from relex.dialects.target.target_attribute import set_target
from relex.frontend import BlockBuilder, Var, const, op
from relex.passes import MultiplyBlocksPass, NarrowProductsPass
from relex.passes.rewriting.numerics import rounds_operands
from relex.reference import NotEquivalentError, check_pass, interpret
from relex.runtime import build

RNG = np.random.default_rng(0)
BF16 = ml_dtypes.bfloat16
HOST = Target.host()
WITHOUT_PAIRS = replace(HOST, features=HOST.features.replace("+avx512bf16", "-avx512bf16").replace("+amx", "-amx"))
"""This machine without instructions for pairs of numbers of bf16."""


def rounded(x: Any) -> Any:
    return x.astype(BF16).astype(np.float64)


def network(shape: tuple[int | str, ...], body: Callable[[Var], Any]) -> ModuleOp:
    x, builder = Var("x", shape, "float32"), BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(body(x)))
    return builder.get()


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("rows", [1, 4, 33])
@pytest.mark.parametrize("kind", ["dense", "matmul"])
def test_products(kind: str, rows: int, strict: bool) -> None:
    """The formula of the documentation, up to the order of the sum."""
    weight, data = (RNG.standard_normal(size).astype(np.float32) for size in ((48, 200), (rows, 200)))
    numbers = const(weight if kind == "dense" else np.ascontiguousarray(weight.T))
    module = network(("n", 200), lambda x: getattr(op, kind)(x, numbers))
    found = build(module, precision="bf16", strict=strict)["main"](data)
    bound = 202 * 2.0**-24 * (abs(rounded(data)) @ abs(rounded(weight)).T)
    assert (abs(found - rounded(data) @ rounded(weight).T) <= bound).all()
    assert (abs(found - data.astype(np.float64) @ weight.T) > bound).any()


def test_convolutions() -> None:
    weight, data = (RNG.standard_normal(size).astype(np.float32) for size in ((32, 16, 3, 3), (1, 16, 9, 9)))
    module = network((1, 16, 9, 9), lambda x: op.conv2d(x, const(weight), padding=[1]))
    found = build(module, precision="bf16")["main"](data)

    def of_weight(w: Any) -> ModuleOp:
        return network((1, 16, 9, 9), lambda x: op.conv2d(x, const(w.astype(np.float32)), padding=[1]))

    wide, sizes = of_weight(rounded(weight)), of_weight(abs(rounded(weight)))
    expected, mass = (
        build(m, strict=True)["main"](rounded(d).astype(np.float32)) for m, d in ((wide, data), (sizes, abs(data)))
    )
    assert (abs(found - expected) <= 150 * 2.0**-23 * mass).all()


def test_products_of_two_tensors_stay() -> None:
    module = network((3, 3), lambda x: op.matmul(x, x))
    before = str(module)
    assert str(NarrowProductsPass()(module)) == before


class TooCoarsePass(NarrowProductsPass):
    """Promises more digits than there are."""

    name = "too-coarse"
    numerics = replace(NarrowProductsPass.numerics, operands=2**-10)


def test_bounds_are_checked() -> None:
    """Results are held to the rounding of the operands, and to no more."""
    assert NarrowProductsPass.numerics == rounds_operands(2**-8)
    assert str(NarrowProductsPass.numerics) == "reassociates and rounds_operands(0.00390625)"
    weight = RNG.standard_normal((8, 4)).astype(np.float32)
    module = network((16, 4), lambda x: op.dense(x, const(weight)))
    check_pass(NarrowProductsPass(), module)
    with pytest.raises(NotEquivalentError, match="give or take"):
        check_pass(TooCoarsePass(), module)


@pytest.mark.parametrize("dtype", [BF16, np.float16])
@pytest.mark.parametrize("rows", [1, 4, 20])
def test_weights_become_wide_in_registers(rows: int, dtype: Any) -> None:
    weight, data = (RNG.standard_normal(size).astype(np.float32) for size in ((64, 96), (rows, 96)))
    stored = weight.astype(dtype)
    module = network((rows, 96), lambda x: op.relu(op.dense(x, op.astype(const(stored), "float32"))))
    built = build(module)
    loops = str(built.ir("loops"))
    assert "64x96xf32" not in loops
    wide = stored.astype(np.float64)
    bound = 98 * 2.0**-24 * (abs(data) @ abs(wide).T)
    assert (abs(built["main"](data) - np.maximum(data @ wide.T, 0)) <= bound).all()


@pytest.mark.parametrize("dtype", [BF16, np.float16])
def test_data_becomes_wide_once(dtype: Any) -> None:
    """Not once for each column; rounded once, with the result."""
    weight, data = (RNG.standard_normal(size).astype(np.float32).astype(dtype) for size in ((256, 32), (20, 32)))
    x, builder = Var("x", (20, 32), str(data.dtype)), BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(op.dense(x, const(weight))))
    built = build(builder.get(), target=WITHOUT_PAIRS)
    loops = str(built.ir("loops"))
    assert "memref<20x32xf32>" in loops
    assert "memref<256x32xf32>" not in loops
    a, b = data.astype(np.float64), weight.astype(np.float64)
    found = built["main"](data)
    assert found.dtype == data.dtype
    bound = 2.0 ** (-8 if dtype is BF16 else -11) * abs(a @ b.T) + 34 * 2.0**-23 * (abs(a) @ abs(b).T)
    assert (abs(found.astype(np.float64) - a @ b.T) <= bound).all()


def test_other_precisions_are_refused() -> None:
    module = network((1, 4), op.relu)
    with pytest.raises(RelexError, match="expected a precision of f32, bf16 or i8, found 'f8'"):
        build(module, precision="f8")
    assert build(module, precision="f32")["main"](-np.ones((1, 4), np.float32)).max() == 0


@pytest.mark.parametrize(("rows", "is_rounded"), [(1, False), (15, False), (16, True), (128, True), ("n", False)])
@pytest.mark.parametrize("cpu", ["sapphirerapids", "znver4", "icelake-server"])
def test_weights_in_blocks(cpu: str, rows: int | str, is_rounded: bool) -> None:
    """Many rows make up for unpacking a weight, where there are instructions for pairs, in tiles or in vectors."""
    blocks = RNG.integers(0, 60, (48, 4, 18), np.uint8).reshape(48, -1)
    module = network((rows, 128), lambda x: op.dense(x, op.dequantize_blocks(const(blocks), layout="Q4_0")))
    set_target(module, Target("x86_64-unknown-linux-gnu", cpu))
    packed = MultiplyBlocksPass()(module)
    narrow = NarrowProductsPass()(packed)
    is_rounded &= cpu != "icelake-server"
    assert any(isinstance(o, DenseOp) for o in narrow.walk()) is is_rounded
    assert any(isinstance(o, DenseBlocksOp) for o in narrow.walk()) is not is_rounded
    check_pass(NarrowProductsPass(), packed)
    data = RNG.standard_normal((rows if isinstance(rows, int) else 128, 128)).astype(np.float32)
    weight = dequantized(BLOCK_LAYOUTS["Q4_0"], blocks)
    if is_rounded:
        data, weight = (x.astype(BF16).astype(np.float32) for x in (data, weight))
    found, expected = interpret(narrow)["main"](data), data.astype(np.float64) @ weight.T
    assert (abs(found - expected) <= 130 * 2.0**-24 * (abs(data) @ abs(weight).T)).all()


@pytest.mark.parametrize(("rows", "stays_wide"), [(64, False), (128, True), ("n", False)])
@pytest.mark.parametrize("cpu", ["sapphirerapids", "znver4", "haswell"])
def test_weights_of_many_rows_stay_wide(cpu: str, rows: int | str, stays_wide: bool) -> None:
    """Without pairs, weights in bf16 would be widened again for each tile of rows. The numbers are the same."""
    weight = RNG.standard_normal((3, 16)).astype(np.float32)
    module = network((rows, 16), lambda x: op.dense(x, const(weight)))
    set_target(module, Target("x86_64-unknown-linux-gnu", cpu))
    narrow = NarrowProductsPass()(module)
    (product,) = (o for o in narrow.walk() if isinstance(o, DenseOp))
    assert isinstance(product.weight.owner, ConstantOp) is (stays_wide and cpu == "haswell")
    check_pass(NarrowProductsPass(), module)
