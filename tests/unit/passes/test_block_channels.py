"""Convolutions with channels in blocks, compared with what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import numpy as np
import pytest
from programs import interpreted
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.relex import Conv2dBlockedOp, Conv2dOp, PermuteDimsOp
from relex.dialects.relex.properties import as_integer
from relex.dialects.target.machine import Target
from relex.dialects.target.target_attribute import set_target
from relex.frontend import BlockBuilder, Var, const, op
from relex.lowering import RelexPipelinePass
from relex.passes import BlockChannelsPass
from relex.runtime import build

RNG = np.random.default_rng(0)
AVX2 = Target("x86_64-unknown-linux-gnu", "haswell", "")


def constant(*shape: int, dtype: str = "float32") -> Any:
    return const(RNG.standard_normal(shape).astype(dtype))


def as_list(found: Any) -> list[Any]:
    return list(cast(Sequence[Any], found)) if isinstance(found, list | tuple) else [found]


def network(
    body: Callable[[Any], Any], dtype: str = "float32", images: int | str = 2, sizes: Sequence[int | str] = (7, 6)
) -> ModuleOp:
    builder = BlockBuilder()
    x = Var("x", (images, 3, *sizes), dtype)
    with builder.function("main", [x]):
        results = [builder.emit(y) for y in as_list(body(x))]
        builder.emit_func_output(results if len(results) > 1 else results[0])
    return builder.get()


def convolved(x: Any, outputs: int = 16, inputs: int = 3, window: int = 3, **options: Any) -> Any:
    return op.conv2d(x, constant(outputs, inputs, window, window), padding=[window // 2], **options)


def by_group(x: Any, window: int = 3, width: int = 6, **options: Any) -> Any:
    """A convolution of 32 channels in two groups, of images of a width."""
    data = op.strided_slice(
        op.concat([op.concat([x] * 11, axis=1)] * 2, axis=3), axes=[1, 3], begin=[0, 0], end=[32, width]
    )
    return convolved(data, 16, 16, window, groups=2, **options)


def two(x: Any, **options: Any) -> Any:
    return convolved(convolved(x), 8, 16, **options)


def normal(x: Any, channels: int) -> Any:
    variance = const(RNG.random(channels).astype("float32") + 0.5)
    return op.batch_norm(x, constant(channels), constant(channels), constant(channels), variance)


def residual(x: Any) -> list[Any]:
    first = op.relu(op.add(convolved(x), constant(16, 1, 1)))
    second = op.add(convolved(first, 16, 16), first)
    # One more that is needed in the usual order.
    return [convolved(second, 24, 16, 1, strides=[2, 1]), first]


def by_channel(x: Any) -> Any:
    return op.conv2d(x, constant(63, 1, 3, 2), groups=63, strides=[1, 2], padding=[1, 0, 2, 1], dilation=[2, 1])


def few_at_the_end(x: Any, channels: int = 2, window: int = 1) -> Any:
    """Results in few channels, which nothing slides over, of data in blocks; the zeros in the last block become
    other numbers on the way."""
    return op.sigmoid(convolved(convolved(x, 64), channels, 64, window))


def joined(x: Any) -> Any:
    parts = [convolved(x, 32), op.max_pool2d(convolved(x, 8), [3, 3], strides=[1, 1], padding=[1, 1])]
    return convolved(op.concat(parts, axis=1), 16, 40, dilation=[2, 1])


def joined_with_others(x: Any) -> Any:
    others = op.concat([x] * 16, axis=1)
    return op.max_pool2d(convolved(op.concat([others, convolved(x, 32)], axis=1), 16, 80, 1), [2, 2])


def grouped(x: Any) -> Any:
    """A convolution after one whose groups are smaller than vectors."""
    return convolved(convolved(convolved(x, 32, 3, 1), 32, 4, groups=8), 16, 32, 1)


def read_in_parts(x: Any) -> Any:
    """A convolution of 12 channels in blocks of 16, filled with what is not finite."""
    filled = op.divide(const(1.0, "float32"), op.sign(convolved(x, 12)))
    return op.max_pool2d(convolved(filled, 8, 12), [2, 2])


def by_channel_and_in_parts(x: Any) -> Any:
    filled = op.conv2d(op.exp(convolved(x, 26)), constant(26, 1, 3, 3), groups=26, padding=[1])
    return op.mean(convolved(filled, 14, 26, 1, strides=[2, 1]), axis=[2, 3])


def three_of_each(x: Any) -> Any:
    """Three results of each channel, of data in the usual order and of data in blocks."""
    first = op.conv2d(x, constant(9, 1, 3, 3), groups=3, padding=[1])
    second = op.conv2d(convolved(first, 16, 9), constant(48, 1, 2, 3), groups=16, strides=[1, 2], dilation=[2, 1])
    return op.max_pool2d(convolved(second, 8, 48, 1), [2, 2])


def large_windows(x: Any) -> Any:
    """Windows of more terms than are written out, which are vectors in blocks alone."""
    data = op.concat([op.concat([x] * 8, axis=1)] * 6, axis=3)
    return op.mean(op.conv2d(data, constant(24, 1, 7, 7), groups=24, strides=[1, 2], padding=[3]), axis=[2, 3])


NETWORKS: dict[str, Callable[[Any], Any]] = {
    "two": two,
    "residual": residual,
    "joined": joined,
    "joined with others": joined_with_others,
    "normalized": lambda x: convolved(op.relu(normal(convolved(x), 16)), 8, 16, 1),
    "ceil": lambda x: op.max_pool2d(convolved(x), [2, 2], strides=[2, 2], ceil_mode=True),
    "mean": lambda x: op.mean(op.avg_pool2d(convolved(x), [3, 2], padding=[1, 0, 0, 1]), axis=[2, 3], keepdims=True),
    "padding counts": lambda x: op.avg_pool2d(convolved(x), [3, 3], padding=[1, 1], count_include_pad=True),
    "a number for each place": lambda x: convolved(op.multiply(constant(7, 6), convolved(x)), 8, 16),
    "filled with zeros": lambda x: op.mean(op.relu(op.add(convolved(x, 63), constant(1, 63, 1, 1))), axis=[2, 3]),
    "filled, then the largest": lambda x: op.max_pool2d(op.exp(convolved(x, 63)), [2, 2]),
    "filled, then read in parts": read_in_parts,
    "filled by channel, then read in parts": by_channel_and_in_parts,
    "three results of each channel": three_of_each,
    "large windows": large_windows,
    "few at the end": few_at_the_end,
    "some at the end": lambda x: few_at_the_end(x, 14, 3),
    "groups in the usual order": lambda x: op.mean(op.relu(by_channel(op.concat([x] * 21, axis=1))), axis=[2, 3]),
    "several blocks in a group": lambda x: convolved(convolved(convolved(x, 48), 32, 24, groups=2), 8, 32, 1),
    "as many in and out": lambda x: convolved(convolved(convolved(x, 64), 64, 32, groups=2), 8, 64, 1),
    "a block in a group": lambda x: convolved(convolved(convolved(x, 32), 32, 16, groups=2, strides=[2, 1]), 8, 32, 1),
    "groups of data": lambda x: convolved(convolved(op.concat([x] * 16, axis=1), 24, 16, groups=3), 8, 24, 1),
    "groups alone": lambda x: op.relu(by_group(x)),
    "groups without vectors": lambda x: op.max_pool2d(grouped(x), [2, 2]),
    "groups": lambda x: op.max_pool2d(convolved(convolved(convolved(x), 16, 1, groups=16), 8, 16), [2, 2]),
}


def assert_close(found: Any, expected: Any, atol: float = 2e-6) -> None:
    """Check that results differ by no more than sums in another order do; `atol` is relative to the largest."""
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=atol * float(np.abs(expected).max(initial=1)))


COMPILED_FOR_ANY_NUMBER = (
    "residual",
    "filled with zeros",
    "filled, then read in parts",
    "three results of each channel",
    "few at the end",
    "groups in the usual order",
    "joined with others",
    "several blocks in a group",
    "a block in a group",
)
"""The networks that are compiled once for any number of images; others are compiled for two."""


@pytest.mark.parametrize("name", NETWORKS)
def test_results_agree_up_to_rounding(name: str, some: Callable[[Iterable[str], int], list[str]]) -> None:
    is_dynamic = name in COMPILED_FOR_ANY_NUMBER
    module = network(NETWORKS[name], images="n" if is_dynamic else 2)
    set_target(module, AVX2)
    original = interpreted(str(module), "graph")["main"]
    # What the blocks are is seen without machine code; a few show that this computes it.
    functions = [build(module)["main"]] if name in some(NETWORKS, 5) else []
    blocked = BlockChannelsPass()(module)
    blocked.verify()
    assert any(isinstance(o, Conv2dBlockedOp) for o in blocked.walk())
    for images in (3, 1, 0) if is_dynamic else (2,):
        x = RNG.standard_normal((images, 3, 7, 6)).astype("float32")
        for found in (interpreted(str(blocked), "graph")["main"](x), *(function(x) for function in functions)):
            for one, other in zip(as_list(found), as_list(original(x)), strict=True):
                assert_close(one, other, 5e-5)


COMPILED_FOR_ANY_SIZE = (
    "two",
    "residual",
    "joined",
    "normalized",
    "ceil",
    "mean",
    "filled, then read in parts",
    "filled by channel, then read in parts",
    "three results of each channel",
    "some at the end",
    "several blocks in a group",
    "groups",
)
"""The networks that are compiled once for images of any size."""


@pytest.mark.parametrize("name", COMPILED_FOR_ANY_SIZE)
def test_images_of_any_size(name: str, some: Callable[[Iterable[str], int], list[str]]) -> None:
    module = network(NETWORKS[name], images="n", sizes=("h", "w"))
    set_target(module, AVX2)
    original = interpreted(str(module), "graph")["main"]
    functions: list[Any] = [build(module)["main"]] if name in some(COMPILED_FOR_ANY_SIZE, 5) else []
    blocked = BlockChannelsPass()(module)
    blocked.verify()
    assert any(isinstance(o, Conv2dBlockedOp) for o in blocked.walk())
    functions.append(interpreted(str(blocked), "graph")["main"])
    for n, h, w in ((1, 7, 6), (2, 8, 23), (1, 12, 17), (0, 6, 6)):
        x = RNG.standard_normal((n, 3, h, w)).astype("float32")
        for found in (function(x) for function in functions):
            for one, other in zip(as_list(found), as_list(original(x)), strict=True):
                assert_close(one, other, 5e-5)


def test_doubles_have_narrower_blocks() -> None:
    module = network(lambda x: op.max_pool2d(op.conv2d(x, constant(8, 3, 1, 1, dtype="float64")), [2, 2]), "float64")
    set_target(module, AVX2)
    (found,) = (o for o in BlockChannelsPass()(module).walk() if isinstance(o, Conv2dBlockedOp))
    assert found.result.type.get_shape() == (2, 1, 7, 6, 8)


def test_a_residual_connection_costs_no_transposes() -> None:
    module = network(lambda x: residual(x)[:1])
    set_target(module, AVX2)
    blocked = BlockChannelsPass()(module)
    # The last convolution reaches nothing, and stays.
    assert sum(isinstance(o, Conv2dOp) for o in blocked.walk()) == 1
    assert sum(isinstance(o, PermuteDimsOp) for o in blocked.walk()) == 1


@pytest.mark.parametrize(("channels", "window", "stay"), [(2, 1, 0), (14, 3, 0), (2, 3, 1), (56, 1, 0), (64, 1, 1)])
def test_few_results_leave_blocks_instead_of_much_data(channels: int, window: int, stay: int) -> None:
    module = network(lambda x: few_at_the_end(x, channels, window))
    set_target(module, AVX2)
    blocked = BlockChannelsPass()(module)
    assert sum(isinstance(o, Conv2dOp) for o in blocked.walk()) == stay
    (permuted,) = (o for o in blocked.walk() if isinstance(o, PermuteDimsOp))
    assert permuted.result.type.get_shape()[1] == (4 if stay else -(-channels // 8))


@pytest.mark.parametrize(
    ("name", "groups"),
    [("several blocks in a group", [2]), ("groups of data", [3]), ("groups without vectors", []), ("two", [])],
)
def test_blocks_divide_the_channels_of_a_group(name: str, groups: list[int]) -> None:
    module = network(NETWORKS[name])
    set_target(module, AVX2)
    blocked = [o for o in BlockChannelsPass()(module).walk() if isinstance(o, Conv2dBlockedOp)]
    assert [count for o in blocked if (count := as_integer(o.groups)) > 1] == groups
    for o in blocked:
        assert o.weight.type.get_shape()[0] % as_integer(o.groups) == 0


@pytest.mark.parametrize(
    ("options", "blocked"),
    [({}, 1), ({"window": 1}, 0), ({"window": 1, "strides": [1, 2]}, 0), ({"strides": [1, 2]}, 1), ({"width": 8}, 0)],
)
def test_groups_are_in_blocks_where_rows_fill_no_vectors(options: dict[str, Any], blocked: int) -> None:
    """What is packed for vectors along channels makes up for unblocking, if there are many products."""
    module = network(lambda x: by_group(x, **options))
    set_target(module, AVX2)
    assert sum(isinstance(o, Conv2dBlockedOp) for o in BlockChannelsPass()(module).walk()) == blocked


def test_strict_compilation_keeps_the_order_of_sums() -> None:
    for strict in (False, True):
        module = network(two)
        set_target(module, AVX2)
        lowered = RelexPipelinePass(to="graph", strict=strict)(module)
        assert any(isinstance(o, Conv2dBlockedOp) for o in lowered.walk()) is not strict
