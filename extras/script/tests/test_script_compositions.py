"""TVM's operators that are read as compositions, beside NumPy; and beside TVM, where it is installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from programs import Array

from relex.dialects import CompileError
from relex.frontend.script import parse_script, print_script
from relex.frontend.script.graph_calls import CALLS
from relex.reference import interpret
from relex.runtime import build

RNG = np.random.default_rng(3)
X = RNG.normal(size=(3, 4, 5)).astype(np.float32)
Y = np.ascontiguousarray(X[::-1])
H = X.astype(np.float16)
I = (X * 10).astype(np.int32)  # noqa: E741
B = I.astype(np.int8)
DIVISORS = np.where(I == 0, 3, I)[::-1]
V = RNG.normal(size=7).astype(np.float32)
N = RNG.normal(size=(2, 6, 4, 4)).astype(np.float32)
C = np.abs(RNG.normal(size=6)).astype(np.float32)
LAST = np.ascontiguousarray(N.transpose(0, 2, 3, 1))
W = RNG.normal(size=(5, 6, 3, 2)).astype(np.float32)
PLACES = np.array([[0, 2], [1, 1]])
Q, K, U = (RNG.normal(size=size).astype(np.float32) for size in ((2, 3, 2, 4), (2, 5, 2, 4), (2, 5, 2, 3)))

A = RNG.normal(size=(2, 2, 3, 5)).astype(np.float32)

Reference = Callable[..., Any]
Row = tuple[str, Reference, Sequence[Array]]


def none(reference: Callable[[], Any]) -> Reference:
    return reference


def one(reference: Callable[[Array], Any]) -> Reference:
    return reference


def two(reference: Callable[[Array, Array], Any]) -> Reference:
    return reference


def three(reference: Callable[[Array, Array, Array], Any]) -> Reference:
    return reference


def four(reference: Callable[[Array, Array, Array, Array], Any]) -> Reference:
    return reference


def ordered(x: Array, k: int, axis: int = -1, sign: int = 1) -> tuple[Array, Array]:
    places = np.take(np.argsort(-sign * x, axis, kind="stable"), range(k), axis)
    return np.take_along_axis(x, places, axis), places.astype(np.int32)


def normalized(x: Array, axes: tuple[int, ...], epsilon: float = 1e-5) -> Array:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


def trained(x: Array, gamma: Array, beta: Array, mean: Array, var: Array) -> tuple[Array, Array, Array]:
    channels = (1, -1, 1, 1)
    y = normalized(x, (0, 2, 3)) * gamma.reshape(channels) + beta.reshape(channels)
    return y, mean * 0.7 + x.mean((0, 2, 3)) * 0.3, var * 0.7 + x.var((0, 2, 3)) * 0.3


def attended(q: Array, k: Array, v: Array, scale: float = 0.5, seen: Any = True, bias: Any = 0) -> Array:
    scores = np.where(seen, np.einsum("bqhd,bkhd->bhqk", q, k) * scale + bias, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bhqk,bkhd->bqhd", shares / shares.sum(-1, keepdims=True), v)


def convolved(x: Array, w: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, w)


def counted(x: Array) -> tuple[Array, ...]:
    return np.unique(x, return_index=True, return_inverse=True, return_counts=True)


def one_hot(x: Array, depth: int, axis: int) -> Array:
    return np.moveaxis(np.eye(depth, dtype=bool)[x], -1, axis)


ROWS: list[Row] = [
    ('R.zeros((2, 3), "float32")', none(lambda: np.zeros((2, 3), np.float32)), []),
    ('R.ones(R.shape([2, 3]), dtype="int8")', none(lambda: np.ones((2, 3), np.int8)), []),
    ('R.full((2,), R.const(1.5, "float32"), "float16")', none(lambda: np.full(2, 1.5, np.float16)), []),
    ("R.arange(5)", none(lambda: np.arange(5)), []),
    ("R.arange(1, 10, 3)", none(lambda: np.arange(1, 10, 3)), []),
    ("R.arange(0.5, 3.0, 0.5)", none(lambda: np.arange(0.5, 3, 0.5, dtype=np.float32)), []),
    ('R.arange(3, dtype="float32")', none(lambda: np.arange(3, dtype=np.float32)), []),
    ('R.eye(2, 4, 1, "int32")', none(lambda: np.eye(2, 4, 1, np.int32)), []),
    ("R.eye_like(x0, 1)", one(lambda x: np.eye(4, 5, 1, np.float32)), [X[0]]),
    ('R.ones_like(x0, "int32")', one(lambda x: np.ones_like(x, np.int32)), [X]),
    ("R.zeros_like(x0)", np.zeros_like, [H]),
    ("R.full_like(x0, R.const(2.5))", one(lambda x: np.full_like(x, 2.5)), [X]),
    ("R.argsort(x0)", one(lambda x: np.argsort(x, kind="stable").astype(np.int32)), [X]),
    ("R.topk(x0, 2)", one(lambda x: ordered(x, 2)), [X]),
    ('R.topk(x0, 3, axis=1, largest=False, ret_type="values")', one(lambda x: ordered(x, 3, 1, -1)[0]), [X]),
    ('R.topk(x0, 0, ret_type="indices")', one(lambda x: ordered(x, 5)[1]), [X]),
    ("R.unique(x0)", np.unique, [I]),
    ("R.unique(x0, return_index=True, return_inverse=True, return_counts=True)", counted, [V.round()]),
    ("R.unique(x0, return_counts=True)", one(lambda x: (counted(x)[0], counted(x)[3])), [V.round()]),
    ("R.cumsum(x0)", np.cumsum, [X]),
    ('R.cumsum(x0, axis=1, dtype="float64")', one(lambda x: np.cumsum(x, 1, np.float64)), [X]),
    ('R.cumprod(x0, axis=2, dtype="int64")', one(lambda x: np.cumprod(x, 2, np.int64)), [I]),
    ("R.split(x0, 3, axis=2)", one(lambda x: np.split(x, [2, 4], 2)), [X]),
    ("R.split(x0, [1, 3], axis=1)", one(lambda x: np.split(x, [1, 3], 1)), [X]),
    ("R.stack((x0, x1), axis=-1)", two(lambda x, y: np.stack([x, y], -1)), [X, Y]),
    ("R.tile(x0, (2, 1, 1, 3))", one(lambda x: np.tile(x, (2, 1, 1, 3))), [X]),
    ("R.tile(x0, 2)", one(lambda x: np.tile(x, 2)), [I]),
    ("R.repeat(x0, 2)", one(lambda x: np.repeat(x, 2)), [X]),
    ("R.repeat(x0, 3, axis=-2)", one(lambda x: np.repeat(x, 3, -2)), [X]),
    ("R.flip(x0, axis=1)", one(lambda x: np.flip(x, 1)), [X]),
    ("R.flatten(x0)", one(lambda x: x.reshape(-1)), [X]),
    ("R.nn.batch_flatten(x0)", one(lambda x: x.reshape(3, 20)), [X]),
    ('R.meshgrid((x0, x1), indexing="ij")', two(lambda x, y: np.meshgrid(x, y, indexing="ij")), [V, V[:3]]),
    ("R.one_hot(x0, R.prim_value(7), R.prim_value(1), 3)", one(lambda x: np.where(one_hot(x, 3, -1), 7, 1)), [PLACES]),
    ("R.one_hot(x0, R.prim_value(1.0), R.prim_value(0.0), 4, 1)", one(lambda x: one_hot(x, 4, 1) * 1.0), [PLACES]),
    (
        "R.one_hot(x0, R.prim_value(1), R.prim_value(0), 300)",
        one(lambda x: np.where(one_hot(x, 300, -1), 1, 0)),
        [B % 3],
    ),
    ("R.square(-x0)", one(np.square), [X]),
    ("R.tril(x0, -1)", one(lambda x: np.tril(x, -1)), [X]),
    ("R.triu(x0, 1)", one(lambda x: np.triu(x, 1)), [I]),
    ('R.take(x0, x1, axis=1, mode="wrap")', two(lambda x, i: np.take(x, i, 1, mode="wrap")), [X, PLACES - 5]),
    ("R.collapse_sum_to(x0, (4, 1))", one(lambda x: x.sum((0, 2))[:, None]), [X]),
    ("R.collapse_sum_like(x0, x1)", two(lambda x, y: x.sum(0)), [X, Y[0]]),
    ("R.divide(x0, x1)", two(lambda x, y: np.trunc(x / y).astype(np.int32)), [I, DIVISORS]),
    ("R.square(x0)", np.square, [X]),
    ("R.outer(x0, x1)", np.outer, [V, V[:3]]),
    ("R.log_add_exp(x0, x1)", np.logaddexp, [X, Y]),
    ("R.variance(x0, axis=[0, 2], keepdims=True)", one(lambda x: x.var((0, 2), keepdims=True)), [X]),
    ("R.std(x0)", np.std, [X]),
    ("R.nn.relu6(x0)", one(lambda x: np.clip(x, 0, 6)), [X * 5]),
    ("R.nn.leakyrelu(x0, 0.3)", one(lambda x: np.where(x > 0, x, x * np.float32(0.3))), [X]),
    ("R.nn.prelu(x0, x1)", two(lambda x, a: np.where(x > 0, x, x * a.reshape(-1, 1, 1))), [N, C]),
    ("R.nn.selu(x0)", one(lambda x: 1.05070098 * np.where(x > 0, x, 1.67326324 * np.expm1(x))), [X]),
    ("R.nn.gelu_tanh(x0)", one(lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))), [X]),
    ("R.nn.softplus(x0, 2.0, 1.0)", one(lambda x: np.where(2 * x > 1, x, np.log1p(np.exp(2 * x)) / 2)), [X]),
    ("R.nn.dropout(x0, 0.3)", one(lambda x: (x, np.ones_like(x))), [X]),
    (
        "R.nn.rms_norm(x0, x1, axes=[-1])",
        two(lambda x, w: x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * w),
        [X, X[0, 0]],
    ),
    (
        "R.nn.instance_norm(x0, x1, x1, channel_axis=1, axes=[2, 3])",
        two(lambda x, c: normalized(x, (2, 3)) * c.reshape(-1, 1, 1) + c.reshape(-1, 1, 1)),
        [N, C],
    ),
    (
        "R.nn.group_norm(x0, x1, x1, num_groups=3, channel_axis=1, axes=[2, 3])",
        two(lambda x, c: normalized(x.reshape(2, 3, 2, 4, 4), (2, 3, 4)).reshape(x.shape) * c.reshape(-1, 1, 1)
        + c.reshape(-1, 1, 1)),
        [N, C],
    ),
    ("R.nn.batch_norm(x0, x1, x2, x3, x4, axis=1, momentum=0.3)", trained, [N, C, -C, C + 1, C]),
    (
        "R.nn.batch_norm(x0, x1, x1, x1, x1, axis=-1, scale=False, training=False)",
        two(lambda x, c: ((x - c) / np.sqrt(c + 1e-5) + c, c, c)),
        [LAST, C],
    ),
    ("R.nn.adaptive_avg_pool2d(x0, 1)", one(lambda x: x.mean((2, 3), keepdims=True)), [N]),
    ("R.nn.adaptive_avg_pool2d(x0, [2, 1])", one(lambda x: x.reshape(2, 6, 2, 8).mean(3, keepdims=True)), [N]),
    (
        'R.nn.adaptive_avg_pool2d(x0, 3, layout="NHWC")',
        one(lambda x: np.stack(
            [np.stack([x[:, i : i + 2, j : j + 2].mean((1, 2)) for j in range(3)], 1) for i in range(3)], 1
        )),
        [LAST],
    ),
    (
        "R.nn.adaptive_avg_pool1d(x0, 3)",
        one(lambda x: np.stack([x[..., i * 5 // 3 : -(-(i + 1) * 5 // 3)].mean(-1) for i in range(3)], -1)),
        [X],
    ),
    ("R.nn.adaptive_avg_pool3d(x0, (6, 1, 4))", one(lambda x: x.mean(3, keepdims=True)), [N[None]]),
    ('R.nn.pad(x0, (0, 0, 1, 2, 2, 1), "reflect")', one(lambda x: np.pad(x, ((0, 0), (1, 2), (2, 1)), "reflect")), [X]),
    ('R.nn.pad(x0, (0, 0, 1, 2, 2, 1), "replicate")', one(lambda x: np.pad(x, ((0, 0), (1, 2), (2, 1)), "edge")), [X]),
    ('R.nn.pad(x0, (0, 0, 1, 2, 2, 1), "circular")', one(lambda x: np.pad(x, ((0, 0), (1, 2), (2, 1)), "wrap")), [X]),
    (
        "R.nn.cross_entropy_with_logits(x0, x1)",
        two(lambda x, y: np.float32(-(x * y).sum() / 3)),
        [X, Y],
    ),
    (
        'R.nn.nll_loss(x0, x1, x2, reduction="mean")',
        three(
            lambda x, t, w: np.float32(-(np.take_along_axis(x, t[:, None], 1)[:, 0] * w[t]).sum() / w[t].sum()),
        ),
        [X, np.arange(15).reshape(3, 5) % 4, C[:4]],
    ),
    (
        'R.nn.nll_loss(x0, x1, reduction="none", ignore_index=2)',
        two(lambda x, t: np.where(t == 2, 0, -np.take_along_axis(x, t[:, None], 1)[:, 0])),
        [X, np.arange(15).reshape(3, 5) % 4],
    ),
    (
        'R.quantize(x0, x1, x2, axis=1, out_dtype="int8")',
        three(lambda x, s, z: np.clip(np.round(x / s[:, None]) + z[:, None], -128, 127).astype(np.int8)),
        [X * 100, C[:4] + np.float32(0.5), B[0, :, 0]],
    ),
    (
        "R.dequantize(x0, x1, x2, axis=-1)",
        three(lambda x, s, z: (x.astype(np.int32) - z).astype(np.float32) * s),
        [B, C[:5], B[0, 0]],
    ),
    (
        'R.dequantize(x0, R.const(0.25, "float32"), R.const(3, "int8"), out_dtype="float16")',
        one(lambda x: ((x.astype(np.int32) - 3) * 0.25).astype(np.float16)),
        [B],
    ),
    (
        'R.image.resize2d(x0, 8, method="nearest_neighbor", rounding_method="round_prefer_floor")',
        one(lambda x: x.repeat(2, 2).repeat(2, 3)),
        [N],
    ),
    (
        'R.image.resize2d(x0, (2, 4), layout="NHWC")',
        one(lambda x: x.reshape(2, 2, 2, 4, 6).mean(2)),
        [LAST],
    ),
    (
        'R.image.resize2d(x0, 2, method="cubic", coordinate_transformation_mode="align_corners")',
        one(lambda x: x[:, :, ::3, ::3]),
        [N],
    ),
    (
        'R.image.resize3d(x0, (12, 4, 8), method="nearest_neighbor", rounding_method="round_prefer_floor")',
        one(lambda x: x.repeat(2, 2).repeat(2, 4)),
        [N[None]],
    ),
    ("R.nn.attention(x0, x1, x2)", attended, [Q, K, U]),
    ("R.nn.attention_bias(x0, x1, x2, x3)", four(lambda q, k, v, b: attended(q, k, v, bias=b)), [Q, K, U, A]),
    (
        'R.nn.attention(x0, x1, x2, scale=T.FloatImm("float32", 0.1), causal_mask="BottomRight")',
        three(lambda q, k, v: attended(q, k, v, 0.1, np.tri(3, 5, 2, bool))),
        [Q, K, U],
    ),
    ("R.nn.conv2d(x0, x1, data_layout='NHWC', kernel_layout='OHWI')",
        two(lambda x, w: convolved(N, W).transpose(0, 2, 3, 1)),
        [LAST, W.transpose(0, 2, 3, 1)],
    ),
    ('R.nn.max_pool2d(x0, 2, 2, layout="NHWC")', one(lambda x: x.reshape(2, 2, 2, 2, 2, 6).max((2, 4))), [LAST]),
    ('R.matmul(x0, x1, out_dtype="int32")', two(lambda x, y: x.astype(np.int32) @ y), [B[0], B[1].T]),
    (
        'R.matmul(x0, x1, out_dtype="int32")',
        two(lambda x, y: x.astype(np.int32) @ y.astype(np.int32)),
        [X[0] * 9, Y[0].T * 9],
    ),
    ("R.image.resize2d(x0, 2)", one(lambda x: x.reshape(2, 6, 2, 2, 2, 2).mean((3, 5))), [N.astype(np.float64)]),
    (
        'R.linear(x0, x1, out_dtype="float32")',
        two(lambda x, y: x.astype(np.float32) @ y.astype(np.float32).T),
        [H[0], H[1]],
    ),
]  # fmt: skip

ONLY_HERE: list[Row] = [
    (
        "R.nn.pixel_shuffle(x0, 2)",
        one(lambda x: x.reshape(1, 2, 2, 3, 4).transpose(0, 3, 1, 4, 2).reshape(1, 6, 8)),
        [N.reshape(4, 48)[:, :12].reshape(4, 3, 4)],
    ),
    ("R.nn.conv2d(x0, x1, data_layout='NHWC', out_layout='NCHW')", two(lambda x, w: convolved(N, W)), [LAST, W]),
]
"""What TVM refuses, or has no code for."""


def function(row: Row, name: str = "main") -> str:
    parameters = ", ".join(f'x{i}: R.Tensor({array.shape}, "{array.dtype}")' for i, array in enumerate(row[2]))
    return f"@R.function\ndef {name}({parameters}):\n    y = {row[0]}\n    return y\n"


def expected(row: Row) -> list[Array]:
    return listed(row[1](*row[2]))


def listed(results: Any) -> list[Array]:
    several = cast("Sequence[Any]", results if isinstance(results, tuple | list) else [results])
    return [np.asarray(x) for x in several]


def assert_equal(found: Sequence[Array], wanted: Sequence[Array], row: Row) -> None:
    assert len(found) == len(wanted), row[0]
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype or row[0] in ANY_DTYPE, row[0]
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6, err_msg=row[0])


ANY_DTYPE = {row[0] for row in ROWS if row[0].startswith(("R.nn.", "R.std", "R.variance"))}
"""Rows whose references compute in another type."""


@pytest.mark.parametrize("row", [*ROWS, *ONLY_HERE], ids=lambda row: row[0])
def test_compositions(row: Row) -> None:
    module = parse_script(function(row))
    inputs = [np.ascontiguousarray(array) for array in row[2]]
    assert_equal(listed(interpret(module)["main"](*inputs)), expected(row), row)
    again = print_script(parse_script(print_script(module)))
    assert again == print_script(module)


def test_all_compositions_have_rows() -> None:
    names = {name for name, read in CALLS.items() if read.__module__.endswith("compositions")}
    rows = "".join(row[0] for row in [*ROWS, *ONLY_HERE])
    assert {name for name in names if f"{name}(" not in rows} == set()


DYNAMIC: list[tuple[str, Reference]] = [
    ("R.zeros((n, 2))", one(lambda x: np.zeros((len(x), 2), np.float32))),
    ("R.ones_like(x, 'int32')", one(lambda x: np.ones(x.shape, np.int32))),
    ("R.split(x, 3)", one(lambda x: [x[i * -(-len(x) // 3) :][: -(-len(x) // 3)] for i in range(3)])),
    ("R.tril(x)", np.tril),
    ("R.repeat(x, 2, axis=0)", one(lambda x: np.repeat(x, 2, 0))),
    ("R.repeat(x, 2, axis=1)", one(lambda x: np.repeat(x, 2, 1))),
    ("R.tile(x, (2, 3))", one(lambda x: np.tile(x, (2, 3)))),
    ("R.nn.batch_flatten(x)", one(lambda x: x)),
    ("R.stack((x, x), axis=1)", one(lambda x: np.stack([x, x], 1))),
    ("R.topk(x, 2, axis=1)", one(lambda x: ordered(x, 2))),
    (
        "R.nn.group_norm(R.reshape(x, (n, 2, 2)), w, w, 2, 1, [2])",
        one(lambda x: normalized(x.reshape(-1, 2, 2), (2,)) + 1),
    ),
    ("R.flip(x, axis=0)", one(lambda x: x[::-1])),
]


@pytest.mark.parametrize(("expression", "reference"), DYNAMIC, ids=[expression for expression, _ in DYNAMIC])
def test_dynamic_sizes(expression: str, reference: Reference) -> None:
    text = f"""
