"""Shapes and slices whose sizes are known at run time, as expressions of other sizes: at every level, and natively."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from operator_checks import check
from programs import LEVELS, Array, interpreted
from xdsl.dialects.builtin import f16, f32, i8, i64
from xdsl.ir import Attribute
from xdsl.transforms.canonicalize import CanonicalizePass

from relex.dialects import make_context, parse_module
from relex.dialects.errors import CompileError, ShapeError
from relex.dialects.relex import IotaOp
from relex.frontend import BlockBuilder, Var, op
from relex.runtime import build

X = "%x: tensor<?x?x8xf32>"
SHAPES = [(2, 3, 8), (1, 1, 8), (3, 5, 8), (0, 2, 8), (2, 0, 8)]


def heads(x: Array) -> Array:
    b, t, _ = x.shape
    return x.reshape(b, t, 2, 4).transpose(0, 2, 1, 3)


CASES: dict[str, tuple[str, str, Callable[[Array], Array]]] = {
    "heads": (
        """
        %h = relex.reshape %x shape = [-1, -1, 2, 4] sizes = ["d0", "d1"] : (tensor<?x?x8xf32>) -> tensor<?x?x2x4xf32>
        %r = relex.permute_dims %h axes = [0, 2, 1, 3] : (tensor<?x?x2x4xf32>) -> tensor<?x2x?x4xf32>
        """,
        "tensor<?x2x?x4xf32>",
        heads,
    ),
    "heads and back": (
        """
        %h = relex.reshape %x shape = [-1, -1, 2, 4] sizes = ["d0", "d1"] : (tensor<?x?x8xf32>) -> tensor<?x?x2x4xf32>
        %p = relex.permute_dims %h axes = [0, 2, 1, 3] : (tensor<?x?x2x4xf32>) -> tensor<?x2x?x4xf32>
        %n = relex.negative %p : (tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32>
        %q = relex.permute_dims %n axes = [0, 2, 1, 3] : (tensor<?x2x?x4xf32>) -> tensor<?x?x2x4xf32>
        %r = relex.reshape %q shape = [-1, -1, -1] sizes = ["d0", "d1", ""]
            : (tensor<?x?x2x4xf32>) -> tensor<?x?x8xf32>
        """,
        "tensor<?x?x8xf32>",
        np.negative,
    ),
    "split a product": (
        """
        %f = relex.reshape %x shape = [-1, 8] : (tensor<?x?x8xf32>) -> tensor<?x8xf32>
        %s = relex.max %f axis = [1] : (tensor<?x8xf32>) -> tensor<?xf32>
        %r = relex.reshape %s like(%x) shape = [-1, -1] sizes = ["like0_d1", "like0_d0"]
            : (tensor<?xf32>, tensor<?x?x8xf32>) -> tensor<?x?xf32>
        """,
        "tensor<?x?xf32>",
        lambda x: x.max(-1).reshape(x.shape[1], x.shape[0]),
    ),
    "full": (
        """
        %c = relex.constant dense<2.5> : tensor<f32>
        %r = relex.broadcast_to %c like(%x) shape = [-1, 3, -1] sizes = ["like0_d1", "like0_d0 + like0_d1"]
            : (tensor<f32>, tensor<?x?x8xf32>) -> tensor<?x3x?xf32>
        """,
        "tensor<?x3x?xf32>",
        lambda x: np.full((x.shape[1], 3, x.shape[0] + x.shape[1]), 2.5, np.float32),
    ),
    "causal mask": (
        """
        %i = relex.iota %x shape = [-1, 1] dtype = i64 sizes = ["like0_d1"] : (tensor<?x?x8xf32>) -> tensor<?x1xi64>
        %j = relex.iota %x shape = [1, -1] dtype = i64 axis = 1 sizes = ["like0_d1"]
            : (tensor<?x?x8xf32>) -> tensor<1x?xi64>
        %r = relex.greater_equal %i, %j : (tensor<?x1xi64>, tensor<1x?xi64>) -> tensor<?x?xi1>
        """,
        "tensor<?x?xi1>",
        lambda x: np.tri(x.shape[1], dtype=bool),
    ),
    "positions of a cache": (
        """
        %m = relex.iota shape = [9, 9] dtype = f32 : () -> tensor<9x9xf32>
        %r = relex.strided_slice %m like(%x) axes = [1, 0] begin = [0, 7] end = [-1, 0] strides = [2, -1]
            begin_sizes = ["like0_d0", ""] end_sizes = ["", "like0_d1 - 2"]
            : (tensor<9x9xf32>, tensor<?x?x8xf32>) -> tensor<?x?xf32>
        """,
        "tensor<?x?xf32>",
        lambda x: np.indices((9, 9))[0].astype(np.float32)[7 : max(x.shape[1] - 2, 0) : -1, x.shape[0] : -1 : 2],
    ),
    "more than there is": (
        """
        %r = relex.strided_slice %x axes = [0, 1] begin = [0, 0] end = [0, 0]
            begin_sizes = ["d0 - 2", "d1 - 100"] end_sizes = ["d0 + 5", "d1"]
            : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
        """,
        "tensor<?x?x8xf32>",
        lambda x: x[max(x.shape[0] - 2, 0) :],
    ),
    "steps that lead outside": (
        """
        %r = relex.strided_slice %x axes = [0, 1] begin = [1, 7] end = [3, 0]
            strides = [9223372036854775807, -9223372036854775808] : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
        """,
        "tensor<?x?x8xf32>",
        lambda x: x[1 : 3 : 2**63 - 1, 7 : 0 : -(2**63)],
    ),
}


def program(body: str, result: str) -> str:
    return f"func.func @main({X}) -> {result} {{\n{body}\nfunc.return %r : {result}\n}}"


@pytest.mark.parametrize("case", CASES)
def test_every_level_agrees(case: str) -> None:
    body, result, wanted = CASES[case]
    module = parse_module(program(body, result))
    text = str(module)
    assert module.is_structurally_equivalent(parse_module(text))
    functions = [build(text)["main"], *(interpreted(text, level, checked=True)["main"] for level in LEVELS)]
    CanonicalizePass().apply(make_context(), module)
    functions.append(interpreted(str(module), "graph")["main"])
    for shape in SHAPES:
        x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        for function in functions:
            np.testing.assert_array_equal(function(x), wanted(x))


def test_sizes_that_do_not_fit_stop_the_call() -> None:
    body = """
    %r = relex.reshape %x shape = [-1, 8, 8] sizes = ["d0"] : (tensor<?x?x8xf32>) -> tensor<?x8x8xf32>
    """
    main = build(program(body, "tensor<?x8x8xf32>"))["main"]
    assert main(np.ones((3, 8, 8), np.float32)).shape == (3, 8, 8)
    with pytest.raises(ShapeError, match=r"main\(\) expected 8 \* x_d0 == x_d0 \* x_d1, found x_d0 = 3"):
        main(np.ones((3, 7, 8), np.float32))
    body = """
    %r = relex.iota %x shape = [-1] dtype = f32 sizes = ["like0_d0 - 2"] : (tensor<?x?x8xf32>) -> tensor<?xf32>
    """
    main = build(program(body, "tensor<?xf32>"))["main"]
    assert main(np.ones((5, 1, 8), np.float32)).tolist() == [0, 1, 2]
    with pytest.raises(ShapeError, match="expected 2 <= x_d0, found x_d0 = 1"):
        main(np.ones((1, 1, 8), np.float32))


WRONG = {
    "sizes of operands (d0, d1, d2), found 'n'": 'relex.reshape %x shape = [-1, 8] sizes = ["n"]',
    "expected 2 sizes, found 1": 'relex.reshape %x shape = [-1, -1, 4, 2] sizes = ["d0"]',
    "expected one size of -1 at most, found 2": "relex.reshape %x shape = [-1, -1, 8]",
    "expected an expression in 'sizes' for each size of -1": "relex.iota shape = [-1] dtype = f32",
    "expected a dtype of numbers, found i1": "relex.iota shape = [4] dtype = i1",
    "expected an axis in -1..0 for rank 1, found 1": "relex.iota shape = [4] dtype = f32 axis = 1",
    "expected a size that is not negative, found -1": 'relex.reshape %x shape = [-1, 8] sizes = ["-1"]',
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_sizes_are_named(message: str) -> None:
    wrong = WRONG[message]
    operands = X.removeprefix("%x: ") if "%x" in wrong else ""
    with pytest.raises(CompileError, match=re.escape(message)):
        parse_module(program(f"%r = {wrong} : ({operands}) -> tensor<?x8xf32>", "tensor<?x8xf32>"))


def test_builder_takes_named_sizes() -> None:
    builder = BlockBuilder()
    x, y = Var("x", ("b", "t", 8)), Var("y", ("n",))
    with builder.function("main", [x, y]):
        split = builder.emit(op.reshape(op.negative(x), ["b", "t", 2, 4]))
        rows = builder.emit(op.iota(shape=["t + n", 3], dtype="float32"))
        part = builder.emit(op.strided_slice(rows, axes=[0], begin=["n"], end=["t"]))
        builder.emit_func_output([split, part])
    main = build(builder.get())["main"]
    found, part = main(np.ones((2, 5, 8), np.float32), np.ones(2, np.float32))
    np.testing.assert_array_equal(found, -np.ones((2, 5, 2, 4)))
    np.testing.assert_array_equal(part, np.broadcast_to(np.arange(2, 5)[:, None], (3, 3)))


def test_builder_names_a_size_that_no_parameter_has() -> None:
    builder = BlockBuilder()
    x = Var("x", ("b", 8))
    with pytest.raises(CompileError, match="expected a size that a parameter has, found 'q'; there are b"):
        with builder.function("main", [x]):
            builder.emit(op.reshape(x, ["q", 8]))


@pytest.mark.parametrize("dtype", [f16, f32, i8, i64], ids=str)
def test_iota_counts_in_every_type(dtype: Attribute) -> None:
    check(partial(IotaOp, shape=[2, 200, 3], dtype=dtype, axis=-2))
