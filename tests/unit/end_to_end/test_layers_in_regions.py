"""Layers of networks in branches and loops: passes on graphs work within regions, and around them."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from programs import Array

from relex.frontend import BlockBuilder, Var, const, op
from relex.reference import interpret
from relex.runtime import build


def weights(*shape: int) -> Any:
    rng = np.random.default_rng(sum(shape))
    return const((rng.standard_normal(shape) * 0.2).astype(np.float32))


def check(bb: BlockBuilder, *args: Array) -> None:
    """Compare a program with its interpretation."""
    module = bb.get()
    expected = interpret(module)["main"](*args)
    for strict in (False, True):
        for found, wanted in zip(build(module, strict=strict)["main"](*args), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-4)


@pytest.mark.sampled
@pytest.mark.parametrize("limit", [-1e9, 1e9])
@pytest.mark.parametrize("batch", [1, "n"])
def test_convolutions(batch: Any, limit: float):
    x, most = Var("x", (batch, 16, 12, 12)), Var("most", ())
    kernel, bb = weights(16, 16, 3, 3), BlockBuilder()
    with bb.function("main", [x, most]):

        def conv(y: Any) -> Any:
            return op.conv2d(y, kernel, padding=[1, 1, 1, 1])

        def layer(i: Any, s: Any) -> Any:
            y = bb.emit(conv(op.permute_dims(s, [0, 3, 1, 2])))
            return op.permute_dims(op.relu(y), [0, 2, 3, 1])

        def moved() -> Any:
            return op.permute_dims(last, [0, 3, 1, 2])

        def layered() -> Any:
            return op.relu(conv(moved()))

        last = bb.for_(3, layer, bb.emit(op.permute_dims(x, [0, 2, 3, 1])))
        bb.emit_func_output([bb.if_(op.less(op.sum(last), most), moved, layered), last])
    image = np.random.default_rng(0).standard_normal((1 if batch == 1 else 2, 16, 12, 12)).astype(np.float32)
    check(bb, image, np.array(limit, np.float32))


@pytest.mark.sampled
@pytest.mark.parametrize("limit", [-1e9, 1e9])
@pytest.mark.parametrize("rows", [5, "n"])
def test_attention(rows: Any, limit: float):
    x, most, bb = Var("x", (rows, 32)), Var("most", ()), BlockBuilder()
    query, key, value, out = (weights(32, 32) for _ in range(4))
    with bb.function("main", [x, most]):

        def layer(i: Any, s: Any) -> Any:
            q, k, v = (bb.emit(op.dense(s, w)) for w in (query, key, value))
            scores = op.softmax(op.dense(q, k) * 0.17, axis=-1)
            return s + op.dense(op.matmul(scores, v), out)

        def keyed() -> Any:
            return op.dense(x, key)

        def valued() -> Any:
            return queried + op.dense(x, value)

        last = bb.for_(4, layer, x)
        queried = bb.emit(op.dense(x, query))
        bb.emit_func_output([bb.if_(op.less(op.sum(last), most), keyed, valued), last, queried])
    check(bb, np.random.default_rng(0).standard_normal((5, 32)).astype(np.float32), np.array(limit, np.float32))


def test_parallel_kernels_in_loops_of_several_threads():
    x, bb = Var("x", (3000, 1000)), BlockBuilder()
    with bb.function("main", [x]):

        def layer(i: Any, s: Any) -> Any:
            return op.tanh(s)

        bb.emit_func_output(bb.for_(9, layer, x))
    main = build(bb.get())["main"]
    given = np.random.default_rng(0).random((3000, 1000)).astype(np.float32)
    expected, found = given, list[Array]()
    for _ in range(9):
        expected = np.tanh(expected)
    threads = [threading.Thread(target=lambda: found.append(main(given))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for result in found:
        np.testing.assert_allclose(result, expected, rtol=1e-5)