@R.function
def main(x: R.Tensor(("n", 4), "float32")):
    n = T.int64()
    w = R.const([1.0, 1.0])
    y = {expression}
    return y
"""
    main = build(parse_script(text))["main"]
    for rows in (0, 1, 3, 7):
        x = RNG.normal(size=(rows, 4)).astype(np.float32)
        found, wanted = listed(main(x)), listed(reference(x))
        assert [a.shape for a in found] == [b.shape for b in wanted]
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


WRONG = [
    ('R.topk(x, 2, ret_type="all")', "expected ret_type to be both, values or indices, found 'all'"),
    ("R.split(x, 0)", "expected one section or more, found 0"),
    ("R.flip(x, axis=2)", "expected an axis from -2 to 1, found 2"),
    ('R.take(x, i, axis=0, mode="nan")', "expected mode to be fast, clip or wrap, found 'nan'"),
    ('R.nn.pad(x, (1, 1), "reflect")', "expected 4 widths, found 2"),
    ("R.nn.group_norm(x, w, w, 3, 1, [0])", "expected 4 channels to be in equal groups, found 3 groups"),
    ("R.nn.instance_norm(x, w, w, 1, [0], center=False)", "expected center and scale to be True"),
    ('R.dequantize(x, w, i, out_dtype="int8")', "expected integers to become f32 or f16, found f32 and i8"),
    ('R.quantize(x, w, i, out_dtype="float16")', "expected out_dtype to be an integer, found f16"),
    ("R.image.resize2d(x, 2)", "expected a tensor of rank 3 to 5, found rank 2"),
    ('R.image.resize2d(R.reshape(x, (1, 1, 3, 4)), 2, method="area")', "expected method to be nearest_neighbor"),
    ("R.topk(x, 5)", "expected k of at most 4, found 5"),
    ("R.nn.leakyrelu(i)", "expected elements of floats, found i64"),
    ("R.nn.nll_loss(x, R.astype(i, 'float32'))", "expected integers, found f32"),
    ("R.nn.nll_loss(x, i)", "expected targets of shape 3, found 2"),
    ("R.one_hot(x, R.prim_value(1), R.prim_value(0), 3)", "expected integers, found f32"),
    ('R.add(x, x, layout="NHWC")', "found 'layout'"),
    ("R.nn.adaptive_avg_pool2d(x, 1)", "expected a tensor of rank 3 to 5, found rank 2"),
    ("R.stack(x)", 'expected tensors in parentheses, found "x"'),
    ('R.nn.conv2d(R.reshape(x, (1, 1, 3, 4)), R.reshape(x, (1, 1, 3, 4)), data_layout="NCHW4c")', "in some order"),
]


@pytest.mark.parametrize(("expression", "message"), WRONG, ids=[expression for expression, _ in WRONG])
def test_what_is_refused(expression: str, message: str) -> None:
    text = f"""
