"""Products of quantized tensors: integers, and scales afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from programs import Array, random_array
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.relex import AstypeOp, Conv1dPackedOp, Conv2dOp, Conv2dPackedOp, MatmulPackedOp, array_of
from relex.dialects.target.machine import Target
from relex.dialects.target.target_attribute import set_target
from relex.frontend import BlockBuilder, Var, const, op
from relex.passes import DelayScalesPass, PackBytesPass
from relex.reference import check_pass
from relex.runtime import build

RNG = np.random.default_rng(0)
SIGNS = [*product(("int8", "uint8"), repeat=2)]


def floats(x: Any, scale: Array, zero: int | None = None) -> Any:
    """What ONNX's DequantizeLinear makes of bytes."""
    whole = op.astype(x, "int32")
    whole = whole if zero is None else op.subtract(whole, const(np.int32(zero)))
    return op.multiply(op.astype(whole, "float32"), const(scale))


def program(arguments: Sequence[Array], body: Callable[[Any], Any], rows: int | str | None = None) -> ModuleOp:
    first, *others = (list[int | str](a.shape) for a in arguments)
    shapes = [[rows, *first[1:]] if rows else first, *others]
    variables = [Var(f"x{i}", s, str(a.dtype)) for i, (s, a) in enumerate(zip(shapes, arguments, strict=True))]
    builder = BlockBuilder()
    with builder.function("main", variables):
        builder.emit_func_output(builder.emit(body(variables)))
    module = builder.get()
    set_target(module, Target.host())
    return module


def count(module: ModuleOp, kind: type) -> int:
    return sum(isinstance(o, kind) for o in PackBytesPass()(DelayScalesPass()(module)).walk())


def uniform(*shape: int) -> Array:
    return RNG.uniform(0.001, 0.02, shape).astype(np.float32)


def assert_exact(module: ModuleOp, arguments: Sequence[Array], wanted: Array) -> None:
    """The result is the exact one, rounded a few times: a sum of floats would be further away."""
    np.testing.assert_allclose(build(module)["main"](*arguments), wanted, rtol=4 * 2.0**-23, atol=0)


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize(("left", "right"), SIGNS)
@pytest.mark.parametrize(
    ("zeros", "scales"),
    [((None, None), ((), ())), ((3, None), ((), (31,))), ((128, -5), ((33, 1), (1, 31))), ((None, 7), ((1, 1), (1,)))],
)
def test_matmul(
    left: str, right: str, zeros: tuple[int | None, int | None], scales: tuple[tuple[int, ...], ...]
) -> None:
    x, w = random_array(RNG, left, (33, 70)), random_array(RNG, right, (70, 31))
    a, b = (uniform(*shape) for shape in scales)
    module = program(
        [x, w], lambda v: op.matmul(floats(v[0], a, zeros[0]), floats(v[1], b, zeros[1])), "n" if a.ndim < 2 else None
    )
    assert count(module, MatmulPackedOp) == 1
    exact_x, exact_w = (array.astype(np.float64) - (zero or 0) for array, zero in zip((x, w), zeros, strict=True))
    assert_exact(module, [x, w], (exact_x @ exact_w) * a.astype(np.float64) * b)


def test_dense_with_scales_of_units() -> None:
    x, w, b = random_array(RNG, "uint8", (33, 70)), random_array(RNG, "int8", (31, 70)), uniform(31, 1)
    module = program([x, w], lambda v: op.dense(floats(v[0], uniform(), 9), floats(v[1], b)), "n")
    assert count(module, MatmulPackedOp) == 1
    check_pass(DelayScalesPass(), program([x[:4], w], lambda v: op.dense(floats(v[0], uniform(), 9), floats(v[1], b))))


@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions_with_scales_of_channels(groups: int) -> None:
    x, w = random_array(RNG, "uint8", (2, 8, 9, 9)), random_array(RNG, "int8", (6, 8 // groups, 3, 3))
    a, b = uniform(), uniform(6, 1, 1, 1)
    module = program([x, w], lambda v: op.conv2d(floats(v[0], a, 7), floats(v[1], b), padding=[1], groups=groups), "n")
    assert count(module, Conv2dPackedOp) >= 1
    whole = program([x, w], lambda v: op.conv2d(floats(v[0], a, 7), floats(v[1], b), padding=[1], groups=groups))
    wanted = build(whole, strict=True)["main"](x, w)
    np.testing.assert_allclose(build(module)["main"](x, w), wanted, rtol=1e-4, atol=1e-4)
    line = program(
        [x.reshape(2, 8, 81), w[..., 0]], lambda v: op.conv1d(floats(v[0], a), floats(v[1], b[..., 0]), groups=groups)
    )
    assert count(line, Conv1dPackedOp) >= 1


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (uniform(70), uniform()),
        (uniform(), uniform(70, 1)),
        (np.float32(1e-30), np.float32(1e-30)),
        (uniform(), np.inf),
    ],
    ids=["left terms", "right terms", "tiny", "infinite"],
)
def test_other_scales_stay(a: Array, b: Array) -> None:
    x, w = random_array(RNG, "uint8", (33, 70)), random_array(RNG, "int8", (70, 31))
    module = program([x, w], lambda v: op.matmul(floats(v[0], a), floats(v[1], np.asarray(b, np.float32))))
    before = str(module)
    assert str(DelayScalesPass()(module)) == before


def test_zero_points_of_bytes_wrap_around() -> None:
    """127 - 128 is 255 as a byte: sums of such products may exceed 32 bits."""
    size = 34_000
    x, w = np.full((2, size), 127, np.uint8), np.full((size, 16), 255, np.uint8)

    def body(v: Any) -> Any:
        difference = op.subtract(v[0], const(np.uint8(128)))
        return op.matmul(op.astype(difference, "float32"), op.astype(v[1], "float32"))

    module = program([x, w], body)
    assert count(module, MatmulPackedOp) == 0
    np.testing.assert_allclose(build(module)["main"](x, w), np.full((2, 16), 255 * 255 * size), rtol=1e-3)


def test_sums_of_channels_on_their_own_are_exact_in_floats() -> None:
    x, w = random_array(RNG, "uint8", (2, 8, 9, 9)), random_array(RNG, "int8", (8, 1, 3, 3))
    a, b = uniform(), uniform(8, 1, 1, 1)
    module = program([x], lambda v: op.conv2d(floats(v[0], a, 7), floats(const(w), b), padding=[1], groups=8))
    found = [o for o in DelayScalesPass()(module).walk() if isinstance(o, Conv2dOp)]
    assert [isinstance(o.data.owner, AstypeOp) and array_of(o.weight) is not None for o in found] == [True]
    padded = np.pad(x.astype(np.float64) - 7, [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    sums = np.einsum("ncyxrs,crs->ncyx", windows, w[:, 0].astype(np.float64))
    assert_exact(module, [x], sums * a.astype(np.float64) * b[:, 0])


def test_large_sums_of_channels_stay_floats() -> None:
    """A sum of 513 products of bytes may exceed what f32 holds exactly."""
    x, w = random_array(RNG, "uint8", (1, 4, 1, 600)), random_array(RNG, "uint8", (4, 1, 1, 513))
    module = program([x, w], lambda v: op.conv2d(floats(v[0], uniform()), floats(v[1], uniform()), groups=4))
    before = str(module)
    assert str(DelayScalesPass()(module)) == before
