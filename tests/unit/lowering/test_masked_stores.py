"""Vectors at the end of a row whose mask is a constant."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from relex.dialects.target.machine import Target
from relex.dialects.target.target_attribute import set_target
from relex.frontend import BlockBuilder, Var, const, op
from relex.lowering.llvm.object_code import compile_to_assembly
from relex.reference import interpret
from relex.runtime import build
from relex.runtime.compilation import lower_program

RNG = np.random.default_rng(5)


def quantized(width: int, result: str, cpu: str | None) -> Any:
    """Return a convolution of bytes whose results are made narrow, in rows of a width."""
    weight = RNG.integers(-128, 128, (8, 16, 1, 1)).astype(np.int8)
    x, builder = Var("x", (1, 16, 3, width), "uint8"), BlockBuilder()
    with builder.function("main", [x]):
        data = op.multiply(op.astype(op.subtract(op.astype(x, "int32"), const(np.int32(1))), "float32"), const(0.02))
        scales = const(RNG.uniform(0.001, 0.01, (8, 1, 1, 1)).astype(np.float32))
        total = op.conv2d(data, op.multiply(op.astype(const(weight), "float32"), scales))
        number = op.astype(op.clip(op.round(op.divide(total, const(0.05))), -100.0, 100.0), "int32")
        builder.emit_func_output(builder.emit(op.astype(op.clip(number, 0, 100), result)))
    module = builder.get()
    if cpu is not None:
        set_target(module, Target("x86_64-unknown-linux-gnu", cpu))
    return module


@pytest.mark.parametrize("result", ["uint8", "int16", "int32"])
@pytest.mark.parametrize("width", [1, 17, 18, 25, 33])
def test_no_neighbour_is_overwritten(width: int, result: str) -> None:
    """A constant mask of one lane: LLVM 22 stores the element before it was narrowed."""
    module = quantized(width, result, None)
    x = RNG.integers(0, 256, (1, 16, 3, width)).astype(np.uint8)
    np.testing.assert_allclose(build(module)["main"](x), interpret(module)["main"](x), atol=1)
    # No instruction narrows what it stores under a mask, also where this processor has no such instructions.
    text = compile_to_assembly(lower_program(quantized(width, result, "skylake-avx512")).module)
    assert re.search(r"vpmov[dq][bwd]\s.*\(.*\{", text) is None
