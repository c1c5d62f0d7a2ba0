"""What the cost model chooses for matrix products on five processors, held to arithmetic; blocks of rows keep sums."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from programs import Array
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import parse_module
from relex.dialects.target.processors import PROCESSORS, Processor
from relex.dialects.target.target_attribute import Target, set_target
from relex.dialects.tir import BlockOp, PrimFuncOp
from relex.lowering import RelexPipelinePass
from relex.passes import CheckTirPass, run_pass
from relex.passes.analysis.loop_tree import loops_of
from relex.passes.cpu import cost
from relex.passes.cpu.reduction_axes import ReductionAxes
from relex.passes.cpu.register_tiles import Tile
from relex.passes.cpu.row_blocks import RowBlocks, row_blocks
from relex.runtime import build

AVX2 = PROCESSORS["x86-64 with AVX2"]
RELU = "%1 = relex.relu %0 : ({result}) -> {result}"
PROCESSOR_RECORDS = {
    "SSE": PROCESSORS["x86-64 with SSE2"],
    "AVX2, small second cache": replace(AVX2, l2_bytes=2**19),
    "AVX-512": PROCESSORS["x86-64 with AVX-512"],
    "NEON": PROCESSORS["AArch64"],
    "large caches": replace(AVX2, l1_bytes=3 * 2**14, l1_ways=12, l2_bytes=2**21, l3_bytes=2**24),
}
SHAPES = [
    *((n, n, n) for n in (256, 512, 1024, 2048)),
    (512, 1024, 1024),
    (1000, 1021, 1000),
    (64, 256, 4096),
    (4096, 64, 64),
    (127, 253, 511),
    (1024, 4096, 1024),
]


def product(m: int, k: int, n: int, kind: str = "f32", op: str = "matmul", batch: str = "", then: str = "") -> str:
    b_shape = f"{n}x{k}" if op == "dense" else f"{batch}{k}x{n}"
    a, b, result = (f"tensor<{shape}x{kind}>" for shape in (f"{batch}{m}x{k}", b_shape, f"{batch}{m}x{n}"))
    return f"""
    func.func @main(%a: {a}, %b: {b}) -> {result} {{
      %0 = relex.{op} %a, %b : ({a}, {b}) -> {result}
      {then.format(result=result)}
      func.return %{int(bool(then))} : {result}
    }}"""


def choice(module: ModuleOp, processor: Processor) -> tuple[Tile, RowBlocks]:
    """The tile and the blocks of the product in a module."""
    set_target(module, Target("riscv64-unknown-linux-gnu"))  # It has no vectors, so nothing is scheduled.
    loops = RelexPipelinePass("loops")(module)
    block = next(op for op in loops.walk() if isinstance(op, BlockOp) and op.init is not None)
    axes = ReductionAxes.all_of(block)[0]
    tile = axes.tile(processor)
    return tile, row_blocks(axes, tile, processor)


def lines_in_a_set(rows: int, distance: int, processor: Processor) -> int:
    """The most lines of a set that rows need which start `distance` bytes apart."""
    sets = processor.l1_bytes // (processor.l1_ways * processor.line_bytes)
    return max(Counter(start // processor.line_bytes % sets for start in range(0, rows * distance, distance)).values())


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", PROCESSOR_RECORDS)
def test_choices_for_products(name: str, kind: str) -> None:
    processor, size = PROCESSOR_RECORDS[name], int(kind[1:]) // 8
    for m, k, n in SHAPES:
        tile, blocks = choice(parse_module(product(m, k, n, kind)), processor)
        sums = tile.rows * tile.vectors
        assert sums + tile.vectors + 1 <= processor.vector_registers, (m, k, n)
        assert tile.lanes * size * 8 == processor.vector_bits
        # Two loads and two multiplications start in each cycle: loads must not be what takes longest.
        assert tile.rows + tile.vectors <= sums
        assert sums >= cost.LATENCY
        distance = (blocks.stride or k) * size
        assert lines_in_a_set(tile.rows, distance, processor) < processor.l1_ways, (m, k, n)
        assert (blocks.stride or k) >= k
        rows = blocks.tiles * tile.rows or m
        assert rows * distance <= (cost.L3_SIZES_OF_A_BLOCK if blocks.tiles else 1) * processor.l3_bytes, (m, k, n)
        assert rows <= m


HASWELL = Target("x86_64-unknown-linux-gnu", "haswell", "+avx2")


def scheduled(text: str, target: Target) -> ModuleOp:
    module = parse_module(text)
    set_target(module, target)
    return RelexPipelinePass("loops")(module)


def loop_extents(module: ModuleOp, block: str) -> list[int]:
    """The extents of the loops around a block, outermost first."""
    op = next(op for op in module.walk() if isinstance(op, BlockOp) and op.block_name.data == block)
    return [loop.extent for loop in loops_of(op) if isinstance(loop.extent, int)]


@pytest.mark.parametrize(
    ("op", "rows", "terms", "columns", "together"),
    [
        ("dense", 512, 768, 1024, 1),
        ("matmul", 512, 768, 1024, 4),
        ("matmul", 256, 2560, 1024, 2),  # Half of the second-level cache holds three panels of 2560 terms.
        ("matmul", 512, 768, 512, 2),  # Threads share sixteen parts.
        ("matmul", 512, 768, 16 * 67, 1),
    ],
)
def test_panels_are_packed_when_they_are_used(op: str, rows: int, terms: int, columns: int, together: int) -> None:
    """Panels of 16 columns are packed in the loop of the panels, before all tiles of rows; several at a time if their
    columns are contiguous."""
    module = scheduled(product(rows, terms, columns, op=op, then=RELU), HASWELL)
    (func,) = (func for func in module.walk() if isinstance(func, PrimFuncOp))
    assert loop_extents(module, op)[0] == loop_extents(module, "b_local")[0] == columns // (16 * together)
    assert f"%b_local = tir.alloc_buffer : memref<{f'{together}x' if together > 1 else ''}{terms}x16xf32>" in str(func)
    assert "tir.for parallel" in str(func)


@pytest.mark.parametrize("text", [product(101, 128, 264), product(101, 128, 264).replace("128", "?")])
def test_single_rows_of_any_number_are_wide(text: str) -> None:
    """Rows that fill no tile read eight vectors of neighbouring columns at a time."""
    module = scheduled(text.replace("101", "?").replace("264", "?"), HASWELL)
    assert "tir.alloc_buffer : memref<1x64xf32>" in str(module)


def values(kind: str, *shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype({"f32": np.float32, "f64": np.float64}[kind])


def make_caches_tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PROCESSORS, "maps", [dict(PROCESSORS)])
    for name, record in PROCESSORS.items():
        PROCESSORS[name] = replace(record, l1_bytes=2**10, l1_ways=2, l2_bytes=2**13, l3_bytes=2**15)


@pytest.mark.parametrize(
    ("m", "k", "n", "op", "batch", "kind"),
    [
        (130, 128, 256, "matmul", 1, "f32"),
        (101, 96, 261, "matmul", 1, "f32"),
        (19, 128, 264, "matmul", 3, "f64"),
        (150, 128, 264, "dense", 1, "f64"),
    ],
)
def test_blocks_keep_the_order_of_sums(
    m: int, k: int, n: int, op: str, batch: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a processor with tiny caches, small products have blocks, and results that are the same bit for bit."""
    text = product(m, k, n, kind, op, f"{batch}x" if batch > 1 else "", RELU)
    shapes = (m, k), (n, k) if op == "dense" else (k, n)
    a, b = (values(kind, *shape) if batch == 1 or op == "dense" else values(kind, batch, *shape) for shape in shapes)
    expected = build(text, strict=True)["main"](a, b)
    make_caches_tiny(monkeypatch)
    assert np.array_equal(build(text, strict=True, cache=False)["main"](a, b), expected)
    np.testing.assert_allclose(build(text, cache=False)["main"](a, b), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("m", "k", "n", "op", "batch", "kind", "then"),
    [
        (70, 33, 512, "matmul", 1, "f32", RELU),
        (67, 40, 256, "matmul", 3, "f64", ""),
        (65, 17, 512, "dense", 1, "f32", "%1 = relex.permute_dims %0 axes = [0, 1] : ({result}) -> {result}"),
        (71, 33, 256, "dense", 1, "f64", RELU),
        (130, 3, 512, "dense", 1, "f32", ""),
    ],
)
def test_packed_panels(m: int, k: int, n: int, op: str, batch: int, kind: str, then: str) -> None:
    text = product(m, k, n, kind, op, f"{batch}x" if batch > 1 else "", then)
    shapes = (m, k), (n, k) if op == "dense" else (k, n)
    a, b = (np.rint(values(kind, *((batch,) if batch > 1 else ()), *shape)) for shape in shapes)
    expected = a @ (b.T if op == "dense" else b)
    found = build(text)["main"](a, b)
    np.testing.assert_array_equal(found, np.maximum(expected, 0) if then == RELU else expected)


def test_blocks_beside_columns_that_are_counted_at_run_time(monkeypatch: pytest.MonkeyPatch) -> None:
    text = product(101, 128, 264, then=RELU).replace("x264x", "x?x")
    a, b = values("f32", 101, 128), values("f32", 128, 264)
    expected = build(text, strict=True)["main"](a, b)
    make_caches_tiny(monkeypatch)
    assert np.array_equal(build(text, strict=True, cache=False)["main"](a, b), expected)


@pytest.mark.parametrize(("m", "kind"), [(96, "f32"), (130, "f64")])
def test_blocks_are_proved(m: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make_caches_tiny(monkeypatch)
    module = parse_module(product(m, 64, 256, kind))
    set_target(module, Target("x86_64-unknown-linux-gnu", "skylake-avx512", "+avx512f,+avx2"))
    loops = RelexPipelinePass("loops")(module)
    assert re.search(r"%a_local = tir.alloc_buffer : memref<\d+x(72|80)x", str(loops))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # such as what it cannot decide
        run_pass(CheckTirPass(), loops)
