"""Pointwise convolutions on images whose rows are joined, compared with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs import Array
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.exceptions import ShapeError
from relex.frontend import BlockBuilder, Var, const, op
from relex.passes import JoinRowsPass, SetTargetPass
from relex.reference import interpret
from relex.runtime import build

RNG = np.random.default_rng(0)

Tail = Callable[[BlockBuilder, Any, Any], Any]


def residual(builder: BlockBuilder, x: Any, y: Any) -> Any:
    return builder.emit(op.relu(builder.emit(op.add(y, builder.emit(op.tanh(y))))))


def squeeze(builder: BlockBuilder, x: Any, y: Any) -> Any:
    """Scale each channel by its mean: the mean needs the image, the product does not."""
    return builder.emit(op.multiply(y, builder.emit(op.mean(y, axis=[2, 3], keepdims=True))))


def window(builder: BlockBuilder, x: Any, y: Any) -> Any:
    return builder.emit(op.max_pool2d(builder.emit(op.relu(y)), [2, 2], [1, 1]))


TAILS: dict[str, tuple[Tail, Callable[[Array], Array]]] = {
    "nothing": (lambda builder, x, y: y, lambda y: y),
    "residual": (residual, lambda y: np.maximum(y + np.tanh(y), 0)),
    "squeeze": (squeeze, lambda y: y * y.mean((2, 3), keepdims=True)),
    "window": (
        window,
        lambda y: np.maximum(np.lib.stride_tricks.sliding_window_view(y, (2, 2), (2, 3)).max((4, 5)), 0),
    ),
}
"""What follows a convolution, and what it is in NumPy."""

SIZES = [
    (1, 8, 16, 16, 16, 1),
    ("n", 24, 40, 16, 14, 1),
    (2, 32, 32, 8, 6, 4),
    ("n", 64, 64, 56, 56, 1),
    (1, 3, 5, 2, 8, 1),
    (1, 24, 36, 7, 7, 3),
    (1, 4, 3, 3, 5, 1),
]
"""Images, channels, results, height, width, groups."""


def network(n: int | str, weight: Array, height: int, width: int, groups: int, tail: Tail) -> ModuleOp:
    builder = BlockBuilder()
    x = Var("x", (n, weight.shape[1] * groups, height, width), "float32")
    with builder.function("main", [x]):
        y = builder.emit(op.conv2d(x, const(weight), groups=groups))
        builder.emit_func_output(tail(builder, x, y))
    return builder.get()


def has_views(module: ModuleOp) -> bool:
    return any(isinstance(found, tensor.ExpandShapeOp) for found in module.walk())


@pytest.mark.sampled
@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize(("n", "channels", "outputs", "height", "width", "groups"), SIZES)
def test_results_are_those_of_the_program(
    n: int | str, channels: int, outputs: int, height: int, width: int, groups: int, tail: str
) -> None:
    weight = RNG.standard_normal((outputs, channels // groups, 1, 1)).astype(np.float32)
    follow, in_numpy = TAILS[tail]
    module = network(n, weight, height, width, groups, follow)
    joined = JoinRowsPass()(SetTargetPass(triple="x86_64-unknown-linux-gnu", cpu="haswell")(module))
    assert has_views(joined)
    compiled = [build(module)["main"], build(module, strict=True)["main"]]
    for images in (3, 1, 0) if isinstance(n, str) else (n,):
        x = RNG.standard_normal((images, channels, height, width)).astype(np.float32)
        parts = x.astype(np.float64).reshape(images, groups, channels // groups, height, width)
        kernels = weight.astype(np.float64).reshape(groups, outputs // groups, -1)
        sums = np.einsum("ngchw,goc->ngohw", parts, kernels).reshape(images, outputs, height, width)
        for main in (interpret(joined)["main"], *compiled):
            np.testing.assert_allclose(main(x), in_numpy(sums), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("height", "width", "channels"), [(16, 16, 0), (1, 16, 4), (16, 1, 4)])
def test_images_that_stay(height: int, width: int, channels: int) -> None:
    """Those without channels, and single rows or columns."""
    weight = RNG.standard_normal((4, channels, 1, 1)).astype(np.float32)
    module = network(1, weight, height, width, 1, TAILS["nothing"][0])
    assert not has_views(JoinRowsPass()(SetTargetPass(triple="x86_64-unknown-linux-gnu", cpu="haswell")(module)))
    x = RNG.standard_normal((1, channels, height, width)).astype(np.float32)
    expected = np.einsum("nchw,oc->nohw", x, weight[:, :, 0, 0])
    np.testing.assert_allclose(build(module)["main"](x), expected, rtol=1e-4, atol=1e-5)


def test_views_of_open_sizes_are_checked() -> None:
    """A size that does not fit the memory is refused before anything is read."""
    main = build("""
    func.func @main(%x: tensor<?xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %c0 = arith.constant 0 : index
      %n = tensor.dim %y, %c0 : tensor<?x4xf32>
      %0 = tensor.expand_shape %x [[0, 1]] output_shape [%n, 4] : tensor<?xf32> into tensor<?x4xf32>
      %1 = relex.add %0, %y : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
      func.return %1 : tensor<?x4xf32>
    }
    """)["main"]
    y = np.ones((2, 4), np.float32)
    assert (main(np.arange(8, dtype=np.float32), y) == np.arange(8).reshape(2, 4) + 1).all()
    with pytest.raises(ShapeError, match="argument 'x': expected shape"):
        main(np.ones(7, np.float32), y)
