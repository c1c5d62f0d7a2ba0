"""Products of integers of 8 bits: the same as of 32 bits, on every kind of processor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from programs import Array, random_array
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from relex.dialects.relex import Conv2dPackedOp, MatmulPackedOp, MatmulShortsOp, PermuteDimsOp
from relex.dialects.relex.types import is_bytes
from relex.dialects.target.features import has_feature
from relex.dialects.target.machine import Target
from relex.dialects.target.target_attribute import set_target
from relex.frontend import BlockBuilder, Var, const, op
from relex.lowering.llvm.object_code import compile_to_assembly
from relex.lowering.relex_pipeline import RelexPipelinePass
from relex.passes import PackBytesPass
from relex.reference import check_pass, interpret
from relex.runtime import build
from relex.runtime.compilation import lower_program

RNG = np.random.default_rng(0)
HOST = Target.host()
ARM = Target("aarch64-unknown-linux-gnu", "neoverse-n1")
CPUS = ("x86-64", "haswell", "skylake-avx512", "alderlake")


def runs_here(target: Target) -> bool:
    """Whether this machine has what the products of a target use."""
    features = ("avx2", "avx512f", "avx512bw", "avx512vl", "avx512vnni", "avxvnni")
    return target.triple.startswith("x86_64") and all(has_feature(HOST, f) for f in features if has_feature(target, f))


TARGETS = [HOST, *filter(runs_here, (Target(HOST.triple, cpu) for cpu in CPUS if HOST.triple.startswith("x86_64")))]
SIGNS = [*product(("int8", "uint8"), repeat=2)]


def program(
    arguments: Sequence[Array],
    body: Callable[[Any], Any],
    shapes: Sequence[Sequence[int | str]] | None = None,
    target: Target = HOST,
) -> ModuleOp:
    """A function of arrays, from its parameters, of dynamic sizes where `shapes` has names."""
    shapes = shapes or [a.shape for a in arguments]
    variables = [Var(f"x{i}", s, str(a.dtype)) for i, (s, a) in enumerate(zip(shapes, arguments, strict=True))]
    builder = BlockBuilder()
    with builder.function("main", variables):
        builder.emit_func_output(builder.emit(body(variables)))
    module = builder.get()
    set_target(module, target)
    return module


def wide(x: Any, zero: Any = None) -> Any:
    whole = op.astype(x, "int32")
    return whole if zero is None else op.subtract(whole, zero)


PRODUCT = MatmulPackedOp, MatmulShortsOp
"""Products of four bytes in a word, or of two numbers in one: which of them, the target decides."""


def count(module: ModuleOp, kind: type[Operation] | tuple[type[Operation], ...]) -> int:
    return sum(isinstance(o, kind) for o in PackBytesPass()(module).walk())


def matmul(v: Any) -> Any:
    return op.matmul(wide(v[0]), wide(v[1]))


@pytest.mark.sampled
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.cpu)
@pytest.mark.parametrize("signs", SIGNS, ids="-".join)
def test_extremes(signs: tuple[str, str], target: Target):
    """No instruction saturates. Sizes fill neither words nor vectors nor tiles."""
    x, w = random_array(RNG, signs[0], (9, 130)), random_array(RNG, signs[1], (130, 37))
    x[0], x[1] = np.iinfo(signs[0]).min, np.iinfo(signs[0]).max
    w[:, 0], w[:, 1] = np.iinfo(signs[1]).min, np.iinfo(signs[1]).max
    module = program([x, w], matmul, target=target)
    features = ("avx512vnni", "avxvnni") if target.triple.startswith("x86_64") else ("dotprod",)
    has_bytes = any(has_feature(target, feature) for feature in features)
    assert count(module, MatmulPackedOp if has_bytes else MatmulShortsOp) == 1
    np.testing.assert_array_equal(build(module)["main"](x, w), x.astype(np.int32) @ w.astype(np.int32))


def test_sums_wrap():
    """More terms than 32 bits hold the sum of."""
    terms = 2**16 + 2
    x, w = np.full((1, terms), 255, np.uint8), np.full((terms, 4), 255, np.uint8)
    expected = np.full((1, 4), terms * 255 * 255, np.int64).astype(np.int32)
    assert expected[0, 0] < 0
    np.testing.assert_array_equal(build(program([x, w], matmul))["main"](x, w), expected)


ZEROS: dict[str, tuple[Any, Any]] = {
    "numbers": (np.int32(3), np.int32(-7)),
    "rows and columns": (np.arange(9, dtype=np.int32).reshape(9, 1) * 20, np.arange(31, dtype=np.int32) - 15),
    "left": (np.int32(255), None),
    "right": (None, np.arange(31, dtype=np.int32).reshape(1, 31)),
    "large": (np.int32(-(2**31)), np.int32(2**31 - 1)),
}


@pytest.mark.sampled
@pytest.mark.parametrize("target", [HOST, *TARGETS[2:3]], ids=lambda t: t.cpu)
@pytest.mark.parametrize("signs", [("uint8", "int8"), ("int8", "uint8")], ids="-".join)
@pytest.mark.parametrize("zeros", ZEROS.values(), ids=ZEROS)
def test_zero_points(zeros: tuple[Any, Any], signs: tuple[str, str], target: Target):
    x, w = random_array(RNG, signs[0], (9, 50)), random_array(RNG, signs[1], (50, 31))
    given = [x, w, *(np.asarray(zero) for zero in zeros if zero is not None)]

    def body(v: Any) -> Any:
        left, right = (place if zero is not None else None for place, zero in zip((2, -1), zeros, strict=True))
        return op.matmul(wide(v[0], left and v[left]), wide(v[1], right and v[right]))

    constants = [zero if zero is None else const(np.asarray(zero)) for zero in zeros]
    terms = [a.astype(np.int32) - np.int32(0 if z is None else z) for a, z in zip((x, w), zeros, strict=True)]
    expected = terms[0] @ terms[1]
    module = program(given, body, target=target)
    assert count(module, PRODUCT) == 1
    np.testing.assert_array_equal(build(module)["main"](*given), expected)
    module = program([x, w], lambda v: op.matmul(wide(v[0], constants[0]), wide(v[1], constants[1])), target=target)
    np.testing.assert_array_equal(build(module)["main"](x, w), expected)


def test_zero_point_by_term_stays():
    """A zero point for each of the terms is no multiple of a sum."""
    x, w, zero = (random_array(RNG, dtype, (16, 16)) for dtype in ("uint8", "int8", "int32"))
    module = program([x, w, zero[0]], lambda v: op.matmul(wide(v[0], v[2]), wide(v[1])))
    assert count(module, PRODUCT) == 0
    # Nor may it make rows of one.
    module = program([x[:1], w, zero], lambda v: op.matmul(wide(v[0], v[2]), wide(v[1])))
    assert count(module, PRODUCT) == 0


@pytest.mark.parametrize(
    "values",
    [(-128, 127), (0, 255), (-200, 55), (-129, 127), (2**31 - 256, 2**31 - 1), (-(2**31), 255 - 2**31)],
    ids=str,
)
def test_folded_constants(values: tuple[int, int]):
    """Constants that were converted before are bytes if their range allows it."""
    x, w = random_array(RNG, "uint8", (5, 40)), RNG.integers(*values, (40, 24), dtype=np.int32, endpoint=True)
    w[0, 0], w[0, 1] = values
    module = program([x], lambda v: op.matmul(wide(v[0]), const(w)))
    assert count(module, PRODUCT) == (values[1] - values[0] < 256)
    np.testing.assert_array_equal(build(module)["main"](x), x.astype(np.int32) @ w)


@pytest.mark.parametrize("strict", [False, True])
def test_open_sizes(strict: bool):
    x, w = random_array(RNG, "uint8", (2, 5, 45)), random_array(RNG, "int8", (45, 17))
    module = program([x, w], matmul, [["b", "m", 45], [45, "n"]])
    assert count(module, PRODUCT) == 1
    ex = build(module, strict=strict)["main"]
    for rows in (1, 3, 5):
        expected = x[:, :rows].astype(np.int32) @ w.astype(np.int32)
        np.testing.assert_array_equal(ex(x[:, :rows].copy(), w), expected)
    # The sizes of the sum would be compared in words only.
    assert count(program([x, w], matmul, [["b", "m", "k"], ["k", "n"]]), PRODUCT) == 0


CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "image": ((1, 3, 11, 9), (18, 3, 3, 3), {"strides": [2, 1], "padding": [1, 0, 2, 1]}),
    "1x1": ((2, 8, 5, 6), (16, 8, 1, 1), {}),
    "dilation": ((1, 5, 9, 10), (4, 5, 3, 2), {"dilation": [2, 3], "padding": [2]}),
    "groups": ((1, 16, 7, 7), (8, 8, 3, 3), {"padding": [1], "groups": 2}),
}


@pytest.mark.sampled
@pytest.mark.parametrize("signs", [("uint8", "int8"), ("int8", "uint8")], ids="-".join)
@pytest.mark.parametrize("case", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_convolutions(case: tuple[Any, Any, Any], signs: tuple[str, str]):
    """Padding is the zero point of the data; the weight has one for each output channel."""
    shape, of_weight, options = case
    x, w = random_array(RNG, signs[0], shape), random_array(RNG, signs[1], of_weight)
    by_channel = np.arange(of_weight[0], dtype=np.int32).reshape(-1, 1, 1, 1) * (options.get("groups", 1) == 1)

    def convolved(v: Any) -> Any:
        return op.conv2d(wide(v[0], const(np.int32(77))), wide(const(w), const(by_channel)), **options)

    module = program([x], convolved)
    is_grouped = "groups" in options and signs[1] == "uint8"
    assert bool(count(module, Conv2dPackedOp)) is not is_grouped
    np.testing.assert_array_equal(build(module)["main"](x), interpret(module)["main"](x))


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("cpu", ["haswell", "icelake-server"])
def test_words_have_channels_of_one_group(cpu: str, size: int) -> None:
    x = random_array(RNG, "uint8", (1, 2 * size, 6, 7))
    weight = random_array(RNG, "int8", (2, size, 3, 3, 1, 32))

    def convolved(v: Any) -> Any:
        return op.conv2d_blocked(op.astype(v[0], "int32"), op.astype(const(weight), "int32"), groups=2)

    module = program([x], convolved)
    set_target(module, Target("x86_64-unknown-linux-gnu", cpu))
    graph = RelexPipelinePass(to="graph")(module)
    np.testing.assert_array_equal(interpret(graph)["main"](x), interpret(module)["main"](x))


def test_padding_with_unknown_zero_stays():
    x, w, zero = random_array(RNG, "uint8", (1, 4, 8, 8)), random_array(RNG, "int8", (8, 4, 3, 3)), np.int32(3)

    def body(padding: int) -> Callable[[Any], Any]:
        return lambda v: op.conv2d(wide(v[0], v[2]), wide(v[1]), padding=[padding])

    assert count(program([x, w, np.asarray(zero)], body(1)), Conv2dPackedOp) == 0
    module = program([x, w, np.asarray(zero)], body(0))
    assert count(module, Conv2dPackedOp) == 1
    np.testing.assert_array_equal(build(module)["main"](x, w, zero), interpret(module)["main"](x, w, zero))


@pytest.mark.parametrize(
    ("dtype", "zero", "is_packed"),
    [
        ("uint8", 0, True),
        ("uint8", 255, True),
        ("uint8", 256, False),
        ("uint8", -1, False),
        ("uint8", 2**31 - 1, False),
        ("int8", -128, True),
        ("int8", 127, True),
        ("int8", 128, False),
        ("int8", -129, False),
    ],
)
def test_padding_is_a_byte(dtype: str, zero: int, is_packed: bool):
    x, w = random_array(RNG, dtype, (1, 4, 8, 8)), random_array(RNG, "int8", (8, 4, 3, 3))
    module = program([x, w], lambda v: op.conv2d(wide(v[0], const(np.int32(zero))), wide(v[1]), padding=[1]))
    assert count(module, Conv2dPackedOp) == is_packed
    np.testing.assert_array_equal(build(module)["main"](x, w), interpret(module)["main"](x, w))


@pytest.mark.skipif(not any(t.cpu == "haswell" for t in TARGETS), reason="a processor with AVX2")
@pytest.mark.parametrize("zero", [0, 255, -128, 2**15 - 128, 2**15, -(2**31)])
@pytest.mark.parametrize("sizes", [(1, 17, 1100), (3, 1, 1100), (17, 3, 333)], ids=str)
def test_pairs_of_odd_sizes(sizes: tuple[int, int, int], zero: int):
    """Zero points that integers of 16 bits hold are subtracted before; others after the product."""
    rows, columns, terms = sizes
    x, w = random_array(RNG, "uint8", (rows, terms)), random_array(RNG, "int8", (terms, columns))
    haswell = Target(HOST.triple, "haswell")
    module = program([x], lambda v: op.matmul(wide(v[0], const(np.int32(zero))), wide(const(w))), target=haswell)
    assert count(module, MatmulShortsOp) == 1
    expected = (x.astype(np.int32) - np.int32(zero)) @ w.astype(np.int32)
    np.testing.assert_array_equal(interpret(PackBytesPass()(module))["main"](x), expected)
    np.testing.assert_array_equal(build(module)["main"](x), expected)


def test_small_products_stay():
    x, w = random_array(RNG, "uint8", (2, 8)), random_array(RNG, "int8", (8, 4))
    assert count(program([x, w], matmul), PRODUCT) == 0


@pytest.mark.sampled
@pytest.mark.parametrize("types", [("uint8", "int8"), ("int8", "uint8"), ("int8", "int8")])
@pytest.mark.parametrize("sizes", [(1, 64, 96), (8, 256, 33), (40, 36, 64)], ids=str)
def test_rows_of_a_weight_that_is_an_argument(sizes: tuple[int, int, int], types: tuple[str, str]):
    """Its words are copied as they are, and no byte is moved on its own; both operands have a zero point."""
    rows, terms, columns = sizes
    x, w = random_array(RNG, types[0], (rows, terms)), random_array(RNG, types[1], (columns, terms))

    module = program([x, w], lambda v: op.dense(wide(v[0], const(np.int32(7))), wide(v[1], const(np.int32(5)))))
    for target in TARGETS:
        lowered = module.clone()
        set_target(lowered, target)
        moved = [o.operand for o in RelexPipelinePass("graph")(lowered).walk() if isinstance(o, PermuteDimsOp)]
        assert not any(is_bytes(value) for value in moved)
        found = build(module, target=target)["main"](x, w)
        np.testing.assert_array_equal(found, (x.astype(np.int32) - 7) @ (w.astype(np.int32) - 5).T)


def test_checked():
    x, w = random_array(RNG, "int8", (9, 30)), random_array(RNG, "uint8", (30, 12))
    check_pass(PackBytesPass(), program([x, w], matmul))


@pytest.mark.parametrize(
    ("target", "instruction"),
    [
        (Target("x86_64-unknown-linux-gnu", "sapphirerapids"), "vpdpbusd"),
        (Target("x86_64-unknown-linux-gnu", "alderlake"), "vpdpbusd"),
        (Target("x86_64-unknown-linux-gnu", "skylake-avx512"), "vpmaddwd"),
        (Target("x86_64-unknown-linux-gnu", "haswell"), "vpmaddwd"),
        (Target("x86_64-unknown-linux-gnu", "x86-64"), "pmaddwd"),
        (ARM, "sdot"),
        (Target(ARM.triple, "neoverse-n2"), "usdot"),
    ],
    ids=lambda p: p.cpu if isinstance(p, Target) else p,
)
def test_instructions(target: Target, instruction: str):
    x, w = random_array(RNG, "uint8", (8, 64)), random_array(RNG, "int8", (64, 32))
    module = program([x], lambda v: matmul([*v, const(w)]), target=target)
    text = compile_to_assembly(lower_program(module).module)
    assert instruction in text
    assert "mulld" not in text
