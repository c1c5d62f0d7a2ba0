"""Operators of ONNX that are compositions, with dynamic sizes and odd attributes, against the package's reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from models import FLOAT, INT64, model, node, value
from onnx.reference import ReferenceEvaluator

from relex.dialects.errors import CompileError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret
from relex.runtime import build

Array = np.ndarray[Any, Any]


def compare(
    m: onnx.ModelProto, arguments: Sequence[Array], wanted: Sequence[Array] | None = None, native: bool = True
) -> None:
    """The interpreter, and compiled code, agree with the package's reference, or with what is wanted."""
    if wanted is None:
        named = dict(zip((i.name for i in m.graph.input), arguments, strict=True))
        reference: Any = ReferenceEvaluator(m)
        wanted = [np.asarray(result) for result in reference.run(None, named)]
    module = from_onnx(m)
    for main in (interpret(module)["main"], *([build(module)["main"]] if native else [])):
        results: Any = main(*arguments)
        found: list[Any] = [*results] if isinstance(results, tuple) else [results]
        for one, other in zip(found, wanted, strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def numbers(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_positions_of_maxima_with_an_open_batch() -> None:
    pool = node("MaxPool", "x", "y i", kernel_shape=[2, 3], strides=[2, 1], pads=[1, 0, 0, 1], ceil_mode=1)
    unpool = node("MaxUnpool", "y i", "z", kernel_shape=[2, 3], strides=[2, 1], pads=[1, 0, 0, 1])
    x = numbers(2, 3, 5, 4)
    compare(model([pool], [value("x", FLOAT, ["n", 3, 5, 4])], ["y", "i"]), [x])
    main = build(from_onnx(model([pool, unpool], [value("x", FLOAT, ["n", 3, 5, 4])], ["z"])))["main"]
    for batch in (x, x[:1]):
        z = main(batch)
        assert z.shape == (len(batch), 3, 5, 4)
        np.testing.assert_array_equal(z[z != 0], batch[z != 0])


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_positions_with_columns_first(rank: int) -> None:
    sizes = [4, 3, 5][:rank]
    attributes: dict[str, Any] = {"kernel_shape": [2] * rank, "strides": [2, 1, 1][:rank], "storage_order": 1}
    x = numbers(2, 2, *sizes)
    m = model([node("MaxPool", "x", "y i", **attributes)], [value("x", FLOAT, [2, 2, *sizes])], ["y", "i"])
    y, i = build(from_onnx(m))["main"](x)
    # The data of each channel in the other order.
    flat = np.stack([channel.T.reshape(-1) for channel in x.reshape(4, *sizes)]).reshape(-1)
    np.testing.assert_array_equal(flat[i], y)


@pytest.mark.parametrize(("batch", "size"), [("n", 0), ("n", 1), ("n", 2), (4, 3)])
def test_determinants(batch: str | int, size: int) -> None:
    x = numbers(4, size, size)
    if size > 1:
        x[0, 0, 0] = 0  # The first pivot is in another row.
        x[1] = 1  # It has no inverse.
        x[2, :, 0] = 0
    m = model([node("Det", "x", "y")], [value("x", FLOAT, [batch, size, size])], ["y"], version=22)
    compare(m, [x], [np.linalg.det(x.astype(np.float64)).astype(np.float32)])


def test_determinants_that_are_refused() -> None:
    for shape in ([2, 3], ["n", "n"], [33, 33]):
        m = model([node("Det", "x", "y")], [value("x", FLOAT, shape)], ["y"], version=22, checked=False)
        with pytest.raises(CompileError, match=r"'Det' node: .*(square|32)"):
            from_onnx(m)


@pytest.mark.parametrize(
    "attributes",
    [
        {"mode": "avg", "sampling_ratio": 3, "spatial_scale": 0.5},
        {"mode": "max", "sampling_ratio": 1, "coordinate_transformation_mode": "output_half_pixel"},
        # As many samples as pixels: of regions without extent there are none, or one.
        {"mode": "avg", "coordinate_transformation_mode": "half_pixel"},
        {"mode": "avg", "spatial_scale": 0.5, "coordinate_transformation_mode": "output_half_pixel"},
        {"mode": "max", "spatial_scale": 0.5, "coordinate_transformation_mode": "half_pixel"},
    ],
)
def test_regions_of_dynamic_number_and_size(attributes: dict[str, Any]) -> None:
    aligned = node("RoiAlign", "x regions batch", "y", output_height=3, output_width=2, **attributes)
    inputs = [
        value("x", FLOAT, ["n", 2, "height", "width"]),
        value("regions", FLOAT, ["r", 4]),
        value("batch", INT64, ["r"]),
    ]
    # Inside, partly outside, without extent, far outside.
    regions = np.array([[0, 0, 9, 11], [-3, 2, 4, 30], [2, 2, 2, 2], [20, 20, 40, 40]], np.float32)
    compare(model([aligned], inputs, ["y"]), [numbers(3, 2, 6, 5), regions, np.array([0, 2, 1, 0])], native=False)


@pytest.mark.parametrize("sizes", [(6, 5, 3, 4), ("height", "width", "a", "b")])
def test_deformable_convolution_with_a_dynamic_batch(sizes: Any) -> None:
    convolution = node(
        "DeformConv", "x w o b m", "y", group=2, offset_group=2, pads=[1, 0, 1, 1], strides=[2, 1], dilations=[1, 2]
    )
    inputs = [
        value("x", FLOAT, ["n", 4, *sizes[:2]]),
        value("w", FLOAT, [6, 2, 3, 2]),
        value("o", FLOAT, ["n", 24, *sizes[2:]]),
        value("b", FLOAT, [6]),
        value("m", FLOAT, ["n", 12, *sizes[2:]]),
    ]
    m = model([convolution], inputs, ["y"], version=22)
    compare(
        m, [numbers(*shape) for shape in [(2, 4, 6, 5), (6, 2, 3, 2), (2, 24, 3, 4), (6,), (2, 12, 3, 4)]], native=False
    )


@pytest.mark.sampled
@pytest.mark.parametrize("beta", [0.75, 0.5, 1.0])
@pytest.mark.parametrize("channels", [1, 5, 17])
def test_local_response_norm(channels: int, beta: float) -> None:
    attributes: dict[str, Any] = {"size": 5, "alpha": 0.1, "beta": beta, "bias": 0.0}
    x = numbers(2, channels, 3, 3)
    x[0, 0, 0] = np.nan, np.inf, 1e-18
    m = model([node("LRN", "x", "y", **attributes)], [value("x", FLOAT, ["n", channels, 3, "w"])], ["y"])
    before = np.pad(np.square(x), [(0, 0), (2, 2), (0, 0), (0, 0)])
    sums = sum(before[:, i : i + channels] for i in range(5))
    with np.errstate(all="ignore"):
        compare(m, [x], [x / np.power(np.float32(0.1 / 5) * sums, np.float32(beta))])


ACTIVATIONS: dict[str, dict[str, Any]] = {
    "Celu": {"alpha": 1.25},
    "Elu": {"alpha": 0.75},
    "Gelu": {"approximate": "tanh"},
    "HardSigmoid": {},
    "HardSwish": {},
    "Mish": {},
    "Selu": {},
    "Softplus": {},
    "Softsign": {},
    "Swish": {"alpha": 1.5},
}


@pytest.mark.parametrize("operator", ACTIVATIONS)
def test_activations_of_small_floats_are_rounded_once(operator: str) -> None:
    def main(elem_type: int) -> Any:
        activation = node(operator, "x", "y", **ACTIVATIONS[operator])
        return interpret(from_onnx(model([activation], [value("x", elem_type, ["n"])], ["y"], version=24)))["main"]

    x = np.array([0.0, *np.logspace(-4, 1.2, 200), np.inf]).astype(np.float16)
    x = np.concatenate([x, -x])
    with np.errstate(over="ignore"):
        wanted = main(FLOAT)(x.astype(np.float32)).astype(np.float16)
    np.testing.assert_array_equal(main(int(onnx.TensorProto.FLOAT16))(x), wanted)
