"""The default schedule: what it tiles, and that results stay the same bit for bit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import Array
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import parse_module, verify_module
from relex.dialects.target.processors import processor_of
from relex.dialects.target.target_attribute import Target, set_target
from relex.dialects.tir import BlockOp, ForOp, LoopKind
from relex.lowering import RelexPipelinePass
from relex.passes import CheckTirPass, ScheduleCpuPass
from relex.passes.analysis.loop_tree import label_of, loops_of
from relex.passes.cpu.register_tiles import best_tile
from relex.reference import interpret
from relex.runtime import build

AVX512 = Target("x86_64-unknown-linux-gnu", "skylake-avx512", "+avx512f,+avx2")
AVX2 = Target("x86_64-unknown-linux-gnu", "haswell", "+avx2")
SSE = Target("x86_64-unknown-linux-gnu", "x86-64", "+sse2")
NEON = Target("aarch64-unknown-linux-gnu")
OTHER = Target("riscv64-unknown-linux-gnu")

PROGRAMS = {
    "dense": ("dense %a, %b", "32x64xf32", "64x64xf32", "32x64xf32"),
    "odd rows": ("dense %a, %b", "17x33xf32", "64x33xf32", "17x64xf32"),
    "odd columns": ("dense %a, %b", "16x33xf32", "67x33xf32", "16x67xf32"),
    "odd": ("dense %a, %b", "13x37xf32", "71x37xf32", "13x71xf32"),
    "few columns": ("dense %a, %b", "67x200xf32", "3x200xf32", "67x3xf32"),
    "one term": ("dense %a, %b", "200x1xf32", "171x1xf32", "200x171xf32"),
    "one row": ("matmul %a, %b", "1x300xf32", "300x128xf32", "1x128xf32"),
    "batches": ("matmul %a, %b", "3x17x33xf32", "3x33x65xf32", "3x17x65xf32"),
    "shared": ("matmul %a, %b", "3x17x33xf32", "33x64xf32", "3x17x64xf32"),
    "f64": ("dense %a, %b", "19x31xf64", "65x31xf64", "19x65xf64"),
    "i32": ("dense %a, %b", "19x31xi32", "65x31xi32", "19x65xi32"),
    "narrow images": ("conv2d %a, %b padding = [1, 1]", "2x3x8x8xf32", "24x3x3x3xf32", "2x24x8x8xf32"),
    "odd images": ("conv2d %a, %b strides = [2, 1]", "3x5x7x9xf32", "10x5x3x3xf32", "3x10x3x7xf32"),
    "dilation": ("conv2d %a, %b dilation = [2, 1]", "2x3x9x9xf32", "32x3x3x3xf32", "2x32x5x7xf32"),
    "convolution": ("conv2d %a, %b padding = [1, 1]", "2x3x16x16xf32", "5x3x3x3xf32", "2x5x16x16xf32"),
}


def program(name: str) -> str:
    operation, a, b, result = PROGRAMS[name]
    a, b, result = (f"tensor<{t}>" for t in (a, b, result))
    return f"""
    func.func @main(%a: {a}, %b: {b}) -> {result} {{
      %0 = relex.{operation} : ({a}, {b}) -> {result}
      func.return %0 : {result}
    }}"""


def loops(text: str, target: Target = AVX512, *, strict: bool = False) -> ModuleOp:
    module = parse_module(text)
    set_target(module, target)
    result = RelexPipelinePass("loops", strict=strict)(module)
    verify_module(result)
    return result


def is_tiled(module: ModuleOp) -> bool:
    return any(isinstance(op, ForOp) and op.kind.data is LoopKind.VECTORIZED for op in module.walk())


def values(name: str) -> list[Array]:
    rng = np.random.default_rng(0)
    arrays: list[Array] = []
    for operand in PROGRAMS[name][1:3]:
        *shape, kind = operand.split("x")
        dtype = {"f32": np.float32, "f64": np.float64, "i32": np.int32}[kind]
        arrays.append((8 * rng.standard_normal(tuple(map(int, shape)))).astype(dtype))
    return arrays


def do_nothing(schedule_cpu: ScheduleCpuPass, ctx: Context, op: ModuleOp) -> None:
    """In the place of the pass."""


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_stay_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = values(name)
    text = program(name)
    scheduled = loops(text, Target.host(), strict=True)
    assert is_tiled(scheduled)
    tiled, exactly = build(text)["main"](*arrays), build(scheduled, strict=True)["main"](*arrays)
    monkeypatch.setattr(ScheduleCpuPass, "apply", do_nothing)
    plain = build(text, strict=True)["main"](*arrays)
    np.testing.assert_array_equal(exactly, plain)
    np.testing.assert_allclose(tiled, plain, rtol=1e-4, atol=1e-2)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("target", [AVX512, SSE], ids=lambda target: target.cpu)
@pytest.mark.parametrize("name", PROGRAMS)
def test_tiles_use_memory_rightly(name: str, target: Target) -> None:
    """Columns at the edge that do not exist are computed from what nobody has written, and go nowhere."""
    CheckTirPass(undecided="error")(loops(program(name), target))


@pytest.mark.parametrize("target", [AVX512, AVX2, SSE, NEON], ids=lambda target: target.cpu or target.triple)
def test_targets(target: Target) -> None:
    text = program("odd")
    arrays = [np.rint(array) for array in values("odd")]
    module = loops(text, target)
    assert is_tiled(module)
    np.testing.assert_array_equal(interpret(module)["main"](*arrays), arrays[0] @ arrays[1].T)


def dense(rows: object, terms: object, columns: object) -> str:
    a, b, result = (f"tensor<{m}x{n}xf32>" for m, n in ((rows, terms), (columns, terms), (rows, columns)))
    return f"""
    func.func @main(%a: {a}, %b: {b}) -> {result} {{
      %0 = relex.dense %a, %b : ({a}, {b}) -> {result}
      func.return %0 : {result}
    }}"""


ROWS = [0, 1, 2, 3, 4, 5, 13, 14, 15, 29, 64]


MATMUL = """
func.func @main(%a: tensor<?x?xf32>, %b: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %0 = relex.matmul %a, %b : (tensor<?x?xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  func.return %0 : tensor<?x64xf32>
}"""


@pytest.mark.parametrize(
    ("text", "shape"), [(dense("?", 33, 71), (71, 33)), (MATMUL, (33, 64))], ids=["dense", "matmul"]
)
def test_rows_of_any_number(text: str, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_tiled(loops(text))
    rng = np.random.default_rng(0)
    w = rng.standard_normal(shape).astype(np.float32)
    inputs = [rng.standard_normal((rows, 33)).astype(np.float32) for rows in ROWS]
    tiled = build(text, strict=True)["main"]
    found = [tiled(x, w) for x in inputs]
    monkeypatch.setattr(ScheduleCpuPass, "apply", do_nothing)
    plain = build(text, strict=True)["main"]
    for x, y in zip(inputs, found, strict=True):
        np.testing.assert_array_equal(y, plain(x, w))


OPEN_SIZES = [(0, 3, 4), (1, 1, 1), (30, 0, 70), (4, 5, 64), (23, 2, 65), (24, 17, 64), (57, 3, 127), (128, 2, 95)]


@pytest.mark.parametrize(
    "target", [AVX512, pytest.param(AVX2, marks=pytest.mark.full), SSE], ids=lambda target: target.cpu
)
def test_products_of_open_sizes(target: Target) -> None:
    """Columns are packed panel by panel if there are many rows, and others stay where they are."""
    a = "tensor<?x?xi32>"
    text = f"""
    func.func @main(%a: {a}, %b: {a}) -> {a} {{
      %0 = relex.matmul %a, %b : ({a}, {a}) -> {a}
      func.return %0 : {a}
    }}"""
    module = loops(text, target)
    assert "%b_local" in str(module)
    product = interpret(module)["main"]
    rng = np.random.default_rng(0)
    for rows, terms, columns in OPEN_SIZES:
        x = rng.integers(-9, 9, (rows, terms), dtype=np.int32)
        y = rng.integers(-9, 9, (terms, columns), dtype=np.int32)
        np.testing.assert_array_equal(product(x, y), x @ y)


SEQUENCES = {
    "a sequence": ("", "%1", "5x32x?xf32"),
    # Only one element is right: rules see loops that run as often as buffers are long.
    "one element": ("%2 = relex.squeeze %1 axis = [2] : (tensor<5x32x?xf32>) -> tensor<5x32xf32>", "%2", "5x32xf32"),
}


@pytest.mark.parametrize(("then", "result", "kind"), SEQUENCES.values(), ids=SEQUENCES)
def test_channels_are_columns_where_a_sequence_may_be_short(then: str, result: str, kind: str) -> None:
    text = f"""
    func.func @main(%a: tensor<5x64x?xf32>) -> tensor<{kind}> {{
      %w = relex.constant dense<0.5> : tensor<32x64x3xf32>
      %0 = relex.conv1d %a, %w padding = [1] : (tensor<5x64x?xf32>, tensor<32x64x3xf32>) -> tensor<5x32x?xf32>
      %1 = relex.relu %0 : (tensor<5x32x?xf32>) -> tensor<5x32x?xf32>
      {then}
      func.return {result} : tensor<{kind}>
    }}"""
    module = loops(text)
    sums = [op for op in module.walk() if isinstance(op, BlockOp) and op.block_name.data.startswith("conv1d")]
    vectorized = [label_of(loop) for op in sums for loop in loops_of(op) if loop.kind.data is LoopKind.VECTORIZED]
    assert any(label.startswith("@o_") for label in vectorized)
    assert not any(label.startswith("@x") for label in vectorized)
    main, meant = build(text)["main"], interpret(text)["main"]
    rng = np.random.default_rng(0)
    for length in [1] if then else [1, 2, 4, 15, 23]:
        a = rng.integers(-4, 5, (5, 64, length)).astype(np.float32)
        np.testing.assert_array_equal(main(a), meant(a))


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.0])
def test_special_values_stay_in_their_row(value: float) -> None:
    x, w = values("odd")
    x[3, 5] = value
    found = build(program("odd"))["main"](x, w)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, x @ w.T, rtol=1e-4, atol=1e-3)


def test_epilogue_in_the_tile() -> None:
    text = """
    func.func @main(%a: tensor<17x64xf32>, %w: tensor<40x64xf32>, %b: tensor<40xf32>) -> tensor<17x40xf32> {
      %0 = relex.dense %a, %w : (tensor<17x64xf32>, tensor<40x64xf32>) -> tensor<17x40xf32>
      %1 = relex.add %0, %b : (tensor<17x40xf32>, tensor<40xf32>) -> tensor<17x40xf32>
      %2 = relex.relu %1 : (tensor<17x40xf32>) -> tensor<17x40xf32>
      func.return %2 : tensor<17x40xf32>
    }"""
    rng = np.random.default_rng(0)
    a, w, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((17, 64), (40, 64), (40,)))
    np.testing.assert_allclose(build(text)["main"](a, w, b), np.maximum(a @ w.T + b, 0), rtol=1e-4, atol=1e-4)


BLOCKED = """
func.func @main(%a: tensor<1x3x7x9x16xf32>, %w: tensor<2x3x3x3x16x16xf32>) -> tensor<1x2x5x7x16xf32> {
  %0 = relex.conv2d_blocked %a, %w
      : (tensor<1x3x7x9x16xf32>, tensor<2x3x3x3x16x16xf32>) -> tensor<1x2x5x7x16xf32>
  func.return %0 : tensor<1x2x5x7x16xf32>
}"""


CONSTANT = """
func.func @main(%a: tensor<27x64xf32>) -> tensor<27x512xf32> {
  %w = relex.constant dense<0.5> : tensor<64x512xf32>
  %0 = relex.matmul %a, %w : (tensor<27x64xf32>, tensor<64x512xf32>) -> tensor<27x512xf32>
  func.return %0 : tensor<27x512xf32>
}"""


def test_low_tiles_of_convolutions_have_partial_sums() -> None:
    """Seven places are four and three, of two vectors each: six sums in flight are too few. A row of a product has the
    same result among any number of others."""
    assert partial_sums(loops(BLOCKED, AVX2)) == ["conv2d_blocked_rest_rf"]
    assert partial_sums(loops(BLOCKED, AVX2, strict=True)) == []
    assert partial_sums(loops(CONSTANT, AVX2)) == []
    assert partial_sums(loops(BLOCKED.replace("x9x16", "x8x16").replace("5x7", "5x6"), AVX2)) == []
    rng = np.random.default_rng(0)
    a, w = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((1, 3, 7, 9, 16), (2, 3, 3, 3, 16, 16)))
    found = build(BLOCKED, target=AVX2)["main"](a, w)
    np.testing.assert_array_equal(found, interpret(BLOCKED)["main"](a, w))


def partial_sums(module: ModuleOp) -> list[str]:
    """The blocks that compute partial sums of low tiles."""
    names = [op.block_name.data for op in module.walk() if isinstance(op, BlockOp)]
    return [name for name in names if name.endswith("_rest_rf")]


@pytest.mark.parametrize(
    ("text", "target"),
    [
        (dense(64, 64, 64), OTHER),
        (dense(4, 4, 4), AVX512),
        (dense(1, 1024, 64), AVX512),
        (dense(64, 0, 64), AVX512),
        (dense(0, 64, 64), AVX512),
    ],
    ids=["other target", "small", "too few rows to pack", "no terms", "no rows"],
)
def test_left_alone(text: str, target: Target) -> None:
    assert not is_tiled(loops(text, target))


def test_scheduled_by_hand() -> None:
    """What somebody has scheduled stays as it is."""
    scheduled = loops(program("dense"))
    again = RelexPipelinePass("loops")(scheduled)
    assert str(again) == str(scheduled)


@given(st.integers(1, 300), st.integers(1, 300), st.sampled_from([2, 4, 8, 16]), st.sampled_from([16, 32]))
def test_tiles(rows: int, columns: int, lanes: int, registers: int) -> None:
    tile = best_tile(rows, columns, lanes, registers, 1, lambda tile: tile.cost(rows, columns))
    assert 1 <= tile.rows <= rows
    assert tile.rows * tile.vectors + (tile.vectors if tile.rows > 1 else 1) + 1 <= registers
    assert sum(tile.heights(rows)) <= rows
    assert rows in (tile.rows, *(n * tile.rows + rest for n in range(rows) for rest in tile.heights(rows)[1:] or [0]))


@pytest.mark.parametrize(
    ("sizes", "tile"),
    [
        ((256, 128), (14, 32)),
        ((252, 128), (14, 32)),
        ((16, 128), (8, 32)),
        ((None, 128), (14, 32)),
        ((1, 128), (1, 128)),
        ((256, 10), (16, 16)),
    ],
)
def test_tiles_of_avx512(sizes: tuple[int | None, int], tile: Sequence[int]) -> None:
    processor = processor_of(AVX512)
    assert processor is not None
    found = best_tile(*sizes, 16, processor.vector_registers, 1, lambda tile: tile.cost(*sizes))
    assert (found.rows, found.columns) == tile
