"""Squares of elements that are transposed in registers: transposes, and panels of products that are packed."""

from __future__ import annotations

import operator
from typing import Any, cast

import numpy as np
import pytest

from relex.dialects import parse_module
from relex.dialects.element_types import ELEMENTS
from relex.dialects.target.features import has_feature
from relex.dialects.target.target_attribute import Target, set_target
from relex.lowering import VectorizeLoopsPass
from relex.lowering.vectors.transposes import transposed
from relex.runtime import build

SQUARE = """
func.func @main(%x: memref<40x40xf32>, %z: memref<40x40xf32> {attributes}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %y = memref.alloc() : memref<40x40xf32>
  scf.for %k = %c0 to {extent} step %c1 {{
    scf.for %j = %c0 to %c8 step %c1 {{
      {body}
    }} {{relex.vectorized}}
  }}
  %use = memref.load %y[%c0, %c0] : memref<40x40xf32>
  memref.store %use, %x[%c0, %c0] : memref<40x40xf32>
  func.return
}}
"""
COPY = """%0 = memref.load %x[%j, %k] : memref<40x40xf32>
  memref.store %0, %y[%k, %j] : memref<40x40xf32>"""
TARGETS = {
    "SSE": Target("x86_64-unknown-linux-gnu", "x86-64"),
    "AVX2": Target("x86_64-unknown-linux-gnu", "haswell"),
    "AVX-512": Target("x86_64-unknown-linux-gnu", "skylake-avx512"),
}


@pytest.mark.parametrize(("length", "group"), [(2, 2), (4, 4), (4, 2), (8, 4), (8, 2), (16, 4), (16, 2)])
def test_shuffles_transpose(length: int, group: int) -> None:
    """Every element goes to its place, with as many shuffles as vectors for each halving of the length."""
    shuffles: list[object] = []

    def shuffle(one: Any, other: Any, chosen: Any) -> Any:
        shuffles.append(chosen)
        return operator.itemgetter(*chosen)(one + other)

    rows = [tuple((row, column) for column in range(length)) for row in range(length)]
    assert transposed(cast(Any, rows), group, shuffle) == [*zip(*rows, strict=True)]
    assert len(shuffles) == length * (length.bit_length() - 1)


def target_named(name: str) -> Target:
    """Return a target that the machine can run; skip the test if it cannot."""
    if not all(not f or has_feature(Target.host(), f) for f in ["", "avx2", "avx512f"][: [*TARGETS].index(name) + 1]):
        pytest.skip("needs a machine with such vectors")
    return TARGETS[name]


def is_shuffled(body: str, extent: str = "%c8", cpu: str = "haswell", attributes: str = "") -> bool:
    module = parse_module(SQUARE.format(body=body, extent=extent, attributes=attributes))
    set_target(module, Target("x86_64-unknown-linux-gnu", cpu))
    return "vector.shuffle" in str(VectorizeLoopsPass()(module))


def test_a_copy_is_transposed() -> None:
    assert is_shuffled(COPY)


@pytest.mark.parametrize(
    "body",
    [
        COPY.replace("%y[", "%z["),  # An argument may be the one that is read.
        COPY.replace("%x[", "%y["),
        COPY.replace("%x[%j, %k]", "%x[%k, %j]"),
        COPY.replace("%y[%k, %j]", "%y[%j, %k]").replace("%x[%j, %k]", "%x[%k, %j]"),
        COPY.replace("%0 =", "%twice = arith.muli %k, %c2 : index\n%0 =").replace("%x[%j, %k]", "%x[%j, %twice]"),
        COPY.replace("%0 =", "%half = arith.divsi %k, %c2 : index\n%0 =").replace("%x[%j, %k]", "%x[%half, %k]"),
        COPY.replace("%0, %y", "%1, %y").replace("memref.store", "%1 = arith.addf %0, %0 : f32\nmemref.store"),
        COPY + "\nmemref.store %0, %z[%k, %j] : memref<40x40xf32>",
    ],
)
def test_others_are_not(body: str) -> None:
    assert not is_shuffled(body)


def test_other_extents() -> None:
    """Vectors must fill a register, which may be a part of one; there may be several squares."""
    assert not is_shuffled(COPY, extent="%c7")
    assert is_shuffled(COPY, extent="%c16")
    assert not is_shuffled(COPY, extent="%c32")
    assert is_shuffled(COPY, cpu="skylake-avx512")
    assert not is_shuffled(COPY, cpu="x86-64")


def test_copies_into_arguments_of_their_own_memory() -> None:
    body = COPY.replace("%y[", "%z[")
    assert not is_shuffled(body)
    assert is_shuffled(body, attributes="{llvm.noalias}")


def test_copies_from_buffers_that_loops_carry() -> None:
    """One may be the buffer that is written."""
    text = (
        SQUARE.format(body=COPY, extent="%c8", attributes="")
        .replace(
            "  scf.for %k",
            "  %last = scf.for %i = %c0 to %c2 step %c1 iter_args(%b = %y) -> (memref<40x40xf32>) {\n scf.for %k",
        )
        .replace("load %x", "load %b")
    )
    module = parse_module(text.replace("  %use", "  scf.yield %b : memref<40x40xf32>\n}\n  %use"))
    set_target(module, TARGETS["AVX2"])
    assert "vector.shuffle" not in str(VectorizeLoopsPass()(module))


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16", "i8", "ui8", "i16", "i64", "i1", "f8E4M3FN"])
@pytest.mark.parametrize("name", TARGETS)
def test_transposes(name: str, dtype: str) -> None:
    """Bits stay as they are, in squares and outside of them."""
    target = target_named(name)
    random, element = np.random.default_rng(0), ELEMENTS[dtype].numpy
    for shape, axes in [
        ((67, 41), (1, 0)),
        ((3, 40, 50), (0, 2, 1)),
        ((16, 512), (1, 0)),
        ((24, 5, 4, 33), (3, 1, 2, 0)),
    ]:
        source, result = ("x".join(map(str, sizes)) for sizes in (shape, [shape[axis] for axis in axes]))
        source, result = (f"tensor<{sizes}x{dtype}>" for sizes in (source, result))
        text = f"""
        func.func @main(%x: {source}) -> {result} {{
          %0 = relex.permute_dims %x axes = {list(axes)} : ({source}) -> {result}
          func.return %0 : {result}
        }}"""
        x = random.integers(0, 2 if dtype == "i1" else 256, (*shape, element.itemsize), np.uint8)
        x = x.view(element)[..., 0]
        found = build(text, target=target)["main"](x)
        np.testing.assert_array_equal(found.view(np.uint8), np.ascontiguousarray(x.transpose(axes)).view(np.uint8))
