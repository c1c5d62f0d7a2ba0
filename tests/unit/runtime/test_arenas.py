"""The memory that compiled code keeps for later calls."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from weakref import WeakSet

import numpy as np
import pytest

from relex.runtime import build, loader, release_memory
from relex.runtime.arenas import ALLOC, FREE, MAX_IDLE

SIZES = [0, 1, 63, 64, 255, 256, 257, 320, 321, 4096, 4097, 100_000, 2**20, 2**20 + 1]

TWO_BUFFERS = """
func.func @main(%x: tensor<?x64xf32>, %p: tensor<64x64xf32>) -> tensor<?x64xf32> {
  %a = relex.dense %x, %p : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %b = relex.dense %a, %p : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %c = relex.dense %b, %p : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  func.return %c : tensor<?x64xf32>
}
"""

arenas = loader.arenas()
take = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(arenas.symbols[ALLOC])
give_back = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(arenas.symbols[FREE])


@pytest.fixture(autouse=True)
def _empty() -> None:
    release_memory()


def held() -> int:
    return arenas.release(10**6)


@pytest.mark.parametrize("size", SIZES)
def test_a_block_is_used_again(size: int) -> None:
    first = take(size)
    assert first is not None
    assert first % 64 == 0
    ctypes.memset(first, 0xFF, size)
    second = take(size)
    assert second is not None
    assert abs(second - first) >= size
    give_back(first)
    assert take(size) == first
    give_back(first)
    give_back(second)
    assert 2 * size <= held() <= 2 * max(size * 5 // 4 + 1, 256)
    assert release_memory() == held() == 0


def test_nothing_is_given_back() -> None:
    give_back(None)
    assert held() == 0


def test_no_more_blocks_are_kept_than_calls_that_run_together() -> None:
    for _ in range(3):
        blocks = [take(1000) for _ in range(20)]
        assert len(set(blocks)) == 20
        for block in blocks:
            give_back(block)
        assert held() == 16 * 1024


def test_blocks_that_were_not_used_for_long_are_freed_by_a_later_call() -> None:
    old, fresh = take(1000), take(1000)
    assert old is not None
    stamp = ctypes.c_int64.from_address(old - 64 + 16)
    stamp.value -= MAX_IDLE + 1
    give_back(old)
    give_back(fresh)
    give_back(take(256))
    assert held() == 2 * 1024 + 256, "a call soon after another one looks at nothing"
    arenas.released.value = 0
    give_back(take(256))
    assert held() == 1024 + 256


def test_threads_get_blocks_of_their_own() -> None:
    def work(mark: int) -> bool:
        good = True
        for i in range(300):
            size = 64 * (1 + (i + mark) % 5)
            block = take(size)
            assert block is not None
            ctypes.memset(block, mark, size)
            good = good and ctypes.string_at(block, size) == bytes([mark]) * size
            give_back(block)
        return good

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(8)))


def test_executables_keep_memory_as_long_as_one_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arenas, "_users", WeakSet[object]())
    one, other = build(TWO_BUFFERS), build(TWO_BUFFERS)
    x, p = np.ones((100, 64), np.float32), np.eye(64, dtype=np.float32)
    np.testing.assert_array_equal(one["main"](x, p), x)
    kept = held()
    assert kept >= 2 * x.nbytes
    for _ in range(3):
        one["main"](x, p)
        other["main"](x, p)
    assert held() == kept
    del one
    gc.collect()
    assert held() == kept
    del other
    gc.collect()
    assert held() == 0


def test_threads_share_an_executable() -> None:
    main = build(TWO_BUFFERS)["main"]
    p = np.eye(64, dtype=np.float32)

    def work(number: int) -> bool:
        x = np.full((1 + number * 7, 64), number, np.float32)
        return all(np.array_equal(main(x, p), x) for _ in range(20))

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(8)))


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on memory")
@pytest.mark.parametrize("size", [2**60, 2**63 - 1, 2**63, 2**64 - 2**61, 2**64 - 1])
def test_no_memory_ends_the_process_with_a_message(size: int) -> None:
    program = f"""
import ctypes, resource
from relex.runtime import loader
take = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint64)(loader.arenas().symbols["{ALLOC}"])
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
take({size})
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=600)
    assert found.returncode != 0
    assert "relex: out of memory" in found.stderr
