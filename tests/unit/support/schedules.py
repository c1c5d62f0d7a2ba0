"""Loop functions to schedule, and what they compute before and after."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from programs import Array
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import parse_module, verify_module
from relex.dialects.relex.types import without_names
from relex.dialects.tir import PrimFuncOp
from relex.lowering import LegalizeOpsPass
from relex.passes.schedule import Schedule
from relex.reference import interpret

GRAPHS = {
    "dense": ("relex.dense %a, %b", "tensor<3x7xf32>, tensor<5x7xf32>", "tensor<3x5xf32>"),
    "matmul": ("relex.matmul %a, %b", "tensor<1x5x3xf32>, tensor<1x3x4xf32>", "tensor<1x5x4xf32>"),
    "conv2d": (
        "relex.conv2d %a, %b padding = [1, 1]",
        "tensor<1x2x3x4xf32>, tensor<2x2x2x3xf32>",
        "tensor<1x2x4x4xf32>",
    ),
    "softmax": ("relex.softmax %a", "tensor<3x5xf32>", "tensor<3x5xf32>"),
    "permute_dims": ("relex.permute_dims %a", "tensor<3x7x1xf32>", "tensor<1x7x3xf32>"),
    "concat": ("relex.concat %a, %b axis = 0", "tensor<3x4xf32>, tensor<5x4xf32>", "tensor<8x4xf32>"),
}
"""An operator, the types of what it takes, and of what it gives."""

CHAIN = """
tir.prim_func @chain(%X: memref<3x7xf32>, %B: memref<7xf32>) outs(%Z: memref<7x3xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %S = tir.alloc_buffer : memref<3x7xf32>
  %R = tir.alloc_buffer : memref<3x7xf32>
  tir.for %i @i, %j @j in (3, 7) {
    tir.block @S (%vi: spatial<3> = %i, %vj: spatial<7> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<3x7xf32>
      %b = memref.load %B[%vj] : memref<7xf32>
      %s = arith.addf %x, %b : f32
      memref.store %s, %S[%vi, %vj] : memref<3x7xf32>
    }
  }
  tir.for %i @i1, %j @j1 in (3, 7) {
    tir.block @R (%vi: spatial<3> = %i, %vj: spatial<7> = %j) {
      %s = memref.load %S[%vi, %vj] : memref<3x7xf32>
      %r = arith.maximumf %s, %zero : f32
      memref.store %r, %R[%vi, %vj] : memref<3x7xf32>
    }
  }
  tir.for %i @i2, %j @j2 in (7, 3) {
    tir.block @Z (%vi: spatial<7> = %i, %vj: spatial<3> = %j) {
      %r = memref.load %R[%vj, %vi] : memref<3x7xf32>
      %z = arith.addf %r, %r : f32
      memref.store %z, %Z[%vi, %vj] : memref<7x3xf32>
    }
  }
}
"""

LINEAR = """
tir.prim_func @linear(%X: memref<3x5xf32>, %W: memref<7x5xf32>, %B: memref<7xf32>)
    outs(%Z: memref<3x7xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %Y = tir.alloc_buffer : memref<3x7xf32>
  tir.for %i @i, %j @j, %k @k in (3, 7, 5) {
    tir.block @Y (%vi: spatial<3> = %i, %vj: spatial<7> = %j, %vk: reduce<5> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<3x7xf32>
      }
      %y = memref.load %Y[%vi, %vj] : memref<3x7xf32>
      %x = memref.load %X[%vi, %vk] : memref<3x5xf32>
      %w = memref.load %W[%vj, %vk] : memref<7x5xf32>
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %y, %p fastmath<reassoc> : f32
      memref.store %s, %Y[%vi, %vj] : memref<3x7xf32>
    }
  }
  tir.for %i @i1, %j @j1 in (3, 7) {
    tir.block @Z (%vi: spatial<3> = %i, %vj: spatial<7> = %j) {
      %y = memref.load %Y[%vi, %vj] : memref<3x7xf32>
      %b = memref.load %B[%vj] : memref<7xf32>
      %t = arith.addf %y, %b : f32
      %z = arith.maximumf %t, %zero : f32
      memref.store %z, %Z[%vi, %vj] : memref<3x7xf32>
    }
  }
}
"""

TEXTS = {"chain": CHAIN, "linear": LINEAR}


@cache
def program(name: str, *, strict: bool = False) -> ModuleOp:
    """A module with one loop function of this name."""
    if name in TEXTS:
        text = TEXTS[name]
        return parse_module(text.replace(" fastmath<reassoc>", "") if strict else text)
    operation, inputs, output = GRAPHS[name]
    types = inputs.split(", ")
    arguments = ", ".join(f"%{n}: {t}" for n, t in zip("ab", types, strict=False))
    body = f"%r = {operation} : ({inputs}) -> {output} func.return %r : {output}"
    text = f"func.func @main({arguments}) -> {output} {{ {body} }}"
    module = LegalizeOpsPass(strict=strict)(parse_module(text))
    main, func = module.ops
    main.detach()
    assert isinstance(func, PrimFuncOp)
    func.sym_visibility = None
    return module


PROGRAMS = [*GRAPHS, *TEXTS]


def whole_numbers(rng: np.random.Generator, shape: Sequence[int]) -> Array:
    """Numbers whose sums and products are exact, in any order."""
    return np.asarray(rng.integers(-8, 8, shape), np.float32)


def normal_numbers(rng: np.random.Generator, shape: Sequence[int]) -> Array:
    return np.asarray(rng.standard_normal(shape), np.float32)


def run(module: ModuleOp, name: str, *, checked: bool = True, seed: int = 0, exact: bool = True) -> Array:
    """What a loop function gives for random arguments."""
    rng = np.random.default_rng(seed)
    function = interpret(module, checked=checked)[name]
    shapes = [without_names(spec.shape) for spec in function.signature.inputs]
    make = whole_numbers if exact else normal_numbers
    return function(*(make(rng, shape) for shape in shapes))


@cache
def expected(name: str, *, strict: bool, exact: bool) -> Array:
    return run(program(name, strict=strict), name, checked=False, exact=exact)


def check(schedule: Schedule, name: str, *, strict: bool = False, exact: bool = True) -> None:
    """The scheduled function verifies, parses back, and computes what it did, bit for bit."""
    text = str(schedule.module)
    verify_module(schedule.module)
    again = parse_module(text)
    assert str(again) == text
    found = run(schedule.module, name, exact=exact)
    np.testing.assert_array_equal(found.view(np.int32), expected(name, strict=strict, exact=exact).view(np.int32), text)
