"""Shapes that are computed from dynamic sizes: as integers of both widths, as floats, and as equations that are checked
at the call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from models import FLOAT, node, value
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx_runtime import expect_as_onnx_runtime

from relex.dialects.errors import CompileError, RelexError, ShapeError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret
from relex.runtime import build

NUMBERS = np.random.default_rng(0)


def computed(
    nodes: Sequence[NodeProto], shape: Sequence[int | str | None], result: int = FLOAT, **constants: Any
) -> ModelProto:
    """A model of `x` and constants whose result is `y`."""
    given = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    outputs = [helper.make_tensor_value_info("y", result, None)]
    graph = helper.make_graph(nodes, "net", [value("x", FLOAT, shape)], outputs, given)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def expect_same(model: ModelProto, *shapes: tuple[int, ...], **options: Any) -> Any:
    """Compare with ONNX Runtime for inputs of some shapes."""
    feeds = ({"x": NUMBERS.normal(size=shape).astype(np.float32)} for shape in shapes)
    return expect_as_onnx_runtime(model, *feeds, **options)


SIZE = [node("Shape", "x", "s"), node("Gather", "s zero", "n")]


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64])
@pytest.mark.parametrize(("first", "step"), [(0, 1), (1, 2), (9, -2)])
def test_ranges(dtype: Any, first: int, step: int) -> None:
    to = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes = [*SIZE, node("Cast", "n", "end", to=to), node("Range", "first end step", "y")]
    expect_same(computed(nodes, ["a"], to, zero=0, first=dtype(first), step=dtype(step)), (1,), (4,), (7,), (12,))


def test_a_range_by_a_part_of_a_stride() -> None:
    nodes = [
        *SIZE,
        node("Cast", "n", "m", to=FLOAT),
        node("Div", "m stride", "end"),
        node("Range", "first end step", "y"),
    ]
    constants: dict[str, Any] = {name: np.float32(n) for name, n in {"stride": 8, "first": 0.5, "step": 0.25}.items()}
    expect_same(computed(nodes, ["a"], zero=0, **constants), (3,), (4,), (16,), (27,))


@pytest.mark.parametrize("rounded", ["Floor", "Ceil", "Identity"])
@pytest.mark.parametrize("to", [TensorProto.INT32, TensorProto.INT64])
def test_sizes_scaled_as_floats(rounded: str, to: int) -> None:
    nodes = [
        node("Shape", "x", "s"),
        node("Cast", "s", "f", to=FLOAT),
        node("Mul", "f factors", "m"),
        node(rounded, "m", "r"),
        node("Cast", "r", "i", to=to),
        node("Cast", "i", "sizes", to=TensorProto.INT64),
        node("ConstantOfShape", "sizes", "y"),
    ]
    expect_same(computed(nodes, ["a", "b"], factors=np.array([0.5, 2], np.float32)), (5, 3), (6, 1))


@pytest.mark.parametrize("operator", ["ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin"])
def test_reductions_of_sizes(operator: str) -> None:
    given = "s axes" if operator == "ReduceSum" else "s"
    nodes = [node("Shape", "x", "s"), node(operator, given, "r", keepdims=1), node("ConstantOfShape", "r", "y")]
    constants: dict[str, Any] = {"axes": np.array([0])} if operator == "ReduceSum" else {}
    expect_same(computed(nodes, ["a", "b"], **constants), (5, 3), (2, 4))


def test_sizes_as_data() -> None:
    """A comparison that depends on the run, a root, and a quotient of two sizes."""
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s zero", "n"),
        node("Gather", "s one", "m"),
        node("Greater", "n m", "more"),
        node("Where", "more n m", "most"),
        node("Div", "most m", "times"),
        node("Cast", "times", "t", to=FLOAT),
        node("Sqrt", "t", "root"),
        node("Mul", "x root", "y"),
    ]
    expect_same(computed(nodes, ["a", "b"], zero=0, one=1), (8, 2), (2, 5), (3, 3))


def test_floats_that_would_be_rounded_are_refused_at_the_call() -> None:
    """Floats of 16 bits have all integers up to 2048."""
    nodes = [
        *SIZE,
        node("Cast", "n", "f", to=TensorProto.FLOAT16),
        node("Cast", "f", "i", to=TensorProto.INT64),
        node("Reshape", "i ones", "size"),
        node("Expand", "zero size", "y"),
    ]
    main = build(from_onnx(computed(nodes, ["a"], TensorProto.INT64, zero=0, ones=np.array([1]))))["main"]
    assert main(np.zeros(2048, np.float32)).shape == (2048,)
    with pytest.raises(ShapeError, match="expected a <= 2048, found a = 2049"):
        main(np.zeros(2049, np.float32))


def test_sizes_that_are_no_whole_numbers() -> None:
    nodes = [*SIZE, node("Cast", "n", "f", to=FLOAT), node("Div", "f two", "h"), node("Reshape", "x h", "y")]
    with pytest.raises(CompileError, match=r"found \(a\) / 2, which need be no whole number; fix its sizes with"):
        from_onnx(computed(nodes, ["a"], zero=0, two=np.float32(2)))


@pytest.mark.parametrize(
    ("declared", "shape", "right", "wrong", "message"),
    [
        (["a", "b"], [1, 1, -1], (1, 5), None, ""),
        (["a"], [-1, 4], (12,), (6,), r"4 \* \(a // 4\) == a"),
        (["a", 2, 6], [1, 12], (1, 2, 6), (3, 2, 6), r"expected shape \(1, 2, 6\)"),
        (["a", 6], [3, -1, 3], (9, 6), (2, 6), r"3 \* \(2 \* a // 3\) == 2 \* a|a"),
    ],
)
def test_reshapes_fix_sizes(declared: Any, shape: Any, right: Any, wrong: Any, message: str) -> None:
    main = expect_same(computed([node("Reshape", "x to", "y")], declared, to=np.array(shape)), right)
    if wrong is not None:
        with pytest.raises(ShapeError, match=message):
            main(np.zeros(wrong, np.float32))


def test_a_reshape_that_leaves_out_an_open_size() -> None:
    """(a, b) as (1, b): where `b` is not 0, `a` is 1."""
    nodes = [
        node("Shape", "x", "last", start=1),
        node("Concat", "ones last", "shape", axis=0),
        node("Reshape", "x shape", "row"),
        node("Add", "row x", "y"),
    ]
    main = expect_same(computed(nodes, ["a", "b"], ones=np.array([1, 1])), (1, 5), (1, 9))
    with pytest.raises(ShapeError, match=r"expected b == a \* b, found b = 5"):
        main(np.zeros((2, 5), np.float32))


@pytest.mark.parametrize("name", ["?", "-1", "None", "unknown", None])
def test_sizes_without_names_are_not_equal(name: str | None) -> None:
    model = computed([node("Relu", "x", "y")], [name, 3, name])
    expect_same(model, (1, 3, 4), (2, 3, 2))
    fixed = build(from_onnx(model, shapes={"x_d2": 5}))["main"]
    assert fixed(np.ones((2, 3, 5), np.float32)).shape == (2, 3, 5)
    with pytest.raises(ShapeError, match="expected shape"):
        fixed(np.ones((2, 3, 4), np.float32))
    with pytest.raises(RelexError, match="expected names among x, x_d0, x_d2, found n"):
        from_onnx(model, shapes={"n": 5})


def test_names_that_relex_writes_alike() -> None:
    model = computed([node("Relu", "x", "y")], ["a.0", "a_0", "a.0"])
    main = expect_same(model, (2, 3, 2))
    with pytest.raises(ShapeError, match="expected shape"):
        main(np.ones((2, 3, 3), np.float32))
    expect_same(model, (3, 3, 3))


@pytest.mark.parametrize("name", ["p.Dynamic.0", "p_Dynamic_0"])
def test_sizes_are_fixed_by_their_names_in_the_model_and_in_messages(name: str) -> None:
    main = build(from_onnx(computed([node("Relu", "x", "y")], ["p.Dynamic.0"]), shapes={name: 4}))["main"]
    with pytest.raises(ShapeError, match=r"expected shape \(4,\)"):
        main(np.ones(3, np.float32))


@pytest.mark.parametrize(("n", "axis", "run"), [(20, 0, build), (20, 1, build), (270, 0, interpret)])
def test_many_pieces(n: int, axis: int, run: Any) -> None:
    """Split, and joined in the opposite order; and their sum. Hundreds take no deep recursion."""
    parts = [f"p{i}" for i in range(n)]
    nodes = [
        node("Split", "x", " ".join(parts), axis=axis, num_outputs=n),
        node("Concat", " ".join(reversed(parts)), "joined", axis=axis),
        node("Sum", " ".join(parts), "total"),
        node("Add", "joined total", "y"),
    ]
    model = computed(nodes, [n, "b"] if axis == 0 else ["b", n])
    model.opset_import[0].version = 18
    expect_same(model, *((n, b) if axis == 0 else (b, n) for b in (2, 1)), run=run)


def test_pads_to_the_larger_of_two_sizes() -> None:
    """Their widths are never negative, which need not be checked at the call."""
    nodes = [
        node("Shape", "x", "s"),
        node("Max", "s five", "size"),
        node("Sub", "size s", "total"),
        node("Div", "total two", "before"),
        node("Sub", "total before", "after"),
        node("Concat", "before after", "pads", axis=0),
        node("Pad", "x pads", "y"),
    ]
    expect_same(computed(nodes, ["a"], five=np.array([5]), two=np.array([2])), (3,), (5,), (8,))


def squares(elements: Sequence[NodeProto]) -> ModelProto:
    """A model that squares elements again and again: each has twice as many digits, or factors, as the one before."""
    nodes = [*SIZE, *elements, *(node("Mul", f"x{i} x{i}", f"x{i + 1}") for i in range(40))]
    return computed([*nodes, node("Identity", "x40", "y")], ["a"], TensorProto.INT64, zero=0, three=np.array([3]))


def test_squares_of_numbers() -> None:
    expect_same(squares([node("Concat", "s three", "x0", axis=0)]), (1,), (0,))


def test_squares_of_sizes() -> None:
    with pytest.raises(CompileError, match="expected a product of at most 64 sizes, found one of 128"):
        from_onnx(squares([node("Identity", "s", "x0")]))


@pytest.mark.parametrize("axis", [0, -1])
def test_ones_at_the_largest_along_a_dynamic_dimension(axis: int) -> None:
    expect_same(computed([node("Hardmax", "x", "y", axis=axis)], ["a", 3]), (1, 3), (5, 3), run=interpret)


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
def test_transposed_convolutions_pad_alike_for_all_sizes(auto_pad: str) -> None:
    weight = NUMBERS.normal(size=(2, 3, 4, 3)).astype(np.float32)
    nodes = [node("ConvTranspose", "x w", "y", auto_pad=auto_pad, strides=[2, 3])]
    model = computed(nodes, ["n", 2, "h", "w_"], w=weight)
    feeds = ({"x": NUMBERS.normal(size=shape).astype(np.float32)} for shape in ((1, 2, 4, 5), (2, 2, 1, 3)))
    expect_as_onnx_runtime(model, *feeds, rtol=1e-4, atol=1e-5, run=interpret)


_NEARLY: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-6}


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize(
    ("operator", "kernel", "strides"),
    [
        ("Conv", [3, 3], [2, 2]),
        ("Conv", [1, 2], [2, 3]),
        *(
            (pool, *given)
            for pool in ("MaxPool", "AveragePool", "LpPool")
            for given in (([3, 2], [2, 2]), ([3, 5], [3, 1]))
        ),
    ],
)
def test_as_many_windows_as_strides(operator: str, kernel: list[int], strides: list[int], auto_pad: str) -> None:
    """How far data is padded depends on the remainder of its dynamic sizes by the strides."""
    inputs = "x weight" if operator == "Conv" else "x"
    nodes = [node(operator, inputs, "y", auto_pad=auto_pad, kernel_shape=kernel, strides=strides)]
    weights: dict[str, Any] = (
        {"weight": NUMBERS.normal(size=(3, 2, *kernel)).astype(np.float32)} if operator == "Conv" else {}
    )
    sizes = ((1, 2, 1, 1), (2, 2, 5, 6), (1, 2, 6, 7), (1, 2, 17, 32))
    expect_same(computed(nodes, ["n", 2, "h", "w"], **weights), *sizes, **_NEARLY)


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 0, 1, 1]])
@pytest.mark.parametrize("more", [{}, {"count_include_pad": 1}])
@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool", "LpPool"])
def test_windows_that_extend_beyond_the_end(operator: str, more: Any, pads: list[int]) -> None:
    given: dict[str, Any] = more if operator == "AveragePool" else {}
    nodes = [node(operator, "x", "y", kernel_shape=[3, 2], strides=[2, 3], pads=pads, ceil_mode=1, **given)]
    sizes = [(1, 2, 3, 2), (2, 2, 8, 6), (1, 2, 9, 7), (1, 2, 17, 33)]
    for shape, tried in ((["n", 2, "h", "w"], sizes), *((size, [size]) for size in sizes)):
        model = computed(nodes, shape)
        model.opset_import[0].version = 18
        expect_same(model, *tried, **_NEARLY)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("aligned", [0, 1])
def test_samples_of_images_of_dynamic_sizes(mode: str, aligned: int) -> None:
    sampled = node("GridSample", "x grid", "y", mode=mode, padding_mode="reflection", align_corners=aligned)
    inputs = [value("x", FLOAT, ["n", 2, "h", "w"]), value("grid", FLOAT, ["n", "a", "b", 2])]
    outputs = [helper.make_tensor_value_info("y", FLOAT, None)]
    graph = helper.make_graph([sampled], "net", inputs, outputs)
    net = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    shapes = [((1, 2, 1, 3), (1, 2, 2, 2)), ((2, 2, 5, 4), (2, 1, 7, 2)), ((1, 2, 17, 9), (1, 3, 3, 2))]
    feeds = (
        {name: NUMBERS.normal(size=size).astype(np.float32) for name, size in zip(("x", "grid"), pair, strict=True)}
        for pair in shapes
    )
    expect_as_onnx_runtime(net, *feeds, rtol=1e-3, atol=1e-5)
