"""Quotients and remainders by dynamic sizes that are one index of a view."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from relex.frontend import BlockBuilder, Var, op
from relex.runtime import build

RNG = np.random.default_rng(3)

Shape = tuple[int | str, ...]


def reshaped(old: Shape, new: Shape) -> Any:
    """Return functions that reshape, and compute something, so that the reshape is not a view."""
    x, builder = Var("x", old, "float32"), BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(op.relu(op.reshape(x, new))))
    return build(builder.get(), cache=False)


@pytest.mark.parametrize(
    ("old", "new", "joins"),
    [
        (("n", "h", "w"), (-1,), True),
        (("n", "h", "w"), ("n", -1), True),
        (("n", 6, "w"), ("n", 2, -1), True),
        (("n", 6, "w"), ("n", 3, 2, "w"), False),
        ((4, "h", "w"), (2, -1), True),
        ((4, "h", "w"), (8, -1), True),
        (("n", "h", "w", 3), ("n", -1, 3), True),
        (("n", "h", "w", 3), ("n", -1), True),
        (("n", "h", "w", 3), (3, -1), True),
        (("h", "w"), ("w", "h"), True),
    ],
)
def test_reshapes(old: Shape, new: Shape, joins: bool) -> None:
    executable = reshaped(old, new)
    assert ("memref.collapse_shape" in str(executable.ir("core"))) is joins
    names = sorted({n for n in old if isinstance(n, str)})
    for sizes in product((0, 1, 2, 7, 16, 33), repeat=len(names)):
        known = dict(zip(names, sizes, strict=True))
        before, shape = ([n if isinstance(n, int) else known[n] for n in dims] for dims in (old, new))
        x = RNG.standard_normal(before).astype(np.float32)
        if (shape[0] == 8 and x.size % 8) or (-1 in shape and x.size == 0):
            continue
        np.testing.assert_array_equal(executable["main"](x), np.maximum(x.reshape(shape), 0))