@R.function
def main(x: R.Tensor((3, 4), "float32"), w: R.Tensor((4,), "float32"), i: R.Tensor((2,), "int64")):
    y = {expression}
    return y
"""
    with pytest.raises(CompileError) as e:
        parse_script(text)
    assert message.replace('"', "'") in str(e.value).replace('"', "'")


BY_TVM = """
import sys
import numpy as np, tvm
from tvm import relax
folder = sys.argv[1]
rows = np.load(f"{folder}/rows.npz", allow_pickle=True)["rows"].tolist()
module = tvm.IRModule({f"f{i}": tvm.script.from_source(text) for i, (text, _) in enumerate(rows)})
machine = relax.VirtualMachine(relax.build(module, tvm.target.Target("llvm")), tvm.cpu())
def numbers(x):
    return [x.numpy()] if hasattr(x, "numpy") else [part for one in x for part in numbers(one)]
found = [numbers(machine[f"f{i}"](*map(tvm.runtime.tensor, inputs))) for i, (_, inputs) in enumerate(rows)]
np.savez(f"{folder}/found.npz", **{f"{i}_{j}": x for i, xs in enumerate(found) for j, x in enumerate(xs)})
"""


@pytest.mark.skipif(find_spec("tvm") is None, reason="TVM is not installed")
def test_tvm_computes_the_same(tmp_path: Path) -> None:
    rows = [(function(row, f"f{i}"), [np.ascontiguousarray(x) for x in row[2]]) for i, row in enumerate(ROWS)]
    np.savez(tmp_path / "rows.npz", rows=np.array([*rows, None], dtype=object)[:-1])
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", BY_TVM, tmp_path], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    found = np.load(tmp_path / "found.npz")
    for i, row in enumerate(ROWS):
        wanted = expected(row)
        assert_equal([found[f"{i}_{j}"] for j in range(len(wanted))], wanted, row)
