"""Large constants are in memory once: passes free what they replace, and the loader does not copy what they make."""

from __future__ import annotations

import copy
import gc
import mmap
import pickle
from collections.abc import Iterator
from weakref import WeakSet

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, f32

from relex.dialects import dtypes, parse_module
from relex.dialects.dtypes import array_from_dense, dense_bytes, dense_from_array
from relex.dialects.relex import ConstantOp
from relex.lowering import RelexPipelinePass
from relex.passes import BindParamsPass, SetTargetPass
from relex.passes.rewriting.constants import holds_only
from relex.runtime import build
from relex.runtime.loader import aligned

NETWORK = """
func.func @main(%x: tensor<1x64x8x8xf32>, %w: tensor<64x64x3x3xf32>, %v: tensor<64x64x3x3xf32>, %s: tensor<64xf32>)
    -> tensor<1x64x8x8xf32> {
  %0 = relex.conv2d %x, %w padding = [1, 1, 1, 1]
      : (tensor<1x64x8x8xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x8x8xf32>
  %1 = relex.batch_norm %0, %s, %s, %s, %s
      : (tensor<1x64x8x8xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x64x8x8xf32>
  %2 = relex.conv2d %1, %v padding = [1, 1, 1, 1]
      : (tensor<1x64x8x8xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x8x8xf32>
  func.return %2 : tensor<1x64x8x8xf32>
}
"""


def network() -> ModuleOp:
    random = np.random.default_rng(0)
    weights = {name: random.standard_normal((64, 64, 3, 3)).astype(np.float32) for name in "wv"}
    return BindParamsPass("main", {**weights, "s": np.ones(64, np.float32)})(parse_module(NETWORK))


def large(module: ModuleOp) -> list[ConstantOp]:
    found = [op for op in module.walk() if isinstance(op, ConstantOp)]
    return [op for op in found if len(dense_bytes(op.value)) >= dtypes.MAPPED_BYTES]


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> Iterator[WeakSet[mmap.mmap]]:
    """The memory of large constants that is still there, without the help of the garbage collector."""
    made, make = WeakSet[mmap.mmap](), dtypes.pages

    def recorded(size: int) -> mmap.mmap:
        memory = make(size)
        made.add(memory)
        return memory

    monkeypatch.setattr(dtypes, "pages", recorded)
    gc.collect()
    gc.disable()
    yield made
    gc.enable()


def test_what_passes_replace_goes_at_once(pages: WeakSet[mmap.mmap]) -> None:
    module = network()
    assert len(pages) == 2
    source = [array_from_dense(op.value).copy() for op in large(module)]
    lowered = RelexPipelinePass("loops")(
        SetTargetPass("x86_64-unknown-linux-gnu", "skylake-avx512", "+avx512f")(module)
    )
    assert len(large(lowered)) == 2
    # The pages of the module that was given, and of the one that has been made of it.
    assert len(pages) == 4
    for before, op in zip(source, large(module), strict=True):
        np.testing.assert_array_equal(array_from_dense(op.value), before)


def test_the_loader_needs_no_copy() -> None:
    executable = build(module := network(), cache=False)
    for op in large(executable.ir("loops")):
        found = np.frombuffer(dense_bytes(op.value), np.uint8)
        assert np.shares_memory(aligned(dense_bytes(op.value)), found)
        assert not found.flags.writeable
    x = np.ones((1, 64, 8, 8), np.float32)
    np.testing.assert_allclose(executable["main"](x), build(module, strict=True)["main"](x), rtol=2e-3, atol=1e-2)


def test_constants_in_pages_are_like_others() -> None:
    elements = np.random.default_rng(0).standard_normal((128, 256)).astype(np.float32)
    paged, bytes_ = (make(f32, elements.shape, lambda a: np.copyto(a, elements)) for make in MAKERS)
    assert (paged, hash(paged), str(paged)) == (bytes_, hash(bytes_), str(bytes_))
    assert isinstance(dense_bytes(bytes_), bytes)
    assert not isinstance(dense_bytes(paged), bytes)


@pytest.mark.parametrize("number", [1.0, np.nan])
def test_splats_in_pages_are_like_others(number: float) -> None:
    paged, bytes_ = (ConstantOp(make(f32, (128, 256), lambda a: a.fill(number))) for make in MAKERS)
    assert str(paged) == str(bytes_)
    assert holds_only(paged.result, number) == holds_only(bytes_.result, number)
    assert not holds_only(paged.result, 2.0)


MAKERS = (dtypes.mapped_dense, dtypes.filled_dense)


def test_modules_with_large_constants_can_be_pickled_and_copied() -> None:
    module = network()
    for other in (pickle.loads(pickle.dumps(module)), copy.deepcopy(module)):
        assert str(other) == str(module)
    with pytest.raises(TypeError, match="cannot pickle 'memoryview' object"):
        pickle.dumps(memoryview(b"of others"))


def test_files_that_are_mapped_are_copied() -> None:
    # Whoever has mapped them may still write to them.
    memory = mmap.mmap(-1, dtypes.MAPPED_BYTES)
    dense = dense_from_array(np.frombuffer(memoryview(memory).toreadonly(), np.float32))
    memory[0] = 1
    assert not array_from_dense(dense).any()
