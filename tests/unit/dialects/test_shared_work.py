"""Work on large arrays in parts, at the same time or one after the other."""

from __future__ import annotations

from threading import Barrier, Lock

import numpy as np
import pytest

from relex.dialects import shared_work
from relex.dialects.shared_work import PART, SHARED, each_part


@pytest.mark.parametrize(("count", "size"), [(0, 0), (1, SHARED), (7, PART), (7, 3 * SHARED), (1000, 2 * SHARED)])
def test_parts_make_up_the_whole(count: int, size: int) -> None:
    found: list[int] = []
    lock = Lock()

    def work(some: slice) -> None:
        with lock:
            found.extend(range(count)[some])

    each_part(count, size, work)
    assert sorted(found) == list(range(count))


def test_parts_run_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_work, "usable_processors", lambda: 2)
    together = Barrier(2, timeout=60)
    each_part(2, SHARED, lambda _: together.wait())


def test_problems_and_settings_of_numpy_are_the_callers() -> None:
    def overflow(some: slice) -> None:
        np.multiply(np.float32(3e38), np.float32(some.stop + 10))

    with np.errstate(over="ignore"):
        each_part(9, SHARED, overflow)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
        each_part(9, SHARED, overflow)
