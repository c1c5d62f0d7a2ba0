"""The ops of `llvm` that vectorized loops consist of mean in the interpreter what they mean in compiled code."""

from __future__ import annotations

import numpy as np
import pytest

from relex import build
from relex.reference import interpret

X = np.array([np.nan, -np.inf, -1.5, -1e-42, -0.0, 0.0, 1e-42, 2.5, np.inf, 300], np.float32)
CLASSES = """
func.func @main(%x: memref<10xf32>, %out: memref<10xi8>) {{
  %zero = arith.constant 0 : index
  %v = vector.load %x[%zero] : memref<10xf32>, vector<10xf32>
  %classes = arith.constant {classes} : i32
  %is = llvm.call_intrinsic "llvm.is.fpclass.v10f32"(%v, %classes) : (vector<10xf32>, i32) -> vector<10xi1>
  %bytes = llvm.zext %is : vector<10xi1> to vector<10xi8>
  vector.store %bytes, %out[%zero] : memref<10xi8>, vector<10xi8>
  func.return
}}
"""


@pytest.mark.parametrize("classes", [0x3, *(1 << bit for bit in range(2, 10)), 0x1C, 0x380])
def test_classes_of_floats(classes: int) -> None:
    text = CLASSES.format(classes=classes)
    found, native = np.zeros(10, np.int8), np.zeros(10, np.int8)
    interpret(text)["main"](X, found)
    build(text)["main"](X, native)
    np.testing.assert_array_equal(found, native)
    assert found.any()


MIXED = """
func.func @main(%x: memref<8xi8>, %y: memref<8xi8>, %out: memref<8xf32>) {
  %zero = arith.constant 0 : index
  %a = vector.load %x[%zero] : memref<8xi8>, vector<8xi8>
  %b = vector.load %y[%zero] : memref<8xi8>, vector<8xi8>
  %less = llvm.icmp "ult" %a, %b : vector<8xi8>
  %signed = llvm.sext %a : vector<8xi8> to vector<8xi32>
  %unsigned = llvm.zext %b : vector<8xi8> to vector<8xi32>
  %length = arith.constant 8 : i32
  %chosen = llvm.call_intrinsic "llvm.vp.select.v8i32"(%less, %signed, %unsigned, %length)
    : (vector<8xi1>, vector<8xi32>, vector<8xi32>, i32) -> vector<8xi32>
  %f = llvm.sitofp %chosen : vector<8xi32> to vector<8xf32>
  vector.store %f, %out[%zero] : memref<8xf32>, vector<8xf32>
  func.return
}
"""


def test_casts_comparisons_and_choices() -> None:
    x = np.array([1, -1, 127, -128, 0, 5, -7, 100], np.int8)
    y = np.array([2, 1, -127, 128 - 256, -1, 5, -3, 99], np.int8)
    found, native = np.zeros(8, np.float32), np.zeros(8, np.float32)
    interpret(MIXED)["main"](x, y, found)
    build(MIXED)["main"](x, y, native)
    np.testing.assert_array_equal(found, native)
    np.testing.assert_array_equal(found, np.where(x.view(np.uint8) < y.view(np.uint8), x, y.view(np.uint8)))
