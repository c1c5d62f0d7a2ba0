"""Models with results whose sizes depend on data."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from models import FLOAT, node, value
from onnx import NodeProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx_runtime import expect_as_onnx_runtime

from relex.dialects.exceptions import ShapeError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret
from relex.runtime import build

NUMBERS = np.random.default_rng(0)
SIZES = (0, 1, 3, 17, 1000)


def model(nodes: list[NodeProto], inputs: dict[str, tuple[int, list[Any]]], result: int = FLOAT) -> Any:
    arguments = [value(name, kind, shape) for name, (kind, shape) in inputs.items()]
    graph = helper.make_graph(nodes, "net", arguments, [helper.make_tensor_value_info("y", result, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("shape", [["n"], ["n", 3], [2, "n"], [2, 3]])
def test_nonzero(shape: list[Any]) -> None:
    net = model([node("NonZero", "x", "y")], {"x": (FLOAT, shape)}, TensorProto.INT64)
    sizes = SIZES if "n" in shape else (1,)
    shapes = [[size if d == "n" else d for d in shape] for size in sizes]
    some = [{"x": NUMBERS.integers(0, 2, s).astype(np.float32)} for s in shapes]
    expect_as_onnx_runtime(net, *some, {"x": np.zeros(shapes[-1], np.float32)}, {"x": np.full(shapes[-1], np.nan, "f")})


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_compress(axis: int | None) -> None:
    attributes = {} if axis is None else {"axis": axis}
    inputs: dict[str, tuple[int, list[Any]]] = {"x": (FLOAT, ["n", 4]), "c": (TensorProto.BOOL, ["m"])}
    net = model([node("Compress", "x c", "y", **attributes)], inputs)
    feeds: list[dict[str, Any]] = []
    for size in SIZES:
        available = {None: 4 * size, 0: size, -1: 4}[axis]
        for count in {available, available // 2}:
            x = NUMBERS.normal(size=(size, 4)).astype(np.float32)
            feeds += [{"x": x, "c": c} for c in (NUMBERS.integers(0, 2, count) == 1, np.zeros(count, bool))]
    expect_as_onnx_runtime(net, *feeds)


def test_what_follows_from_places() -> None:
    """The elements at the places where there are some, by `Transpose` and `GatherND`."""
    nodes = [node("NonZero", "x", "p"), node("Transpose", "p", "q", perm=[1, 0]), node("GatherND", "x q", "y")]
    net = model(nodes, {"x": (FLOAT, ["n", 3])})
    expect_as_onnx_runtime(net, *({"x": NUMBERS.integers(0, 2, (n, 3)).astype(np.float32)} for n in SIZES[1:]))


def test_sizes_that_do_not_fit() -> None:
    nodes = [node("Compress", "x c", "k", axis=0), node("Add", "k z", "y")]
    net = model(nodes, {"x": (FLOAT, ["n"]), "c": (TensorProto.BOOL, ["n"]), "z": (FLOAT, ["m"])})
    main = build(from_onnx(net))["main"]
    x, c = np.ones(3, np.float32), np.array([True, False, True])
    assert main(x, c, np.ones(2, np.float32)).tolist() == [2, 2]
    with pytest.raises(ShapeError, match=r"expected .*kept == m, found 2"):
        main(x, c, np.ones(3, np.float32))


@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64])
def test_ranges_of_the_program(kind: int) -> None:
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    net = model([node("Range", "a b c", "y")], {name: (kind, []) for name in "abc"}, kind)
    ranges: list[tuple[float, float, float]] = [(0, 5, 1), (0, 5, 2), (5, 0, -3), (5, 0, 3), (2, 2, 1), (-7, 11, 5)]
    if dtype.kind == "f":
        # In f32, the quotient is 3.
        ranges += [(0, 0.6, 0.2), (-1, 2**24, 2**24 + 1), (0, 5, np.inf), (1e30, -1e30, 1)]
    else:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        ranges += [(low, high, high // 2 + 1), (high, low, low // 2), (0, high // 2 + 2, high // 2 + 1)]
        ranges += [(0, high, -1), (high, low, 1), (low, low + 1, high)]
    expect_as_onnx_runtime(
        net, *({n: np.array(x, dtype) for n, x in zip("abc", of_one, strict=True)} for of_one in ranges)
    )


def test_wrong_ranges() -> None:
    net = model([node("Range", "a b c", "y")], {name: (TensorProto.INT64, []) for name in "abc"}, TensorProto.INT64)
    main = build(from_onnx(net))["main"]
    for wrong in ((0, 1, 0), (-(2**63), 2**63 - 1, 1), (0, 2**62, 1)):
        with pytest.raises(AssertionError, match=r"'relex\.arange' expected a size from 0 to .* as number of length"):
            main(*map(np.array, wrong))


@pytest.mark.parametrize("kind", [TensorProto.FLOAT16, TensorProto.BFLOAT16])
@pytest.mark.parametrize("stash", [TensorProto.FLOAT, TensorProto.DOUBLE])
def test_ranges_of_small_floats(kind: int, stash: int) -> None:
    net = model([node("Range", "a b c", "y", stash_type=stash)], {name: (kind, []) for name in "abc"}, kind)
    net.opset_import[0].version, net.ir_version = 27, 14
    main, reference = build(from_onnx(net))["main"], cast(Any, ReferenceEvaluator(net))
    for numbers in ((0, 1, 0.25), (1, -2, -0.375), (0, 5000, 1), (3, 1, 0.5)):
        given = [np.array(n, helper.tensor_dtype_to_np_dtype(kind)) for n in numbers]
        expected = reference.run(None, dict(zip("abc", given, strict=True)))[0]
        assert main(*given).tolist() == np.asarray(expected).tolist()


def test_slices_between_places_of_the_program() -> None:
    places: dict[str, tuple[int, list[Any]]] = {name: (TensorProto.INT64, [1]) for name in ("s", "e", "t")}
    net = model([node("Slice", "x s e a t", "y")], {"x": (FLOAT, ["n", 3]), **places})
    net.graph.initializer.append(numpy_helper.from_array(np.array([0]), "a"))
    x = NUMBERS.normal(size=(7, 3)).astype(np.float32)
    slices = [
        (0, 7, 1),
        (1, 100, 2),
        (-1, -100, -2),
        (-3, 2, 1),
        (5, 1, -1),
        (9, 0, -4),
        (3, 3, 1),
        (0, 2**63 - 1, 2**63 - 1),
    ]
    for begin, end, step in slices:
        expect_as_onnx_runtime(net, {"x": x, "s": np.array([begin]), "e": np.array([end]), "t": np.array([step])})
    with pytest.raises(AssertionError, match=r"'relex\.dynamic_strided_slice' expected a size"):
        build(from_onnx(net))["main"](x, np.array([0]), np.array([1]), np.array([0]))


@pytest.mark.parametrize("names", ["boxes scores most", "boxes scores most overlap", "boxes scores"])
def test_non_max_suppression_without_a_least_score(names: str) -> None:
    inputs: dict[str, tuple[int, list[Any]]] = {"boxes": (FLOAT, [1, "n", 4]), "scores": (FLOAT, [1, 1, "n"])}
    inputs |= {name: (kind, [1]) for name, kind in (("most", TensorProto.INT64), ("overlap", FLOAT)) if name in names}
    net = model([node("NonMaxSuppression", names, "y")], inputs, TensorProto.INT64)
    given: dict[str, Any] = {
        "boxes": np.array([[[0, i, 1, i + 1.2] for i in range(6)]], np.float32),
        "scores": np.array([[[-1, 0, -np.inf, 3, -0.5, -3e38]]], np.float32),
        "most": np.array([100]),
        "overlap": np.array([0.5], np.float32),
    }
    expect_as_onnx_runtime(net, {name: given[name] for name in inputs})


@pytest.mark.parametrize("is_sorted", [0, 1])
def test_unique(is_sorted: int) -> None:
    net = model([node("Unique", "x", "y first inverse counts", sorted=is_sorted)], {"x": (FLOAT, ["n", 2])})
    for name in ("first", "inverse", "counts"):
        net.graph.output.append(helper.make_tensor_value_info(name, TensorProto.INT64, None))
    expect_as_onnx_runtime(net, *({"x": NUMBERS.integers(0, 9, (n, 2)).astype(np.float32)} for n in SIZES[1:]))


@pytest.mark.parametrize("center", [0, 1])
def test_non_max_suppression(center: int) -> None:
    names = "boxes scores most overlap least"
    inputs: dict[str, tuple[int, list[Any]]] = {"boxes": (FLOAT, [2, "n", 4]), "scores": (FLOAT, [2, 3, "n"])}
    scalars: dict[str, tuple[int, list[Any]]] = {
        "most": (TensorProto.INT64, [1]),
        "overlap": (FLOAT, [1]),
        "least": (FLOAT, [1]),
    }
    net = model([node("NonMaxSuppression", names, "y", center_point_box=center)], inputs | scalars, TensorProto.INT64)
    feeds: list[dict[str, Any]] = []
    for count in (0, 1, 3, 17):
        low = NUMBERS.uniform(0, 3, (2, count, 2))
        boxes = np.concatenate([low, low + NUMBERS.uniform(1, 2, low.shape)], -1).astype(np.float32)
        given = {"boxes": boxes, "scores": NUMBERS.uniform(size=(2, 3, count)).astype(np.float32)}
        for most, overlap, least in ((5, 0.3, 0.2), (0, 0.5, 0.0), (100, 1.0, 0.0), (100, 0.1, 2.0)):
            limits = {"overlap": np.array([overlap], np.float32), "least": np.array([least], np.float32)}
            feeds.append({**given, "most": np.array([most]), **limits})
    expect_as_onnx_runtime(net, *feeds)


@pytest.mark.parametrize("in_order", [0, 1])
def test_different_rows(in_order: int) -> None:
    net = model([node("Unique", "x", "y first places counts", axis=0, sorted=in_order)], {"x": (FLOAT, ["n", 2])})
    more = [helper.make_tensor_value_info(name, TensorProto.INT64, None) for name in ("first", "places", "counts")]
    net.graph.output.extend(more)
    expect_as_onnx_runtime(
        net, *({"x": NUMBERS.integers(0, 2, (size, 2)).astype(np.float32)} for size in (1, 3, 9)), run=interpret
    )
